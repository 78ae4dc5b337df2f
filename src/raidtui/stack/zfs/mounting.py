"""Mounting of a pool's filesystem in raidtui's folder and namespace, and unmounting.

Its mountpoint is `legacy`, so that ZFS mounts it neither when the pool is imported nor when the machine starts.
"""

from __future__ import annotations

import os
import time
from typing import Any, Final

from raidtui.inventory.mounts import Mount, read_other_mounts
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack import mounts
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.mounts import MOUNT_BUSY
from raidtui.stack.zfs.commands import ZfsPool, mount_argv

PATIENCE_S: Final = 20.0
"""A dead runner's mounts go with the last process of its namespace, after what they hold was written."""


def mount(context: Context, zpool: ZfsPool) -> Outcome:
    """Mount it where the run alone sees it. Raises ProblemError."""
    context.stop_if_cancelled()
    point = mounts.point_of(zpool.name)
    if (there := mounts.at(point)) and _is_ours(zpool, there[-1].kind, there[-1].source):
        context.built[zpool.ref] = point
        return Outcome("already there", {"path": point})
    argv = mount_now(context, zpool)
    context.built[zpool.ref] = point
    return Outcome("created", {"path": point}, (argv,))


def mount_now(context: Context, zpool: ZfsPool) -> Argv:
    mounts.make_point(zpool.name)
    return mounts.tool(mount_argv(zpool), cwd=context.folder, refusal=mounts.MOUNT)


def unmount(context: Context, zpool: ZfsPool) -> list[Argv]:
    """Unmount it wherever it is; what was executed. Raises ProblemError (`mount-busy`, exit 6) with who uses it."""
    if zpool.has_volume:
        return []
    name = zpool.name

    def ours(found: Mount) -> bool:
        return _is_ours(zpool, found.kind, found.source)

    ran = list(mounts.unmount(name, ours, cwd=context.folder))
    until = time.monotonic() + PATIENCE_S
    while others := [found for found in read_other_mounts() if _is_ours(zpool, "zfs", found.source)]:
        for found in others:
            ran += mounts.unmount_for(found.namespace.split()[1], name, cwd=context.folder)
        if time.monotonic() > until:
            users = "; ".join(dict.fromkeys(f"it is mounted on {one.point} for {one.namespace}" for one in others))
            raise fail(MOUNT_BUSY, f"the filesystem cannot be unmounted: {users}", place=mounts.point_of(name),
                       remedy="End that use, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(0.2)
    mounts.remove_point(name)
    return ran


def _is_ours(zpool: ZfsPool, kind: str, source: str) -> bool:
    return kind == "zfs" and source == zpool.dataset


def health(context: Context, zpool: ZfsPool) -> list[str]:
    """Return the reasons why numbers measured in the directory would be wrong now."""
    try:
        point = context.path(zpool.ref)
        root = mounts.open_root(point)
    except ProblemError as error:
        return [error.problems[0].message]
    try:
        found = mounts.insist(root, point)
        with os.scandir(root) as entries:
            next(entries, None)
    except ProblemError as error:
        return [error.problems[0].message]
    except OSError as error:
        return [f"{point} cannot be read: {error.strerror}"]
    finally:
        os.close(root)
    wrong = [] if _is_ours(zpool, found.kind, found.source) else [f"{point} is {found.source}, not {zpool.dataset}"]
    return [*wrong, f"{point} became read-only"] if "ro" in found.options else wrong


def facts(context: Context, zpool: ZfsPool) -> dict[str, Any]:
    """Options of the mount, and its room. Raises ProblemError (`mount`)."""
    point = context.path(zpool.ref)
    root = mounts.open_root(point)
    try:
        found, room = mounts.insist(root, point), os.fstatvfs(root)
    finally:
        os.close(root)
    return {"path": point, "options": list(found.options), "size_bytes": room.f_bavail * room.f_frsize}
