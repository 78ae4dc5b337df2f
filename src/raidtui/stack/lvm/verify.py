"""Reading back everything that was built, in one place."""

from __future__ import annotations

from typing import Any

from raidtui.stack.context import Context
from raidtui.stack.layer import Outcome
from raidtui.stack.lvm import fast, pool
from raidtui.stack.lvm.command import VOLUME
from raidtui.stack.lvm.devices import Device, all_devices
from raidtui.stack.lvm.proof import (
    Difference,
    Row,
    group_differences,
    mismatch,
    read_group,
    read_volumes,
    volume_differences,
)


def data_volume(args: Row) -> str:
    """The name of the volume that holds the data, once everything is built."""
    if args["cache"] is not None:
        return fast.origin(args)
    return pool.data(args) if args["pool"] is not None else VOLUME


def differences(args: Row, volumes: dict[str, Row], devices: list[Device]) -> list[Difference]:
    """What is not as asked of all volumes."""
    wrong = volume_differences(args, volumes, devices, data_volume(args))
    if args["cache"] is not None:
        wrong += fast.differences(args, volumes)
    if args["pool"] is not None:
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
