"""Creating and mounting a filesystem, and its teardown: unmounted by its UUID in any state.

The teardown may be run at any time and any number of times: after an mkfs that was killed, with devices unplugged, mounted
or not. Signatures on the devices are erased by blanking.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from raidtui.inventory.mounts import Mount, read_other_mounts
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.stack import mounts
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.fs.plan import mkfs_argv, mount_options
from raidtui.stack.fs.rules import NOT_BLANK
from raidtui.stack.fs.spec import Filesystem
from raidtui.stack.fs.verify import all_devices, is_ours, planned_paths, signatures_on
from raidtui.stack.read_back import READ_BACK


def make(context: Context, fs: Filesystem) -> Outcome:
    """Run mkfs on devices that carry nothing, and find its UUID on each of them. Raises ProblemError."""
    context.stop_if_cancelled()
    found = all_devices(context, fs)
    if all(is_ours(fs, device.path) for device in found):
        return Outcome("already there", {"uuid": fs.uuid})
    for device in found:
        if there := signatures_on(device.path):
            text = f"{device.path} carries {there[0].type} already"
            raise fail(NOT_BLANK, text, place=device.ref, exit=Exit.BUILD_FAILED,
                       remedy=f"wipefs {device.path} shows it; if nobody needs it: wipefs -a {device.path}")  # fmt: skip
    context.about_to_write(fs.disks)
    argv = mkfs_argv(fs, [device.path for device in found])
    with context.lend(fs.disks):
        mounts.tool(argv, cwd=context.folder / "work")
    for device in found:
        if not is_ours(fs, device.path):
            raise fail(READ_BACK, f"{argv[0]} ended well, but {device.path} does not carry {fs.uuid}",
                       place=device.ref, exit=Exit.BUILD_FAILED)  # fmt: skip
    return Outcome("created", {"uuid": fs.uuid, "type": fs.type}, (argv,))


def mount(context: Context, fs: Filesystem) -> Outcome:
    """Mount it in raidtui's own folder. Raises ProblemError."""
    found = all_devices(context, fs)
    point = mounts.point_of(fs.name)
    if (there := mounts.at(point)) and there[-1].kind == fs.type and is_ours(fs, found[0].path):
        context.built[fs.ref] = point
        return Outcome("already there", {"path": point})
    mounts.make_point(fs.name)
    argv = mounts.mount_argv(fs.type, found[0].path, fs.name, mount_options(fs))
    context.about_to_write(fs.disks)
    with context.lend(fs.disks):
        mounts.tool(argv, cwd=context.folder / "work")
    context.built[fs.ref] = point
    return Outcome("created", {"path": point}, (argv,))


PATIENCE_S: Final = 20.0
"""A dead runner's mounts go with the last process of its namespace, after what they hold was written."""


def teardown(context: Context, fs: Filesystem) -> Outcome:
    """Unmount it in all namespaces. Raises ProblemError (`mount-busy`, exit 6)."""

    def ours(mount: Mount) -> bool:
        if mount.kind != fs.type:
            return False
        try:
            return is_ours(fs, mount.source)
        except OSError:
            return True  # the device is gone; the place is this run's alone

    ran = list(mounts.unmount(fs.name, ours, cwd=context.folder))
    ran += _wait_for_others(context, fs)
    mounts.remove_point(fs.name)
    context.built.pop(fs.ref, None)
    return Outcome("undone" if ran else "nothing to do", {"unmounted": bool(ran)}, tuple(ran))


def _wait_for_others(context: Context, fs: Filesystem) -> list[Argv]:
    """Wait until it is unmounted in all namespaces and the kernel has released its devices; then name the remaining users.
    """
    point, until = mounts.point_of(fs.name), time.monotonic() + PATIENCE_S
    ran: list[Argv] = []
    while True:
        others = [mount for mount in read_other_mounts() if mount.point == point and mount.kind == fs.type]
        for mount in others:
            ran += mounts.unmount_for(mount.namespace.split()[1], fs.name, cwd=context.folder)
        users = [f"it is mounted on {point} for {mount.namespace}" for mount in others]
        for ref, path in planned_paths(context, fs):
            users += [] if context.holds(ref) else _users(fs, path)
        if not users:
            return ran
        if time.monotonic() > until:
            raise fail(mounts.MOUNT_BUSY, f"the filesystem is in use: {'; '.join(dict.fromkeys(users))}", place=point,
                       remedy="End that use, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(0.2)


def _users(fs: Filesystem, path: str) -> list[str]:
    """Return the users of a device with this filesystem, as sentences."""
    try:
        if not is_ours(fs, path):
            return []
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC | os.O_NONBLOCK))
    except BlockingIOError:
        return [f"{path} is busy"]
    except OSError as error:
        if error.strerror is None or not Path(path).exists():
            return []
        with suppress(OSError):
            return mounts.mounted_elsewhere(path) or ([f"{path} is busy"] if error.errno == 16 else [])
    return []
