"""Volumes that are served from a pool: VDO, thin, and a thin one whose pool lies on VDO."""

from __future__ import annotations

from collections.abc import Sequence

from raidtui.model.plan import Argv
from raidtui.stack.lvm import thin, vdo
from raidtui.stack.lvm.read_back import Difference, Row


def argvs(args: Row, on: Sequence[str], paths: Sequence[str]) -> tuple[Argv, ...]:
    """Make the volume a pool, and the volume that is measured in it; from below."""
    found: tuple[Argv, ...] = ()
    if args["vdo"] is not None:
        found += vdo.argvs(args, paths)
    if args["thin"] is not None:
        found += thin.argvs(args, on, paths)
    return found


def differences(args: Row, volumes: dict[str, Row]) -> list[Difference]:
    """What is not as asked of the pools and what they serve."""
    found: list[Difference] = []
    if args["vdo"] is not None:
        found += vdo.differences(args, volumes)
    if args["thin"] is not None:
        found += thin.differences(args, volumes)
    return found
