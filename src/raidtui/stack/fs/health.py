"""Whether a mounted filesystem is still what was built."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from raidtui.base.files import read_text
from raidtui.model.problem import ProblemError
from raidtui.stack import mounts
from raidtui.stack.context import Context
from raidtui.stack.fs import devices


def health(context: Context, args: dict[str, Any]) -> tuple[str, ...]:
    """Why numbers measured on it would be wrong now."""
    try:
        found = devices.all_devices(context, args)
        point = context.path(args["ref"])
        root = mounts.open_root(point)
    except ProblemError as error:
        return (error.problems[0].message,)
    try:
        mounted = mounts.insist(root, point)
        with os.scandir(root) as entries:
            next(entries, None)
    except ProblemError as error:
        return (error.problems[0].message,)
    except OSError as error:
        return (f"{point} cannot be read: {error.strerror}",)
    finally:
        os.close(root)
    return tuple(_wrong(args, mounted, found))


def _wrong(args: dict[str, Any], mounted: mounts.Mounted, found: list[devices.Device]) -> list[str]:
    wrong = []
    if mounted.kind != args["type"]:
        wrong.append(f"{mounted.point} is {mounted.kind}, not {args['type']}")
    numbers = {device.devno for device in found}
    # btrfs has a number of its own.
    stands_on = _number_of(mounted.source) if args["type"] == "btrfs" else mounted.devno
    if stands_on not in numbers:
        wrong.append(f"{mounted.point} is on another device than it was made on")
    if "ro" in mounted.options:
        wrong.append(f"{mounted.point} became read-only")
    for state in Path("/sys/fs/btrfs").glob(f"{args['uuid']}/devinfo/*/missing"):
        if read_text(state) != "0":
            wrong.append(f"device {state.parent.name} of the filesystem is missing")
    return wrong


def _number_of(path: str) -> int | None:
    try:
        return Path(path).stat().st_rdev
    except OSError:
        return None


def members(context: Context, args: dict[str, Any]) -> dict[str, str]:
    """What it is on is what is measured: a directory has no counters."""
    return {device.name: "target" for device in devices.all_devices(context, args)}
