"""The disks that a run holds: checked once more before they are used, and given to a layout that is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from raidtui.engine.step_args import Recheck
from raidtui.engine.validity.incidents import LOST
from raidtui.gate.admit import readmit
from raidtui.gate.permit import Permit
from raidtui.inventory.udev import wait_for_udev
from raidtui.model.problem import Exit, fail
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.nodes import SYS_BLOCK

_UDEV_S: Final = 30.0


def recheck(args: Recheck, context: Context, permits: Mapping[str, Permit], lost: Sequence[str]) -> Outcome:
    """Check disks again. At the end, those that the run never wrote to are left out: their content is not the run's.

    Raises ProblemError.
    """
    wanted = args.disks or tuple(disk for disk in permits if disk in context.ever_written)
    if gone := [disk for disk in wanted if disk in lost]:
        raise fail(LOST.refusal, f"disk {gone[0]} was lost", place=gone[0], exit=Exit.BUILD_FAILED)
    readmit([context.permit(disk) for disk in wanted])
    return Outcome("done")


def give(permits: dict[str, Permit]) -> Outcome:
    """Let go of all disks for good, and wait until udev has named what is on them: it does not while they are held."""
    names = [permit.disk.name for permit in permits.values()]
    for permit in permits.values():
        permit.close()
    permits.clear()
    wait_for_udev([*names, *(part for name in names for part in _partitions(name))], _UDEV_S)
    return Outcome("done")


def _partitions(disk: str) -> Iterator[str]:
    return (path.parent.name for path in Path(SYS_BLOCK, disk).glob("*/partition"))
