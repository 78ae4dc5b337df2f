"""Reading back everything that was built, in one place."""

from __future__ import annotations

from typing import Any

from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.lvm import fast, names, pool
from raidtui.stack.lvm.devices import Device, all_devices
from raidtui.stack.lvm.read_back import (
    Difference,
    Row,
    group_differences,
    mismatch,
    read_group,
    read_volumes,
    volume_differences,
)


def differences(args: Row, volumes: dict[str, Row], devices: list[Device], *, whole: bool = True) -> list[Difference]:
    """What is not as asked of all volumes; unless `whole`, of those that were made so far."""
    pooled, cached = names.is_pooled(args, volumes), names.is_cached(args, volumes)
    name = names.slow(args, pooled=pooled) if cached or whole else names.data(args, pooled=pooled)
    wrong = volume_differences(args, volumes, devices, name)
    if args["cache"] is not None and (cached or whole):
        wrong += fast.differences(args, volumes, names.data(args, pooled=pooled))
    if pooled or whole:
        wrong += pool.differences(args, volumes)
    return wrong


def verify(context: Context, args: dict[str, Any]) -> Outcome:
    """Read everything back; facts are what was read. Raises ProblemError (`read-back`)."""
    devices = all_devices(context, args)
    paths = [device.path for device in devices]
    group, pvs = read_group(args, paths)
    volumes = read_volumes(args, paths)
    if wrong := [*group_differences(args, devices, group, pvs), *differences(args, volumes, devices)]:
        raise mismatch(args["name"], wrong)
    return Outcome("done", {"group": group, "pvs": pvs, "volumes": volumes})
