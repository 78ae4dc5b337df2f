"""Emptying the ARC of one pool: by exporting and importing it, which nothing else on the server notices.

A cache device keeps what is on it, and ZFS finds it there again (l2arc_rebuild_enabled): only memory is cold.
"""

from __future__ import annotations

import time
from typing import Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.stack.action import Outcome
from raidtui.stack.blockdev import CallFailed
from raidtui.stack.context import Context
from raidtui.stack.zfs import arc, build, mounting, pool
from raidtui.stack.zfs.command import export_argv, import_argv
from raidtui.stack.zfs.devices import all_devices
from raidtui.stack.zfs.spec import ZfsPool
from raidtui.stack.zfs.teardown import users
from raidtui.stack.zfs.verify import check_members
from raidtui.stack.zfs.writing import pool_path

BUSY_PATIENCE_S: Final = 15.0


def make_cold(context: Context, zpool: ZfsPool) -> Outcome:
    """Export the pool and import it as it was. Facts: bytes in the ARC (of all pools) before and after.

    Raises ProblemError. Whatever happened, `teardown` takes the pool away, imported or not.
    """
    context.stop_if_cancelled()
    before = arc.size_bytes()
    commands = mounting.unmount(context, zpool)
    commands += _export(zpool)
    after = arc.size_bytes()
    devices = all_devices(context, zpool)
    commands.append(import_argv(zpool.name, [pool_path(device) for device in devices]))
    context.about_to_write(zpool.disks)
    with context.lend(zpool.disks):
        pool.call(commands[-1])
    found = pool.find(zpool.name)
    if found is None:
        raise fail("zpool-cold", f"zpool import ended well, but there is no pool {zpool.name}", place=zpool.name,
                   remedy="Look at dmesg.", exit=Exit.INVALID)  # fmt: skip
    check_members(found, devices, zpool)
    if zpool.has_volume:
        build.await_volume(context, zpool)
    else:
        commands.append(mounting.mount_now(context, zpool))
    return Outcome("done", {"arc_bytes_before": before, "arc_bytes_after": after}, tuple(commands))


def _export(zpool: ZfsPool) -> list[Argv]:
    """udev looks into a volume whenever somebody has written to it: that is waited for."""
    argv = export_argv(zpool.name)
    until = 0.0
    while True:
        if pool.find(zpool.name) is None:
            return []
        if not (by := users(zpool)):
            try:
                pool.call(argv)
                return [argv]
            except CallFailed as error:
                by = error.problems[0].message
                if error.problems[0].code == "stuck":
                    raise
        until = until or time.monotonic() + BUSY_PATIENCE_S
        if time.monotonic() > until:
            raise fail("zpool-busy", f"the pool cannot be exported: {by}", place=zpool.name,
                       remedy="End that use.", exit=Exit.INVALID)  # fmt: skip
        time.sleep(0.2)
