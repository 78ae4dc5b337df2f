"""Taking a pool away: by its name, and only when nothing of it stands on a device that is not this run's.

It may be run at any time and any number of times: after a creation that died half-way, with devices unplugged, with the
pool imported, exported, destroyed or never made. Labels and partition tables go only where the table carries this plan's
GUID.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from raidtui.base.attention import attending, checking
from raidtui.inventory import ioctl
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.stack import blockdev
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.nodes import users_of
from raidtui.stack.teardown import (
    await_links,
    await_makers,
    exclusive,
    is_there,
    may_erase,
    open_for_writing,
    until_gone,
)
from raidtui.stack.zfs import devices as found_devices
from raidtui.stack.zfs import gpt, mounting, pool
from raidtui.stack.zfs.command import destroy_argv, destroy_dataset_argv
from raidtui.stack.zfs.devices import Device, present_devices
from raidtui.stack.zfs.spec import ZfsPool
from raidtui.stack.zfs.writing import reread

BUSY_PATIENCE_S: Final = 15.0
DYING_PATIENCE_S: Final = 10.0


def teardown(context: Context, zpool: ZfsPool) -> Outcome:
    """Destroy the pool and take labels and tables off its devices.

    Facts: `destroyed`, `erased` and `missing` (references). Raises ProblemError (exit 6): `zpool-busy`,
    `zpool-suspended`, `zpool-foreign`, `left-behind`, `stuck`.
    """
    name: str = zpool.name
    await_makers(lambda: pool.makers(name), "zpool-busy", "still works on the pool", name)
    commands: list[Argv] = []
    erased: list[str] = []
    missing: list[str] = []

    def attempt() -> str:
        commands.extend(_destroy(context, zpool))
        devices, missing[:] = present_devices(context, zpool)
        trouble = _erase_all(context, devices, name, erased)
        return trouble or ("it keeps coming back" if pool.state(name) is not None else "")

    until_gone(attempt, "the pool", name)
    if commands:
        await_links(pool.link_path(name))
    context.built.pop(zpool.ref, None)
    result = "undone" if commands or erased else "nothing to do"
    facts = {"destroyed": bool(commands), "erased": erased, "missing": missing}
    return Outcome(result, facts, tuple(commands))


def _destroy(context: Context, zpool: ZfsPool) -> list[Argv]:
    """Destroy the pool of this name, where there is one and it is ours; being in use is waited for, for a while."""
    name: str = zpool.name
    until = 0.0
    while True:
        _refuse_suspended(name)
        commands: list[Argv] = []
        try:
            with attending(checking(lambda: _refuse_suspended(name))):
                found = pool.find(name)
                if found is None:
                    return []
                _insist_ours(context, zpool, found)
                commands += mounting.unmount(context, zpool)
                # A pool is destroyed without a word while a program has its volume open, and that hangs until the program
                # ends; a volume is not.
                if pool.dataset_properties(zpool.dataset) is not None:
                    commands.append(destroy_dataset_argv(zpool.dataset))
                    pool.call(commands[-1])
                commands.append(destroy_argv(name))
                pool.call(commands[-1])
                return commands
        except ProblemError as error:
            if pool.state(name) is None:
                return commands
            _refuse_suspended(name)
            if not isinstance(error, blockdev.CallFailed):
                raise
            until = until or time.monotonic() + BUSY_PATIENCE_S
            if error.problems[0].code == "stuck" or time.monotonic() > until:
                raise _busy(context, zpool, error.problems[0]) from error
            time.sleep(0.3)


def _insist_ours(context: Context, zpool: ZfsPool, found: pool.Pool) -> None:
    """Raise ProblemError unless every device of the pool that is there now is one of ours."""
    until = time.monotonic() + DYING_PATIENCE_S
    while (strange := _stranger(context, zpool, found)) is not None:
        leaf, guid = strange
        # A disk that is being pulled cannot be read any more, and is still listed for a moment.
        if guid is not None or time.monotonic() > until:
            text = f"pool {found.name} stands on {leaf.path}, which is not this run's"
            raise fail("zpool-foreign", text, place=found.name, remedy="It was not touched.", exit=Exit.LEFT_BEHIND)
        time.sleep(0.2)


def _stranger(context: Context, zpool: ZfsPool, found: pool.Pool) -> tuple[pool.Leaf, str | None] | None:
    """A device of the pool that is there and not known to be ours, with the GUID of its table where that can be read."""
    guids = {entry.disk_guid for entry in zpool.devices if entry.disk_guid}
    direct = {device.devno for device in present_devices(context, zpool)[0] if device.table is None}
    for leaf in found.leaves:
        number = leaf.devno
        if number is None or not Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").exists():
            continue
        if number not in direct and (guid := found_devices.disk_guid(found_devices.whole(number))) not in guids:
            return leaf, guid
    return None


def _refuse_suspended(name: str) -> None:
    """The kernel cannot let go of such a pool: destroying it would hang for good, and every later command with it."""
    if pool.state(name) == "SUSPENDED":
        text = "ZFS suspended the pool, because too many of its devices are gone"
        raise fail("zpool-suspended", text, place=name, exit=Exit.LEFT_BEHIND,
                   remedy="ZFS lets go of it only when the machine is restarted. Then: raidtui recover")  # fmt: skip


def _busy(context: Context, zpool: ZfsPool, why: Problem) -> ProblemError:
    by, (_, missing) = users(zpool), present_devices(context, zpool)
    remedy = "End that use"
    if not by and (missing or why.code == "stuck"):
        remedy = "A device is gone or does not answer (see dmesg). Where ZFS does not let go, restart the machine"
    return fail("zpool-busy", f"the pool cannot be destroyed: {by or why.message}", place=zpool.name,
                remedy=f"{remedy}, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip


def users(zpool: ZfsPool) -> str:
    """Who uses the volume, in words; nothing where nobody is known to. Opens nothing."""
    node = pool.linked_node(zpool.dataset) if zpool.has_volume else None
    return "; ".join(users_of(node)) if node else ""


def _erase_all(context: Context, devices: list[Device], name: str, erased: list[str]) -> str:
    """Take labels and table off every device that has ours; what still has them afterwards, and why, or nothing."""
    trouble = []
    for device in devices:
        try:
            if not _is_marked(device, name) or not may_erase(context, device.ref):
                continue
            _erase(context, device)
            if _is_marked(device, name):
                trouble.append(f"{device.path} still has its labels")
            else:
                erased.append(device.ref)
        except (ProblemError, OSError) as error:
            if is_there(context, device.ref, device.path):
                trouble.append(f"{device.path}: {error}")
    return "; ".join(trouble)


def _is_marked(device: Device, name: str) -> bool:
    if device.table is not None:
        return found_devices.disk_guid(device.devno) == device.table.disk_guid
    return found_devices.has_label(device, name)


def _erase(context: Context, device: Device) -> None:
    fd = open_for_writing(context, device.ref, device.path)
    try:
        size = ioctl.size_bytes(fd)
        table = device.table
        for at, length in gpt.places_of_labels(*((table.start, table.length) if table else (0, size))):
            os.pwrite(fd, bytes(length), at)
        os.fsync(fd)
        if table is not None:
            gpt.erase(fd, size, table)
            reread(exclusive(context, device.ref, fd))
    finally:
        os.close(fd)
