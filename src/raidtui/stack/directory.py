"""A filesystem that is measured as a directory: its mount, its health, and its unmounting in all namespaces."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from raidtui.inventory.mounts import Mount, read_other_mounts
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack import mounts
from raidtui.stack.action import Outcome
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context

PATIENCE_S: Final = 20.0
"""A dead runner's mounts go with the last process of its namespace, after what they hold was written."""


def mount(context: Context, ref: str, name: str, is_ours: Callable[[Mount], bool], run: Callable[[], Argv]) -> Outcome:
    """Mount a filesystem by `run` in raidtui's own folder, unless it is mounted there already. Raises ProblemError."""
    point = mounts.point_of(name)
    if (there := mounts.at(point)) and is_ours(there[-1]):
        context.built[ref] = point
        return Outcome("already there", {"path": point})
    mounts.make_point(name)
    argv = run()
    context.built[ref] = point
    return Outcome("created", {"path": point}, (argv,))


def look(context: Context, ref: str) -> tuple[Mount, int]:
    """Return the mount of the measured directory, and its room for files in bytes. Raises ProblemError (`mount`)."""
    point = context.path(ref)
    root = mounts.open_root(point)
    try:
        mounted, room = mounts.insist(root, point), os.fstatvfs(root)
    finally:
        os.close(root)
    return mounted, room.f_bavail * room.f_frsize


def health(context: Context, ref: str, differences: Callable[[Mount], list[str]]) -> list[str]:
    """Return the reasons why numbers measured in the directory would be wrong now, with the `differences` of its mount."""
    point = ""
    try:
        point = context.path(ref)
        mounted = bounded(lambda: _read_root(point), f"reading {point}")
    except ProblemError as error:
        return [error.problems[0].message]
    except OSError as error:
        return [f"{point} cannot be read: {error.strerror}"]
    return [*differences(mounted), *([f"{point} became read-only"] if "ro" in mounted.options else [])]


def _read_root(point: str) -> Mount:
    """Return the mount after its root was read. Raises ProblemError or OSError; a filesystem that lost a disk may hang."""
    root = mounts.open_root(point)
    try:
        mounted = mounts.insist(root, point)
        with os.scandir(root) as entries:
            next(entries, None)
    finally:
        os.close(root)
    return mounted


def unmount(
    context: Context,
    name: str,
    is_ours: Callable[[Mount], bool],
    is_copy: Callable[[Mount], bool],
    device_users: Callable[[], list[str]] = list,
) -> list[Argv]:
    """Unmount a filesystem in all namespaces, remove its mount point, and return the executed commands.

    `is_copy`: True for its mounts in the namespaces of other processes. Raises ProblemError (`mount-busy`, exit 6) with
    the remaining users: those processes, and `device_users`.
    """
    ran = list(mounts.unmount(name, is_ours, cwd=context.folder))
    until = time.monotonic() + PATIENCE_S
    while True:
        copies = [mount for mount in read_other_mounts() if is_copy(mount)]
        for mount in copies:
            ran += mounts.unmount_for(mount.namespace.split()[1], name, cwd=context.folder)
        users = [f"it is mounted on {mount.point} for {mount.namespace}" for mount in copies] + device_users()
        if not users:
            mounts.remove_point(name)
            return ran
        if time.monotonic() > until:
            raise fail(mounts.MOUNT_BUSY, f"the filesystem is in use: {'; '.join(dict.fromkeys(users))}",
                       place=mounts.point_of(name), remedy="End that use, then: raidtui recover",
                       exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(0.2)
