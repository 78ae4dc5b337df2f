"""From the devices in a step's arguments to devices that are there now."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from raidtui.model.problem import ProblemError
from raidtui.stack.context import Context


class Device(NamedTuple):
    """The backing device or the cache device."""

    ref: str
    path: str
    devno: int
    role: str
    """`backing` or `cache`."""
    uuid: str
    """That its superblock has, or is to have."""

    @property
    def name(self) -> str:
        """What the kernel calls it."""
        return Path(self.path).resolve().name


def all_devices(context: Context, args: dict[str, Any]) -> dict[str, Device]:
    """By role. Raises ProblemError when any is not there, or is not what it was."""
    return {entry["role"]: _device(context.path(entry["ref"]), entry) for entry in args["devices"]}


def present_devices(context: Context, args: dict[str, Any]) -> tuple[list[Device], list[str]]:
    """The devices that are still there, and the references of those that are not."""
    present, missing = [], []
    for entry in args["devices"]:
        try:
            present.append(_device(context.path(entry["ref"]), entry))
        except (ProblemError, OSError):
            found = _remembered(args, entry)
            if found is None:
                missing.append(entry["ref"])
            else:
                present.append(found)
    return present, missing


def _device(path: str, entry: dict[str, Any]) -> Device:
    return Device(entry["ref"], path, Path(path).stat().st_rdev, entry["role"], entry["uuid"])


def _remembered(args: dict[str, Any], entry: dict[str, Any]) -> Device | None:
    """A layer below, by the path it was planned to have: after a crash nobody else remembers.

    Never a disk. And what is found there is only touched if it carries a UUID that this step gave.
    """
    path = args["paths"].get(entry["ref"])
    try:
        return _device(path, entry) if path else None
    except OSError:
        return None
