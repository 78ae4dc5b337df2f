"""From references in a step's arguments (`disk:ID`, `md:NAME`) to devices that are there now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from raidtui.model.problem import ProblemError
from raidtui.stack.context import Context


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


def device(context: Context, ref: str, role: str) -> Device:
    """Raises ProblemError when it is not there, or is not what it was."""
    path = context.path(ref)
    return Device(ref, path, Path(path).stat().st_rdev, role)


def all_devices(context: Context, args: dict[str, Any]) -> list[Device]:
    """Raises ProblemError when any is not there."""
    return [device(context, ref, role) for ref, role in references(args)]


def present_devices(context: Context, args: dict[str, Any]) -> tuple[list[Device], list[str]]:
    """The devices that are still there, and the references of those that are not."""
    present, missing = [], []
    for ref, role in references(args):
        try:
            present.append(device(context, ref, role))
        except (ProblemError, OSError):
            found = _remembered(args, ref, role)
            if found is None:
                missing.append(ref)
            else:
                present.append(found)
    return present, missing


def _remembered(args: dict[str, Any], ref: str, role: str) -> Device | None:
    """A layer below, by the path it was planned to have: after a crash nobody else remembers.

    Never a disk. And what is found there is only touched if it carries the UUID that this step gave.
    """
    path = None if ref.startswith("disk:") else args["paths"].get(ref)
    try:
        return Device(ref, path, Path(path).stat().st_rdev, role) if path else None
    except OSError:
        return None
