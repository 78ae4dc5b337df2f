"""Verification of a whole group after it was built."""

from __future__ import annotations

from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.lvm import cache, pool
from raidtui.stack.lvm.devices import Device, all_devices
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.lvm.read_back import Row, group_differences, mismatch, read_group, read_volumes, volume_differences
from raidtui.stack.read_back import Difference


def differences(vg: LvmGroup, volumes: dict[str, Row], devices: list[Device], *, whole: bool = True) -> list[Difference]:
    """Return the differences of all volumes from the plan; without `whole`, of those that exist so far."""
    pooled, cached = vg.is_pooled(volumes), vg.is_cached(volumes)
    name = vg.origin_name(pooled=pooled) if cached or whole else vg.data_name(pooled=pooled)
    wrong = volume_differences(vg, volumes, devices, name)
    if vg.cache is not None and (cached or whole):
        wrong += cache.cache_differences(vg.name, vg.cache, volumes, vg.data_name(pooled=pooled))
    if pooled or whole:
        wrong += pool.pool_differences(vg, volumes)
    return wrong


def verify(context: Context, vg: LvmGroup) -> Outcome:
    """Read everything back; facts are what was read. Raises ProblemError (`read-back`)."""
    devices = all_devices(context, vg)
    paths = [device.path for device in devices]
    group, pvs = read_group(vg, paths)
    volumes = read_volumes(vg, paths)
    if wrong := [*group_differences(vg, devices, group, pvs), *differences(vg, volumes, devices)]:
        raise mismatch(vg.name, wrong)
    return Outcome("done", {"group": group, "pvs": pvs, "volumes": volumes})
