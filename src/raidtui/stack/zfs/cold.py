"""Emptying the ARC of one pool: by exporting and importing it, which nothing else on the server notices.

A cache device keeps what is on it, and ZFS finds it there again (l2arc_rebuild_enabled): only memory is cold.
"""

from __future__ import annotations

import time
from typing import Any, Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.stack.action import Outcome
from raidtui.stack.blockdev import CallFailed
from raidtui.stack.context import Context
from raidtui.stack.zfs import arc, build, mounting, pool
from raidtui.stack.zfs.command import export_argv, has_volume, import_argv
from raidtui.stack.zfs.devices import all_devices
from raidtui.stack.zfs.teardown import users
from raidtui.stack.zfs.verify import check_members
from raidtui.stack.zfs.writing import pool_path

BUSY_PATIENCE_S: Final = 15.0


def make_cold(context: Context, args: dict[str, Any]) -> Outcome:
    """Export the pool and import it as it was. Facts: bytes in the ARC (of all pools) before and after.

    Raises ProblemError. Whatever happened, `teardown` takes the pool away, imported or not.
    """
    context.stop_if_cancelled()
    before = arc.size_bytes()
    commands = mounting.unmount(context, args)
    commands += _export(args)
    after = arc.size_bytes()
    devices = all_devices(context, args)
    commands.append(import_argv(args["name"], [pool_path(device) for device in devices]))
    context.about_to_write(args["disks"])
    with context.lend(args["disks"]):
        pool.call(commands[-1])
    found = pool.find(args["name"])
    if found is None:
        raise fail("zpool-cold", f"zpool import ended well, but there is no pool {args['name']}", place=args["name"],
                   remedy="Look at dmesg.", exit=Exit.INVALID)  # fmt: skip
    check_members(found, devices, args)
    if has_volume(args):
        build.await_volume(context, args)
    else:
        commands.append(mounting.mount_now(context, args))
    return Outcome("done", {"arc_bytes_before": before, "arc_bytes_after": after}, tuple(commands))


def _export(args: dict[str, Any]) -> list[Argv]:
    """udev looks into a volume whenever somebody has written to it: that is waited for."""
    argv = export_argv(args["name"])
    until = 0.0
    while True:
        if pool.find(args["name"]) is None:
            return []
        if not (by := users(args)):
            try:
                pool.call(argv)
                return [argv]
            except CallFailed as error:
                by = error.problems[0].message
                if error.problems[0].code == "stuck":
                    raise
        until = until or time.monotonic() + BUSY_PATIENCE_S
        if time.monotonic() > until:
            raise fail("zpool-busy", f"the pool cannot be exported: {by}", place=args["name"],
                       remedy="End that use.", exit=Exit.INVALID)  # fmt: skip
        time.sleep(0.2)
