"""From the devices in a step's arguments to devices that are there now."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from raidtui.stack.context import Context
from raidtui.stack.teardown import split_present


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
    return {entry["role"]: _device(entry, context.path(entry["ref"])) for entry in args["devices"]}


def present_devices(context: Context, args: dict[str, Any]) -> tuple[list[Device], list[str]]:
    """The devices that are still there, and the references of those that are not."""
    paths = args["paths"]
    return split_present(
        context, ((entry["ref"], paths.get(entry["ref"]), partial(_device, entry)) for entry in args["devices"])
    )


def _device(entry: dict[str, Any], path: str) -> Device:
    return Device(entry["ref"], path, Path(path).stat().st_rdev, entry["role"], entry["uuid"])
