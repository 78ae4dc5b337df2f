"""Whether what is measured on a cached device now is worth anything, and which kernel devices it consists of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raidtui.model.problem import ProblemError
from raidtui.stack.bcache.devices import present_devices
from raidtui.stack.bcache.verify import look
from raidtui.stack.context import Context
from raidtui.stack.nodes import devno


def health(context: Context, args: dict[str, Any]) -> tuple[str, ...]:
    """Why numbers would be wrong: one sentence each; empty when nothing is wrong."""
    devices, missing = present_devices(context, args)
    wrong = [f"{ref.partition(':')[2]} is not there any more" for ref in missing]
    try:
        found = look(args)
    except ProblemError as error:
        return (*wrong, error.problems[0].message)
    if found["state"] not in ("clean", "dirty"):
        wrong.append(f"the state of the cache is {found['state']}")
    if found["mode"] != args["mode"]:
        wrong.append(f"the cache works as {found['mode']}, not as {args['mode']}")
    if found["running"] != 1:
        wrong.append("the device does not run")
    for name, what in (("io_errors", "backing"), ("cache_io_errors", "cache")):
        if found[name]:
            wrong.append(f"the {what} device had {found[name]} errors")
    for device in devices:
        if found[device.role] is None or devno(found[device.role]) != device.devno:
            wrong.append(f"{device.ref.partition(':')[2]} is no {device.role} device any more")
    return tuple(wrong)


def members(context: Context, args: dict[str, Any]) -> Mapping[str, str]:
    """Kernel names of the device and what it stands on, with their roles. Raises ProblemError when it is not there."""
    found = look(args)
    return {found["device"]: "target", found["backing"]: "backing", found["cache"]: "cache"}
