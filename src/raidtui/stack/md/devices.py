"""From references in a step's arguments (`disk:ID`, `md:NAME`) to devices that are there now."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from raidtui.stack.context import Context
from raidtui.stack.undoing import split_present


class Device(NamedTuple):
    """A device of an array."""

    ref: str
    path: str
    devno: int
    role: str
    """`member`, `journal` or `spare`."""


def references(args: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(reference, role) of every device of the array, members first and in order."""
    for ref in args["members"]:
        yield ref, "member"
    for ref in args["spares"]:
        yield ref, "spare"
    if args["journal"] is not None:
        yield args["journal"], "journal"


def all_devices(context: Context, args: dict[str, Any]) -> list[Device]:
    """Raises ProblemError when any is not there, or is not what it was."""
    return [_device(ref, role, context.path(ref)) for ref, role in references(args)]


def present_devices(context: Context, args: dict[str, Any]) -> tuple[list[Device], list[str]]:
    """The devices that are still there, and the references of those that are not."""
    paths = args["paths"]
    return split_present(context, ((ref, paths.get(ref), partial(_device, ref, role)) for ref, role in references(args)))


def _device(ref: str, role: str, path: str) -> Device:
    return Device(ref, path, Path(path).stat().st_rdev, role)
