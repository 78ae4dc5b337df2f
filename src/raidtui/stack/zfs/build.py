"""Creating a pool on exactly the intended disks, and what is measured in it; checked to be so."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.zfs import pool
from raidtui.stack.zfs.command import create_argv, filesystem_argv, volume_argv
from raidtui.stack.zfs.devices import all_devices
from raidtui.stack.zfs.planning import refuse_unknown
from raidtui.stack.zfs.spec import ZfsPool
from raidtui.stack.zfs.teardown import teardown
from raidtui.stack.zfs.verify import check_members, pool_facts
from raidtui.stack.zfs.version import insist_new_enough, tools_version
from raidtui.stack.zfs.writing import give_partition, pool_path, udev_kept_away

NODE_TIMEOUT_S: Final = 20.0
LINK_PATIENCE_S: Final = 5.0
BY_LABEL: Final = Path("/dev/disk/by-label")


def create(context: Context, zpool: ZfsPool) -> Outcome:
    """Give every disk its partition, create the pool on them, and insist that it stands on them and has the asked shape.

    Raises ProblemError. When the pool came out otherwise, it is taken down again first.
    """
    context.stop_if_cancelled()
    devices = all_devices(context, zpool)
    name: str = zpool.name
    if found := pool.find(name):
        check_members(found, devices, zpool)
        return Outcome("already there", pool_facts(found))
    insist_new_enough(tools_version())
    refuse_unknown(zpool.properties, zpool.inherited, zpool.own, volume=zpool.has_volume)
    _refuse_taken_name(name)
    context.about_to_write(zpool.disks)
    try:
        with udev_kept_away(context, devices):
            for device in devices:
                give_partition(context, device)
            argv = create_argv(zpool, [pool_path(device) for device in devices])
            with context.lend(zpool.disks):
                pool.call(argv)
            made = pool.find(name)
            if made is None:
                raise fail("zpool-not-there", f"zpool create ended well, but there is no pool {name}", place=name,
                           remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
            check_members(made, devices, zpool)
    except ProblemError:
        # What went wrong is what the operator has to read; the block's teardown runs and tells if this was not enough.
        with suppress(ProblemError):
            teardown(context, zpool)
        raise
    return Outcome("created", pool_facts(made), (argv,))


def create_volume(context: Context, zpool: ZfsPool) -> Outcome:
    """Create the volume and wait for its node. Raises ProblemError; the pool's own teardown takes it away again."""
    context.stop_if_cancelled()
    commands: tuple[Argv, ...] = ()
    result = "already there"
    if pool.volume_node(zpool.dataset) is None:
        commands, result = (volume_argv(zpool),), "created"
        pool.call(commands[0])
    return Outcome(result, await_volume(context, zpool), commands)


def await_volume(context: Context, zpool: ZfsPool) -> dict[str, Any]:
    """Where the volume's device is, once it is there; layers above find it from now on. Raises ProblemError."""
    name = zpool.dataset
    node = pool.volume_node(name, NODE_TIMEOUT_S)
    if node is None:
        raise fail("zpool-no-node", f"the volume {name} has no device", place=name,
                   remedy="Look at dmesg; volmode decides whether it has one.", exit=Exit.BUILD_FAILED)  # fmt: skip
    path = _volume_path(name, node)
    context.built[zpool.ref] = path
    return {"path": path, "kernel_name": node}


def create_filesystem(context: Context, zpool: ZfsPool) -> Outcome:
    """Create the filesystem, which is not mounted yet. Raises ProblemError; the pool's own teardown takes it away."""
    context.stop_if_cancelled()
    if pool.dataset_properties(zpool.dataset) is not None:
        return Outcome("already there", {"dataset": zpool.dataset})
    argv = filesystem_argv(zpool)
    pool.call(argv)
    return Outcome("created", {"dataset": zpool.dataset}, (argv,))


def _volume_path(name: str, node: str) -> str:
    """The name that udev gives it, or the node where udev does not."""
    link = pool.link_path(name)
    until = time.monotonic() + LINK_PATIENCE_S
    while os.path.realpath(link) != f"/dev/{node}":
        if time.monotonic() > until:
            return f"/dev/{node}"
        time.sleep(0.05)
    return str(link)


def _refuse_taken_name(name: str) -> None:
    """Beside imported pools, of which zpool itself knows: one that is not imported shows by its labels."""
    if os.path.lexists(BY_LABEL / name):
        raise fail("zpool-name-taken", f"a disk carries a pool or file system named {name}, and it is not this run's",
                   place=name, remedy="Replay again: every plan has names of its own.", exit=Exit.REFUSED)  # fmt: skip
