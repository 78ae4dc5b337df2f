"""Making a filesystem and mounting it."""

from __future__ import annotations

from typing import Any

from raidtui.model.problem import Exit, fail
from raidtui.stack import mounts
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.fs import devices
from raidtui.stack.fs.command import mkfs_argv, mount_options


def make(context: Context, args: dict[str, Any]) -> Outcome:
    """Run mkfs on devices that carry nothing, and find its UUID on each of them. Raises ProblemError."""
    context.stop_if_cancelled()
    found = devices.all_devices(context, args)
    if all(devices.is_ours(args, device.path) for device in found):
        return Outcome("already there", {"uuid": args["uuid"]})
    for device in found:
        if there := devices.signatures_on(device.path):
            text = f"{device.path} carries {there[0].type} already"
            raise fail("fs-not-blank", text, place=device.ref, exit=Exit.BUILD_FAILED,
                       remedy=f"wipefs {device.path} shows it; if nobody needs it: wipefs -a {device.path}")  # fmt: skip
    context.about_to_write(args["disks"])
    argv = mkfs_argv(args, [device.path for device in found])
    with context.lend(args["disks"]):
        mounts.tool(argv, cwd=context.folder / "work")
    for device in found:
        if not devices.is_ours(args, device.path):
            raise fail("read-back", f"{argv[0]} ended well, but {device.path} does not carry {args['uuid']}",
                       place=device.ref, exit=Exit.BUILD_FAILED)  # fmt: skip
    return Outcome("created", {"uuid": args["uuid"], "type": args["type"]}, (argv,))


def mount(context: Context, args: dict[str, Any]) -> Outcome:
    """Mount it in raidtui's own folder. Raises ProblemError."""
    found = devices.all_devices(context, args)
    point = mounts.point_of(args["name"])
    if (there := mounts.at(point)) and there[-1].kind == args["type"] and devices.is_ours(args, found[0].path):
        context.built[args["ref"]] = point
        return Outcome("already there", {"path": point})
    mounts.make_point(args["name"])
    argv = mounts.mount_argv(args["type"], found[0].path, args["name"], mount_options(args))
    context.about_to_write(args["disks"])
    with context.lend(args["disks"]):
        mounts.tool(argv, cwd=context.folder / "work")
    context.built[args["ref"]] = point
    return Outcome("created", {"path": point}, (argv,))
