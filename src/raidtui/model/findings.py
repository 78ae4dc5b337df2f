"""Kinds of contradictions in published numbers, for `raidtui explain`. A finding has one of these codes."""

from __future__ import annotations

from typing import Final

from raidtui.model.problem import Refusal

IOPS_BANDWIDTH: Final = Refusal(
    "iops-bandwidth",
    "Operations and bandwidth contradict each other",
    "Operations per second times the block size differ from the bandwidth beside them (or an amount divided by its "
    "time differs from its rate) by more than rounding and one percent. One of them belongs to another measurement.",
    "Look both up in the tool's own report.",
)
LATENCY_DEPTH: Final = Refusal(
    "latency-depth",
    "More operations in flight than the workload had",
    "Operations per second times their mean latency is the number of operations in flight (Little's law), which is at most "
    "the queue depth times the jobs. This is more by over ten percent: one of the numbers is of another measurement, has "
    "another unit, or is a sum over several devices.",
    "Look both up in the tool's own report, and at the depth and the jobs of the command.",
)
UNIT_SLIP: Final = Refusal(
    "unit-slip",
    "A unit slipped",
    "The number is off by exactly the factor between two units: 1000 and 1024, MB and MiB, GB and GiB, bits and bytes. "
    "MB is 10⁶ bytes and MiB is 2²⁰; fio prints both, many tools mean one and write the other.",
    "Say which unit it is, or convert it: GB/s × 1000 are MB/s, MiB/s × 1.048576 are MB/s.",
)
REPEATED_VALUE: Final = Refusal(
    "repeated-value",
    "A cell that was copied",
    "Two cells hold the same number to more digits than chance explains, or the same number stands beside different "
    "companions.",
    "Look up which of the two it belongs to, and measure the other again.",
)
PERCENT_MISMATCH: Final = Refusal(
    "percent-mismatch",
    "A percentage that does not follow from its numbers",
    "The published percentage differs by more than one percentage point from what the published numbers give, however "
    "they were rounded. Often it follows from another baseline, or from an earlier measurement of it.",
    "Compute the percentages of one table from one set of numbers.",
)
LABEL_COMMAND: Final = Refusal(
    "label-command",
    "A label that differs from its command",
    "The label says another block size, queue depth, number of jobs, direction or layout than the command beside it.",
    "Rename it, or run what the label says.",
)
CLAIM_BROKEN: Final = Refusal(
    "claim-broken",
    "A claim that the numbers contradict",
    "The text says that two things differ by no more than so many percent, or that one is not less than the other; the "
    "numbers beside it differ by more.",
    "Change the claim.",
)
OUTLIER: Final = Refusal(
    "outlier",
    "One of several like disks differs from the others",
    "Disks of one model under one workload differ little. This one is at least ten percent and six robust standard "
    "deviations away from their median (25 percent if there are three, or for latencies).",
    "Look at its link, its temperature, its log and its other users, and measure it again.",
)
TABLE_UNREADABLE: Final = Refusal(
    "table-unreadable",
    "A table that cannot be read",
    "The file has no known columns, a number that cannot be read, or too much data.",
    "Name the columns: a heading each for layout, workload, and the measured values with their units.",
)
