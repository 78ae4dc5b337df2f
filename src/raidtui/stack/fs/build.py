"""Creating and mounting a filesystem, and its teardown: unmounted by its UUID in any state.

The teardown may be run at any time and any number of times: after an mkfs that was killed, with devices unplugged, mounted
or not. Signatures on the devices are erased by blanking.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from raidtui.inventory.mounts import Mount
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.stack import directory, mounts
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.fs.plan import mkfs_argv, mount_options, top_argv
from raidtui.stack.fs.rules import NOT_BLANK
from raidtui.stack.fs.spec import Filesystem
from raidtui.stack.fs.verify import all_devices, is_ours, planned_paths, shows_subvolume, signatures_on
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
    argv = mkfs_argv(fs, [device.path for device in found])
    context.about_to_write(fs.disks)
    context.builder.load()  # now, because it is slow, and lent disks are not held
    with context.lend(fs.disks):
        commands = context.builder.call("fs.make", kind=fs.type, argv=argv).commands
    for device in found:
        if not is_ours(fs, device.path):
            raise fail(READ_BACK, f"{argv[0]} ended well, but {device.path} does not carry {fs.uuid}",
                       place=device.ref, exit=Exit.BUILD_FAILED)  # fmt: skip
    return Outcome("created", {"uuid": fs.uuid, "type": fs.type}, commands)


def make_subvolume(context: Context, fs: Filesystem) -> Outcome:
    """Make the subvolume in the top level of the filesystem, which is mounted for it alone. Raises ProblemError."""
    paths = [device.path for device in all_devices(context, fs)]
    mounts.make_point(fs.name)
    context.about_to_write(fs.disks)
    context.builder.load()
    with context.lend(fs.disks):
        mounted = mounts.tool(top_argv(fs, paths[0]), cwd=context.folder / "work")
        args = {"paths": paths, "uuid": fs.uuid, "point": mounts.point_of(fs.name), "subvolume": fs.subvolume}
        made = context.builder.call("fs.make_subvolume", **args)
        unmounted = mounts.unmount(fs.name, lambda mount: is_ours(fs, mount.source), cwd=context.folder / "work")
    return Outcome("created", {"subvolume": fs.subvolume}, (mounted, *made.commands, *unmounted))


def mount(context: Context, fs: Filesystem) -> Outcome:
    """Mount it in raidtui's own folder. Raises ProblemError."""
    path = all_devices(context, fs)[0].path
    argv = mounts.mount_argv(fs.type, path, fs.name, mount_options(fs))

    def ours(mount: Mount) -> bool:
        return mount.kind == fs.type and is_ours(fs, path) and shows_subvolume(fs, mount)

    def run() -> Argv:
        context.about_to_write(fs.disks)
        with context.lend(fs.disks):
            return mounts.tool(argv, cwd=context.folder / "work")

    return directory.mount(context, fs.ref, fs.name, ours, run)


def teardown(context: Context, fs: Filesystem) -> Outcome:
    """Unmount it in all namespaces, and wait until the kernel has released its devices.

    Raises ProblemError (`mount-busy`, exit 6) with the remaining users.
    """

    def ours(mount: Mount) -> bool:
        if mount.kind != fs.type:
            return False
        try:
            return is_ours(fs, mount.source)
        except OSError:
            return True  # the device is gone; the place is this run's alone

    def is_copy(mount: Mount) -> bool:
        return mount.point == mounts.point_of(fs.name) and mount.kind == fs.type

    def users() -> list[str]:
        paths = [path for ref, path in planned_paths(context, fs) if not context.holds(ref)]
        return [user for path in paths for user in _users(fs, path)]

    ran = directory.unmount(context, fs.name, ours, is_copy, users)
    context.built.pop(fs.ref, None)
    return Outcome("undone" if ran else "nothing to do", {"unmounted": bool(ran)}, tuple(ran))


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
