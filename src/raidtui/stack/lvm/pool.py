"""Volumes that are served from a pool: VDO, thin, and a thin one whose pool lies on VDO."""

from __future__ import annotations

from collections.abc import Sequence

from raidtui.model.plan import Argv
from raidtui.stack.lvm import thin, vdo
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.lvm.read_back import Difference, Row


def argvs(vg: LvmGroup, on: Sequence[str], paths: Sequence[str]) -> tuple[Argv, ...]:
    """Make the volume a pool, and the volume that is measured in it; from below."""
    found: tuple[Argv, ...] = ()
    if vg.vdo is not None:
        found += vdo.argvs(vg.name, vg.vdo, paths)
    if vg.thin is not None:
        found += thin.argvs(vg.name, vg.thin, on, paths)
    return found


def differences(vg: LvmGroup, volumes: dict[str, Row]) -> list[Difference]:
    """What is not as asked of the pools and what they serve."""
    found: list[Difference] = []
    if vg.vdo is not None:
        found += vdo.differences(vg, vg.vdo, volumes)
    if vg.thin is not None:
        found += thin.differences(vg.thin, volumes)
    return found
