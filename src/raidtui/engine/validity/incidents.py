"""Incidents during a cell: a lost disk, a problem reported by a layer or tool, a cancel, a clock that jumped, a resync."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.evidence import Evidence, MarkKind, caution, invalid
from raidtui.model import refusals
from raidtui.model.mark import Mark
from raidtui.watch.series import FULL

LOST = invalid(
    "disk-lost",
    "A disk was lost",
    "The disk disappeared during the measurement: from then on the layout had one disk less, or none.",
    "Look at the disk, its slot and its cable, and at dmesg. When it is back, `raidtui recover` makes it blank.",
)


def find_lost_disks(evidence: Evidence) -> Iterator[Mark]:
    return (LOST.mark(f"disk {disk} was lost", about=disk) for disk in evidence.lost)


UNHEALTHY = invalid(
    "unhealthy",
    "A layer has a problem",
    "Before or after the measurement, a layer of the layout reported a problem: the measured layout was not the "
    "planned one.",
    "Solve the problem that the sentence names, and run the cell again (--layout, --workload).",
)
DEGRADED = invalid(
    "degraded",
    "An array or pool lacks members",
    "A degraded array or pool reads more and writes less than a complete one, and computes data from parity.",
    "Look at the missing disk (`raidtui disks`, dmesg), and run the cell again (--layout, --workload).",
)
TOOL = invalid(
    "tool-problem",
    "The measuring tool met a problem",
    "The workload's tool (fio, dd, iozone, pg_test_fsync) failed, or its report contradicts its options: the numbers "
    "belong to another workload. The sentence names the tool, its version if known, and its report.",
    "Solve the problem that the sentence names, and run the cell again (--layout, --workload). If dmesg shows no "
    "error of a device, try another version of the tool, or another ioengine.",
)
REMARK = caution(
    "tool-remark",
    "The measuring tool behaved differently",
    "A part of its report is missing or unusable, or it did more than it was asked to. The other numbers are valid.",
    "The sentence names the difference, and the way to avoid it.",
)


def find_reports(evidence: Evidence) -> Iterator[Mark]:
    yield from evidence.said


CANCELLED = MarkKind("invalid", refusals.CANCELLED)
NOTHING = invalid(
    "nothing-measured",
    "Nothing was measured",
    "The workload left no numbers and no error.",
    "Run the cell again (--layout, --workload); if it happens again, it is a bug: report it with the result file.",
)


def find_early_end(evidence: Evidence) -> Iterator[Mark]:
    if evidence.cancelled:
        yield CANCELLED.mark("the run was cancelled")
    elif evidence.summary is None and not (evidence.said or evidence.lost or evidence.out_of_space):
        yield NOTHING.mark("nothing was measured")


RESYNC = invalid(
    "resyncing",
    "An array was synchronising",
    "An array that synchronises, checks or rebuilds itself reads and writes on its own: it shares the disks with the "
    "workload.",
    "Wait until it is done (`cat /proc/mdstat`), or run the cell again (--layout, --workload). mdadm's timer starts a"
    " check every month.",
)


def find_resync(evidence: Evidence) -> Iterator[Mark]:
    for busy in evidence.busy:
        if busy.action != FULL and busy.device in evidence.cell.devices:
            at = f"from second {busy.at_s:.0f} on" if busy.at_s >= 1 else "from its beginning"
            yield RESYNC.mark(f"the array was busy with {busy.action}, {at}", about=busy.device, at_s=busy.at_s)


CLOCK_TOLERANCE: Final = 0.02
CLOCK_LEAST_S: Final = 0.5
SUSPENDED = invalid(
    "suspended",
    "The machine was suspended",
    "The machine, or its virtual machine, stood still during the measurement: the rates include a time in which "
    "nothing ran.",
    "Keep the machine awake (systemd-inhibit), and run the cell again (--layout, --workload).",
)
JUMPED = invalid(
    "clock-jumped",
    "A clock jumped",
    "The clock was set during the measurement, and rates are divided by time.",
    "Let the clock be synchronised before the measurement, and run the cell again (--layout, --workload).",
)


def find_clock_jumps(evidence: Evidence) -> Iterator[Mark]:
    if evidence.summary is None or evidence.monotonic_s <= 0:
        return
    limit_s = max(CLOCK_LEAST_S, evidence.monotonic_s * CLOCK_TOLERANCE)
    slept_s, set_s = evidence.boottime_s - evidence.monotonic_s, evidence.wall_s - evidence.boottime_s
    if abs(slept_s) > limit_s:
        yield SUSPENDED.mark(f"the machine was suspended for {slept_s:.0f} s")
    elif abs(set_s) > limit_s:
        yield JUMPED.mark(f"the clock was set by {set_s:+.0f} s while measuring")


MISSING = invalid(
    "samples-missing",
    "Samples may be missing",
    "The file system of the run's journal ran out of space during the measurement, which ended the run.",
    "Make space (`df /var/lib/raidtui`), and run the cell again (--layout, --workload).",
)


def find_missing_samples(evidence: Evidence) -> Iterator[Mark]:
    if evidence.out_of_space:
        yield MISSING.mark("the file system of the journal ran out of space: samples may be missing")
