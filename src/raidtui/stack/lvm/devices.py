"""From the physical volumes in a step's arguments to devices that are there now."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from raidtui.stack.context import Context
from raidtui.stack.lvm.group import LvmGroup, PhysicalVolume
from raidtui.stack.teardown import split_present


class Device(NamedTuple):
    """A device that is, or is to become, a physical volume of the group."""

    ref: str
    path: str
    devno: int
    role: str
    """`member` holds data, `cache` what a cache keeps."""
    uuid: str
    """Of the physical volume, as LVM writes it."""


def all_devices(context: Context, vg: LvmGroup) -> list[Device]:
    """In the order of the plan. Raises ProblemError when any is not there, or is not what it was."""
    return [_device(pv, context.path(pv.ref)) for pv in vg.pvs]


def paths_of(context: Context, vg: LvmGroup, role: str = "") -> list[str]:
    """Paths of all devices, or of those with this role."""
    return [device.path for device in all_devices(context, vg) if role in ("", device.role)]


def present_devices(context: Context, vg: LvmGroup) -> tuple[list[Device], list[str]]:
    """The devices that are still there, and the references of those that are not."""
    paths = vg.paths
    return split_present(context, ((pv.ref, paths.get(pv.ref), partial(_device, pv)) for pv in vg.pvs))


def _device(pv: PhysicalVolume, path: str) -> Device:
    return Device(pv.ref, path, Path(path).stat().st_rdev, pv.role, pv.uuid)
