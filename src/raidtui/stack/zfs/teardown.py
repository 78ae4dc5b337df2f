"""Teardown of a pool: by its name, and only if all its devices belong to the run.

It may be run at any time and repeatedly: after a creation that was interrupted, with devices unplugged, with the pool
imported, exported, destroyed or never created. Labels and partition tables are erased only where the table carries the
plan's GUID.
"""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Final

from raidtui.base.attention import attending, checking
from raidtui.inventory import ioctl
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.stack import calls, directory, gpt
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.nodes import users_of
from raidtui.stack.teardown import await_links, await_makers, erase_marks, exclusive, open_for_writing, until_gone
from raidtui.stack.zfs import pool
from raidtui.stack.zfs.commands import ZfsPool, undo_argvs
from raidtui.stack.zfs.devices import Device, disk_guid, has_label, label_positions, present_devices, whole_device

BUSY_PATIENCE_S: Final = 15.0
DYING_PATIENCE_S: Final = 10.0

BUSY: Final = Refusal(
    "zpool-busy",
    "The pool is in use",
    "The volume is still in use, or a command still works on the pool. The message names the user.",
    "End that use. When the cause is gone, `raidtui recover` removes the rest. It may be repeated.",
)
SUSPENDED: Final = Refusal(
    "zpool-suspended",
    "ZFS suspended the pool",
    "Too many of its devices are gone, so that ZFS cannot write any more. Such a pool cannot be destroyed: the "
    "command would hang forever, and every later ZFS command with it. After a restart the pool is not imported again.",
    "Restart the machine, then `raidtui recover`.",
)
FOREIGN: Final = Refusal(
    "zpool-foreign",
    "A pool with this name belongs to others",
    "It is on a device that this run did not write to. It was not touched.",
    "Look at `zpool status`.",
)


def teardown(context: Context, zpool: ZfsPool) -> Outcome:
    """Destroy the pool and take labels and tables off its devices.

    Facts: `destroyed`, `erased` and `missing` (references). Raises ProblemError (exit 6): `zpool-busy`,
    `zpool-suspended`, `zpool-foreign`, `left-behind`, `stuck`.
    """
    name = zpool.name
    await_makers(lambda: pool.makers(name), BUSY, "still works on the pool", name)
    commands: list[Argv] = []
    erased: list[str] = []
    missing: list[str] = []

    def attempt() -> str:
        commands.extend(_destroy(context, zpool))
        devices, missing[:] = present_devices(context, zpool)
        trouble = erase_marks(
            context, devices, lambda device: _is_marked(device, name), partial(_erase, context), "its labels", erased
        )
        return trouble or ("it reappears after each removal" if pool.state(name) is not None else "")

    until_gone(attempt, "the pool", name)
    if commands:
        await_links(pool.VOLUMES / name)
    for one in zpool.each:
        context.built.pop(one.ref, None)
    result = "undone" if commands or erased else "nothing to do"
    facts = {"destroyed": bool(commands), "erased": erased, "missing": missing}
    return Outcome(result, facts, tuple(commands))


def _destroy(context: Context, zpool: ZfsPool) -> list[Argv]:
    """Destroy the run's pool of this name, if there is one; wait some time if it is in use."""
    name = zpool.name
    until = 0.0
    while True:
        refuse_suspended(name)
        commands: list[Argv] = []
        try:
            with attending(checking(lambda: refuse_suspended(name))):
                found = pool.find(name)
                if found is None:
                    return []
                _insist_ours(context, zpool, found)
                commands += unmount(context, zpool)
                # Destroying a pool while a program has its volume open hangs until the program ends; destroying the
                # volume fails at once.
                for one in zpool.each:
                    commands += context.builder.call(
                        "zfs.destroy", dataset=one.dataset, snapshot=one.snapshot
                    ).commands
                commands.append(undo_argvs(zpool)[-1])
                pool.call(commands[-1])
                return commands
        except ProblemError as error:
            if pool.state(name) is None:
                return commands
            refuse_suspended(name)
            if not isinstance(error, calls.CallFailed):
                raise
            until = until or time.monotonic() + BUSY_PATIENCE_S
            if error.problems[0].code == "stuck" or time.monotonic() > until:
                raise _busy(context, zpool, error.problems[0]) from error
            time.sleep(0.3)


def unmount(context: Context, zpool: ZfsPool) -> list[Argv]:
    """Unmount the pool's filesystem in all namespaces; return the commands. Raises ProblemError (`mount-busy`, exit 6)."""
    return [] if zpool.has_volume else directory.unmount(context, zpool.name, zpool.is_mount, zpool.is_mount)


def _insist_ours(context: Context, zpool: ZfsPool, found: pool.Pool) -> None:
    """Raise ProblemError unless every present device of the pool belongs to the run."""
    until = time.monotonic() + DYING_PATIENCE_S
    while (strange := _stranger(context, zpool, found)) is not None:
        leaf, guid = strange
        # A disk that is being pulled cannot be read any more, and is still listed for a moment.
        if guid is not None or time.monotonic() > until:
            text = f"pool {found.name} is on {leaf.path}, which does not belong to this run"
            raise fail(FOREIGN, text, place=found.name, remedy="It was not touched.", exit=Exit.LEFT_BEHIND)
        time.sleep(0.2)


def _stranger(context: Context, zpool: ZfsPool, found: pool.Pool) -> tuple[pool.Leaf, str | None] | None:
    """Return a present device of the pool that is not the run's, with the GUID of its table if it can be read."""
    guids = {entry.disk_guid for entry in zpool.devices if entry.disk_guid}
    direct = {device.devno for device in present_devices(context, zpool)[0] if device.table is None}
    for leaf in found.leaves:
        number = leaf.devno
        if number is None or not Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").exists():
            continue
        if number not in direct and (guid := disk_guid(whole_device(number))) not in guids:
            return leaf, guid
    return None


def refuse_suspended(name: str) -> None:
    """Refuse a suspended pool: destroying it would hang forever, and every later command with it."""
    if pool.state(name) == "SUSPENDED":
        text = "ZFS suspended the pool, because too many of its devices are gone"
        raise fail(SUSPENDED, text, place=name, exit=Exit.LEFT_BEHIND,
                   remedy="ZFS lets go of it only when the machine is restarted. Then: raidtui recover")  # fmt: skip


def _busy(context: Context, zpool: ZfsPool, why: Problem) -> ProblemError:
    by, (_, missing) = users(zpool), present_devices(context, zpool)
    remedy = "End that use"
    if not by and (missing or why.code == "stuck"):
        remedy = "A device is gone or does not answer (see dmesg). Where ZFS does not let go, restart the machine"
    return fail(BUSY, f"the pool cannot be destroyed: {by or why.message}", place=zpool.name,
                remedy=f"{remedy}, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip


def users(zpool: ZfsPool) -> str:
    """Return the users of the volumes in words; empty if none is known. It opens nothing."""
    nodes = [pool.linked_node(one.dataset) for one in zpool.each] if zpool.has_volume else []
    return "; ".join(user for node in nodes if node is not None for user in users_of(node))


def _is_marked(device: Device, name: str) -> bool:
    if device.table is not None:
        return disk_guid(device.devno) == device.table.guid
    return has_label(device, name)


def _erase(context: Context, device: Device) -> None:
    fd = open_for_writing(context, device.ref, device.path)
    try:
        size = ioctl.size_bytes(fd)
        table = device.table
        start, length_bytes = (table.partitions[0].start, table.partitions[0].length) if table else (0, size)
        for at, length in label_positions(start, length_bytes):
            os.pwrite(fd, bytes(length), at)
        os.fsync(fd)
        if table is not None:
            gpt.erase_table(fd, size, start, start + length_bytes)
            gpt.reread_partitions(exclusive(context, device.ref, fd))
    finally:
        os.close(fd)
