"""Codes of what is found in numbers that contradict themselves, for `raidtui explain`: title, meaning, way out."""

from __future__ import annotations

from typing import Final

REASONS: Final[dict[str, tuple[str, str, str]]] = {
    "iops-bandwidth": (
        "Operations and bandwidth contradict each other",
        "Operations per second times the block size are not the bandwidth that stands beside them (or an amount divided by "
        "its time is not its rate), by more than rounding and one percent explain. One of them is of something else.",
        "Look both up in the tool's own report.",
    ),
    "unit-slip": (
        "A unit slipped",
        "The number is off by exactly what lies between two units: 1000 and 1024, MB and MiB, GB and GiB, bits and bytes. "
        "MB is 10⁶ bytes and MiB is 2²⁰; fio prints both, many tools mean one and write the other.",
        "Say which unit it is, or convert it: GB/s × 1000 are MB/s, MiB/s × 1.048576 are MB/s.",
    ),
    "repeated-value": (
        "A cell that was copied",
        "Two cells hold the same number to more digits than chance explains, or the same number stands beside different "
        "companions.",
        "Look up which of the two it belongs to, and measure the other again.",
    ),
    "percent-mismatch": (
        "A percentage that does not follow from its numbers",
        "The published percentage differs by more than one percentage point from what the published numbers give, however "
        "they were rounded. Often it follows from another baseline, or from an earlier measurement of it.",
        "Compute the percentages of one table from one set of numbers.",
    ),
    "label-command": (
        "A label that is not its command",
        "The label says another block size, queue depth, number of jobs, direction or layout than the command beside it.",
        "Rename it, or run what the label says.",
    ),
    "claim-broken": (
        "A claim that the numbers break",
        "The text says that two things differ by no more than so many percent, or that one is not less than the other; the "
        "numbers beside it differ by more.",
        "Say what the numbers say.",
    ),
    "outlier": (
        "One of several like disks is unlike the others",
        "Disks of one model under one workload differ little. This one is at least ten percent and six robust standard "
        "deviations away from their median (25 percent where there are three, or by their latencies).",
        "Look at its link, its temperature, its log and what else was using it, and measure it again.",
    ),
    "table-unreadable": (
        "A table that cannot be read",
        "The file has no columns that are known, a number that is none, or more than is read.",
        "Name the columns: a heading each for layout, workload, and the measured values with their units.",
    ),
}
