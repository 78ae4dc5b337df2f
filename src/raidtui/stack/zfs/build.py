"""Creation of a pool on exactly the intended disks, of the measured volume or filesystem, and its export and import.

The pool itself is made by the command, since no library can; volume and filesystem by pyzfs in the builder. Such a call is
recorded like a command (`lzc_create POOL/vol zvol volsize=…`); the fact `same_as` is the `zfs create` that does the same.

An export and import empties the ARC of one pool without any effect on others. A cache device keeps its content, and ZFS
finds it again (l2arc_rebuild_enabled): only memory is cold.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from raidtui.base.attention import attending, checking
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack import directory, mounts
from raidtui.stack.action import Outcome
from raidtui.stack.calls import TOOL_FAILED, CallFailed
from raidtui.stack.context import Context
from raidtui.stack.zfs import arc, commands, pool
from raidtui.stack.zfs.commands import ZfsPool
from raidtui.stack.zfs.devices import all_devices, give_partition, pool_path, udev_kept_away
from raidtui.stack.zfs.notation import number
from raidtui.stack.zfs.plan import refuse_unknown
from raidtui.stack.zfs.pool import require_new_enough, tools_version
from raidtui.stack.zfs.teardown import BUSY, refuse_suspended, teardown, unmount, users
from raidtui.stack.zfs.verify import NOT_THERE, check_members, pool_facts

NODE_TIMEOUT_S: Final = 20.0
LINK_PATIENCE_S: Final = 5.0
EXPORT_PATIENCE_S: Final = 15.0
BY_LABEL: Final = Path("/dev/disk/by-label")

NAME_TAKEN: Final = Refusal(
    "zpool-name-taken",
    "The pool's name is taken",
    "A disk carries the label of a pool with the planned name. It does not belong to this run and was not touched.",
    "Run it again: every plan has new names.",
)
NO_NODE: Final = Refusal(
    "zpool-no-node",
    "The volume has no device",
    "The volume was created, but the kernel shows no block device for it.",
    "Leave the property volmode out; look at dmesg.",
)
COLD: Final = Refusal(
    "zpool-cold",
    "The pool did not return unchanged",
    "With cold caches or a rewind, the pool is exported and imported again before each cell; afterwards it was missing, "
    "or on other devices.",
    "Look at the kernel's messages (dmesg); the disks are given back in any case.",
)


def create(context: Context, zpool: ZfsPool) -> Outcome:
    """Partition the disks, create the pool on them, and check its devices and vdevs.

    Raises ProblemError; a pool that differs from the plan is removed first.
    """
    context.stop_if_cancelled()
    devices = all_devices(context, zpool)
    name = zpool.name
    if found := pool.find(name):
        check_members(found, devices, zpool)
        return Outcome("already there", pool_facts(found))
    require_new_enough(tools_version())
    refuse_unknown(zpool.properties, zpool.inherited, zpool.own, volume=zpool.has_volume)
    if os.path.lexists(BY_LABEL / name):  # zpool itself knows only the imported pools
        raise fail(NAME_TAKEN, f"a disk carries a pool or file system named {name}, and it is not this run's",
                   place=name, remedy="Replay again: every plan has names of its own.", exit=Exit.REFUSED)  # fmt: skip
    context.about_to_write(zpool.disks)
    try:
        with udev_kept_away(context, devices):
            for device in devices:
                give_partition(context, device)
            argv = commands.create_argv(zpool, [pool_path(device) for device in devices])
            with context.lend(zpool.disks):
                pool.call(argv)
            made = pool.find(name)
            if made is None:
                raise fail(NOT_THERE, f"zpool create succeeded, but there is no pool {name}", place=name,
                           remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
            check_members(made, devices, zpool)
    except ProblemError:
        # The operator has to read the first error; the teardown of the block reports what is still left.
        with suppress(ProblemError):
            teardown(context, zpool)
        raise
    return Outcome("created", pool_facts(made), (*commands.partition_argvs(zpool), argv))


def create_volume(context: Context, zpool: ZfsPool) -> Outcome:
    """Create the volumes and wait for their nodes. Raises ProblemError; the teardown of the pool removes them."""
    context.stop_if_cancelled()
    if all(pool.volume_node(one.dataset) is not None for one in zpool.each):
        return Outcome("already there", await_volumes(context, zpool))
    size_bytes, calls = create_fitting_volumes(context, zpool)
    same = commands.volume_argvs(zpool, size_bytes)
    return Outcome("created", {**await_volumes(context, zpool), "same_as": same[0] if len(same) == 1 else same}, calls)


def create_fitting_volumes(context: Context, zpool: ZfsPool) -> tuple[int, tuple[Argv, ...]]:
    """Create the volumes, down to their least size in steps of 1/64 if the pool has less room than was estimated.

    Return their size and the calls that made them. Raises ProblemError (`tool-failed`).
    """
    block = number(zpool.own.get("volblocksize", "")) or 1
    size_bytes = zpool.size_bytes
    while True:
        calls: list[Argv] = []
        made: list[ZfsPool] = []
        for one in zpool.each:
            built = context.builder.call("zfs.create", zpool=one, size_bytes=size_bytes)
            calls += built.commands
            if not built.value:
                break
            made.append(one)
        else:
            return size_bytes, tuple(calls)
        for one in made:  # all of them have one size
            context.builder.call("zfs.destroy", dataset=one.dataset)
        size_bytes -= max(block, zpool.size_bytes // 64 // block * block)
        if zpool.least_bytes is None or size_bytes < zpool.least_bytes:
            raise _no_space(zpool, tuple(calls))


def _no_space(zpool: ZfsPool, calls: tuple[Argv, ...]) -> CallFailed:
    problem = TOOL_FAILED.problem(f"{zpool.dataset} cannot be created: out of space", exit=Exit.BUILD_FAILED)
    return CallFailed(problem, calls)


def await_volumes(context: Context, zpool: ZfsPool) -> dict[str, Any]:
    """Return the device of the volume, or of each one, once they appeared. Raises ProblemError."""
    found = [await_volume(context, one) for one in zpool.each]
    return found[0] if len(found) == 1 else {**found[0], "volumes": found}


def await_volume(context: Context, zpool: ZfsPool) -> dict[str, Any]:
    """Return the volume's device once it appeared; layers above find it from now on. Raises ProblemError."""
    name = zpool.dataset
    node = pool.volume_node(name, NODE_TIMEOUT_S)
    if node is None:
        raise fail(NO_NODE, f"the volume {name} has no device", place=name,
                   remedy="Look at dmesg; volmode decides whether it has one.", exit=Exit.BUILD_FAILED)  # fmt: skip
    link, path = pool.VOLUMES / name, f"/dev/{node}"
    until = time.monotonic() + LINK_PATIENCE_S
    while os.path.realpath(link) != path and time.monotonic() < until:
        time.sleep(0.05)
    if os.path.realpath(link) == path:  # without udev there are no links
        path = str(link)
    context.built[zpool.ref] = path
    return {"path": path, "kernel_name": node}


def create_filesystem(context: Context, zpool: ZfsPool) -> Outcome:
    """Create the filesystem without mounting it. Raises ProblemError; the teardown of the pool removes it."""
    context.stop_if_cancelled()
    if context.builder.call("zfs.exists", dataset=zpool.dataset).value:
        return Outcome("already there", {"dataset": zpool.dataset})
    built = context.builder.call("zfs.create", zpool=zpool)
    if not built.value:
        raise _no_space(zpool, built.commands)
    return Outcome("created", {"dataset": zpool.dataset, "same_as": commands.filesystem_argv(zpool)}, built.commands)


def mount(context: Context, zpool: ZfsPool) -> Outcome:
    """Mount the filesystem where the run alone sees it. Raises ProblemError.

    Its mountpoint is `legacy`, so that ZFS mounts it neither when the pool is imported nor when the machine starts.
    """
    context.stop_if_cancelled()
    return _mount(context, zpool)


def _mount(context: Context, zpool: ZfsPool) -> Outcome:
    def run() -> Argv:
        return mounts.tool(commands.mount_argv(zpool), cwd=context.folder, refusal=mounts.MOUNT)

    return directory.mount(context, zpool.ref, zpool.name, zpool.is_mount, run)


def make_cold(context: Context, zpool: ZfsPool) -> Outcome:
    """Export the pool and import it again. Facts: bytes in the ARC (of all pools) before and after.

    Raises ProblemError. `teardown` removes the pool in any case, imported or not.
    """
    context.stop_if_cancelled()
    before = arc.size_bytes()
    ran = take_away(context, zpool)
    after = arc.size_bytes()
    ran.append(bring_back(context, zpool, zpool.name)[1])
    if zpool.snapshot:
        ran += context.builder.call("zfs.hold", snapshot=zpool.snapshot).commands
    ran += reopen(context, zpool)
    return Outcome("done", {"arc_bytes_before": before, "arc_bytes_after": after}, tuple(ran))


def take_away(context: Context, zpool: ZfsPool) -> list[Argv]:
    """Unmount and export the pool; return the commands. Raises ProblemError."""
    return [*unmount(context, zpool), *_export(zpool)]


def bring_back(context: Context, zpool: ZfsPool, which: str, *, rewind: bool = False) -> tuple[pool.Pool, Argv]:
    """Import the exported pool of this name or GUID from the run's own devices, as it is or as at its checkpoint.

    Return it with the command. Raises ProblemError (`zpool-cold`, `wrong-members`, …).
    """
    devices = all_devices(context, zpool)
    argv = commands.import_argv(which, [pool_path(device) for device in devices], rewind=rewind)
    context.about_to_write(zpool.disks)
    with context.lend(zpool.disks):
        pool.call(argv)
    found = pool.find(zpool.name)
    if found is None:
        raise fail(COLD, f"zpool import succeeded, but there is no pool {zpool.name}", place=zpool.name,
                   remedy="Look at dmesg.", exit=Exit.INVALID)  # fmt: skip
    check_members(found, devices, zpool)
    return found, argv


def reopen(context: Context, zpool: ZfsPool) -> tuple[Argv, ...]:
    """Wait for the volume of a pool that was away, or mount its filesystem; return the commands. Raises ProblemError."""
    if zpool.has_volume:
        await_volumes(context, zpool)
        return ()
    return _mount(context, zpool).commands


def settle(context: Context, zpool: ZfsPool) -> tuple[Argv, ...]:
    """Write what is dirty in memory to the disks: a cell begins with nothing of what was before. Raises ProblemError."""
    refuse_suspended(zpool.name)
    with attending(checking(lambda: refuse_suspended(zpool.name))):
        return context.builder.call("zfs.sync", pool=zpool.name).commands


def _export(zpool: ZfsPool) -> list[Argv]:
    """Export the pool; wait for udev, which reads a volume after every write."""
    argv = commands.export_argv(zpool.name)
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
        until = until or time.monotonic() + EXPORT_PATIENCE_S
        if time.monotonic() > until:
            raise fail(BUSY, f"the pool cannot be exported: {by}", place=zpool.name,
                       remedy="End that use.", exit=Exit.INVALID)  # fmt: skip
        time.sleep(0.2)
