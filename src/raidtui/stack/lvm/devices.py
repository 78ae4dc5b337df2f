"""From the physical volumes in a step's arguments to devices that are there now."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from raidtui.model.problem import ProblemError
from raidtui.stack.context import Context


class Device(NamedTuple):
    """A device that is, or is to become, a physical volume of the group."""

    ref: str
    path: str
    devno: int
    role: str
    """`member` holds data, `cache` what a cache keeps."""
    uuid: str
    """Of the physical volume, as LVM writes it."""


def all_devices(context: Context, args: dict[str, Any]) -> list[Device]:
    """In the order of the plan. Raises ProblemError when any is not there, or is not what it was."""
    return [_device(context.path(pv["ref"]), pv) for pv in args["pvs"]]


def paths_of(context: Context, args: dict[str, Any], role: str = "") -> list[str]:
    """Paths of all devices, or of those with this role."""
    return [device.path for device in all_devices(context, args) if role in ("", device.role)]


def present_devices(context: Context, args: dict[str, Any]) -> tuple[list[Device], list[str]]:
    """The devices that are still there, and the references of those that are not."""
    present, missing = [], []
    for pv in args["pvs"]:
        try:
            present.append(_device(context.path(pv["ref"]), pv))
        except (ProblemError, OSError):
            found = _remembered(args, pv)
            if found is None:
                missing.append(pv["ref"])
            else:
                present.append(found)
    return present, missing


def _device(path: str, pv: dict[str, Any]) -> Device:
    return Device(pv["ref"], path, Path(path).stat().st_rdev, pv["role"], pv["uuid"])


def _remembered(args: dict[str, Any], pv: dict[str, Any]) -> Device | None:
    """A layer below, by the path it was planned to have: after a crash nobody else remembers.

    Never a disk. And what is found there is only touched if it carries the UUID that this step gave.
    """
    path = args["paths"].get(pv["ref"])
    try:
        return _device(path, pv) if path else None
    except OSError:
        return None
