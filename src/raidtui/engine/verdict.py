"""May a cell's numbers be believed? Pure: facts in, reasons out. No reason means valid."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from raidtui.model.measure import Measured
from raidtui.model.units import size_text
from raidtui.watch.series import PROBE_BYTES, counters_agree

CLOCK_TOLERANCE: Final = 0.02
COUNT_TOLERANCE: Final = 0.02
Counted = Literal["exactly", "at least", "no"]
"""How the devices' counters are held against what the workload says of itself (`stack.layer.PlannedTarget.counted`)."""


class Facts(NamedTuple):
    """What was seen around one cell."""

    measured: Measured | None
    target_read_bytes: int | None
    """Counted by the target's own device, None where it could not be read."""
    target_written_bytes: int | None
    monotonic_s: float
    """Length of the cell by the clock that stands still in a suspended machine."""
    boottime_s: float
    """By the clock that goes on then."""
    wall_s: float
    """By the wall clock."""
    health: tuple[str, ...]
    """What the layers said before and after."""
    lost: tuple[str, ...]
    """Disks that went away."""
    cancelled: bool
    has_ramp: bool
    """The workload leaves out its first seconds: the device counts more than it says."""
    out_of_space: bool
    counted: Counted = "exactly"


def reasons(facts: Facts) -> tuple[str, ...]:
    """Every reason why the cell is not valid."""
    found = [f"disk {disk} was lost" for disk in facts.lost]
    found += dict.fromkeys(facts.health)
    if facts.cancelled:
        found.append("the run was cancelled")
    if facts.measured is None:
        return (*found, *(() if found else ("nothing was measured",)))
    found += facts.measured.problems
    if not facts.cancelled and not facts.lost and facts.counted != "no":
        found += _bytes_disagree(facts, facts.measured)
    found += _clock_jumped(facts)
    if facts.out_of_space:
        found.append("the file system of the journal ran out of space: samples may be missing")
    return tuple(dict.fromkeys(found))


def _bytes_disagree(facts: Facts, measured: Measured) -> list[str]:
    found = []
    read = measured.summary.read.bytes if measured.summary.read else 0
    # What udev reads when a job closes the device is not the workload's; in a ramp the workload keeps no count itself.
    probes = PROBE_BYTES * max(1, measured.summary.jobs)
    for verb, said, counted, extra in (
        ("read", read, facts.target_read_bytes, probes),
        ("written", measured.summary.written_bytes, facts.target_written_bytes, 0),
    ):
        if counted is None:
            found.append(f"the target's own count of bytes {verb} could not be read")
        elif facts.counted == "at least" and counted >= said * (1 - COUNT_TOLERANCE):
            continue
        elif facts.counted == "at least":
            found.append(
                f"the devices counted {size_text(counted)} {verb}, the workload reports {size_text(said)}: "
                "the rest never left the machine's memory"
            )
        elif not counters_agree(said, counted, extra_bytes=counted if facts.has_ramp else extra):
            found.append(
                f"the target counted {size_text(counted)} {verb}, the workload reports {size_text(said)}: "
                "it did not run on the target alone"
            )
    return found


def _clock_jumped(facts: Facts) -> list[str]:
    if facts.monotonic_s <= 0:
        return []
    found = []
    limit = max(0.5, facts.monotonic_s * CLOCK_TOLERANCE)
    if abs(facts.boottime_s - facts.monotonic_s) > limit:
        found.append(f"the machine was suspended for {facts.boottime_s - facts.monotonic_s:.0f} s")
    elif abs(facts.wall_s - facts.boottime_s) > limit:
        found.append(f"the clock was set by {facts.wall_s - facts.boottime_s:+.0f} s while measuring")
    return found
