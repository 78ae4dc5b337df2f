"""Verification of a whole group after it was built."""

from __future__ import annotations

from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.lvm.cache import cache_differences
from raidtui.stack.lvm.devices import all_devices
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.lvm.pool import pool_differences
from raidtui.stack.lvm.read_back import (
    Row,
    group_differences,
    mismatch,
    missing_extents,
    read_group,
    read_volumes,
    volume_differences,
)
from raidtui.stack.read_back import Difference
from raidtui.stack.teardown import Device


def verify(context: Context, vg: LvmGroup) -> Outcome:
    """Read everything back. Facts: the rows that LVM reported. Raises ProblemError (`read-back`)."""
    devices = all_devices(context, vg)
    paths = [device.path for device in devices]
    group, pvs = read_group(vg, paths)
    volumes = read_volumes(vg, paths)
    wrong = differences(vg, volumes, devices, missing_extents(vg, pvs))
    if wrong := [*group_differences(vg, devices, group, pvs), *wrong]:
        raise mismatch(vg.name, wrong)
    return Outcome("done", {"group": group, "pvs": pvs, "volumes": volumes})


def differences(
    vg: LvmGroup, volumes: dict[str, Row], devices: list[Device], missing: int, *, whole: bool = True
) -> list[Difference]:
    """Return the differences of all volumes from the plan; without `whole`, of those that exist so far.

    `missing`: number of extents that LVM has fewer than planned (`missing_extents`).
    """
    pooled, cached = vg.is_pooled(volumes), vg.is_cached(volumes)
    name = vg.origin_name(pooled=pooled) if cached or whole else vg.data_name(pooled=pooled)
    wrong = volume_differences(vg, volumes, devices, name, missing)
    for other in vg.names[1:]:
        wrong += volume_differences(vg, volumes, devices, other, missing)
    if vg.cache is not None and (cached or whole):
        wrong += cache_differences(vg, vg.cache, volumes, vg.data_name(pooled=pooled), missing)
    if pooled or whole:
        wrong += pool_differences(vg, volumes, missing)
    return wrong
