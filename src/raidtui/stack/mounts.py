"""Mounting and unmounting in raidtui's own folder, and verifying the filesystem behind a path.

A runner has a private mount namespace: its mounts are invisible to users, services do not keep copies of them, and the
kernel unmounts them when the runner dies. Mounts and unmounts of the host still propagate to it.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from raidtui.base.files import private_folder, read_text
from raidtui.base.paths import run_folder
from raidtui.base.proc import ToolError, ToolStuck, find_tool, name_of, run
from raidtui.base.text import clean
from raidtui.inventory.mounts import PROC, Mount, command, pids, read_other_mounts, read_own_mounts
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.calls import TOOL_FAILED, stuck

FOLDER: Final = "/run/raidtui/mnt"
"""Folder of all mount points; only root may enter."""
SAFE: Final = ("nosuid", "nodev", "noexec")
"""Mount options of every filesystem."""
FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
BUSY_PATIENCE_S: Final = 15.0
_CLONE_NEWNS: Final = 0x00020000

MOUNT: Final = Refusal(
    "mount",
    "The mount is not the expected one",
    "The filesystem behind raidtui's mount point is not, or not any more, the one that raidtui mounted. Numbers would "
    "belong to another filesystem.",
    "Find out who mounts and unmounts on this server, then replay again.",
)
MOUNT_BUSY: Final = Refusal(
    "mount-busy",
    "A filesystem cannot be unmounted",
    "The filesystem is in use. raidtui never unmounts by force or lazily.",
    "End the use that the message names. When the cause is gone, `raidtui recover` removes the rest; it may be run any "
    "number of times.",
)
MISSING_TOOL: Final = Refusal(
    "missing-tool",
    "A tool is not installed",
    "A program that builds or reads back was not found in the system's own directories.",
    "`raidtui doctor` shows what is missing, and how to install it.",
)


def point_of(name: str) -> str:
    """Return the mount point of the filesystem with this name."""
    return f"{FOLDER}/{name}"


def enter_own_namespace() -> None:
    """Give this process (which must have no threads yet) a private mount namespace that still receives the host's mounts.

    If the kernel refuses, the mounts are visible on the host, in a folder that only root may enter.
    """
    mount = find_tool("mount")
    # By libc, since Python has os.unshare only from 3.12 on.
    if mount is not None and ctypes.CDLL(None).unshare(_CLONE_NEWNS) == 0:
        # A copy of a shared mount is shared: without this, the mounts would propagate to the host.
        run((mount, "--make-rslave", "/"))


def at(point: str) -> tuple[Mount, ...]:
    """Return the mounts on exactly this path, the topmost last."""
    return tuple(mount for mount in read_own_mounts() if mount.point == point)


def mount_argv(kind: str, device: str, name: str, options: tuple[str, ...]) -> Argv:
    return ("mount", "-t", kind, "-o", ",".join((*SAFE, *options)), device, point_of(name))


def unmount_argv(name: str) -> Argv:
    return ("umount", point_of(name))


def make_point(name: str) -> None:
    """Create the private, empty mount point. Raises ProblemError (`mount`) if something is mounted there."""
    private_folder(private_folder(run_folder()) / "mnt")
    point = point_of(name)
    if at(point):
        raise fail(MOUNT, f"something is mounted on {point} already", place=point, exit=Exit.BUILD_FAILED)
    private_folder(Path(point))


def tool(argv: Argv, *, cwd: Path, refusal: Refusal = TOOL_FAILED) -> Argv:
    """Run one command of a plan with its tool's full path; return the argv as planned. Raises ProblemError."""
    path = find_tool(argv[0])
    if path is None:
        raise fail(MISSING_TOOL, f"{argv[0]} is not installed", place=argv[0], exit=Exit.BUILD_FAILED)
    try:
        # The children of a dead runner are recognised by this folder.
        run((path, *argv[1:]), cwd=cwd)
    except ToolStuck as error:
        raise ProblemError(stuck(name_of(argv), error)) from error
    except ToolError as error:
        raise fail(refusal, f"{argv[0]} failed: {clean(error.reason)[:400]}", place=argv[-1], exit=Exit.BUILD_FAILED,
                   remedy="Look at dmesg.") from error  # fmt: skip
    return argv


def insist(fd: int, point: str) -> Mount:
    """Return the mount of an open folder. Raises ProblemError (`mount`) if it is not the one on `point` any more."""
    match = [line for line in (read_text(f"/proc/self/fdinfo/{fd}") or "").splitlines() if line.startswith("mnt_id:")]
    number = int(match[0].split()[1]) if match else -1
    top = at(point)
    if not top or top[-1].id != number:
        raise fail(MOUNT, f"{point} is not the filesystem any more that was mounted there", place=point,
                   remedy="It was unmounted, or something was mounted over it.", exit=Exit.INVALID)  # fmt: skip
    return top[-1]


def open_root(point: str) -> int:
    """Open the root of the mount on `point`, which cannot be unmounted while open. Raises ProblemError (`mount`)."""
    try:
        # Reading it must write nothing: a time of access would wait for ever on a pool that lost a disk.
        fd = os.open(point, FOLDER_FLAGS | os.O_NOATIME)
    except OSError as error:
        raise fail(MOUNT, f"{point} cannot be opened: {error.strerror}", place=point, exit=Exit.INVALID) from error
    try:
        insist(fd, point)
    except BaseException:
        os.close(fd)
        raise
    return fd


def unmount(name: str, is_ours: Callable[[Mount], bool], *, cwd: Path) -> tuple[Argv, ...]:
    """Unmount all mounts of the run from its mount point, and return the commands.

    Never by force, never lazily. Raises ProblemError (`mount-busy`, exit 6) with the users.
    """
    point, until, ran = point_of(name), 0.0, []
    while found := at(point):
        if not is_ours(found[-1]):
            raise fail(MOUNT_BUSY, f"the mount on {point} does not belong to this run", place=point,
                       remedy="Unmount it, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip
        try:
            ran.append(tool(unmount_argv(name), cwd=cwd))
        except ProblemError as error:
            until = until or time.monotonic() + BUSY_PATIENCE_S
            if error.problems[0].code == "stuck" or time.monotonic() > until:
                users = "; ".join(users_of(point)) or error.problems[0].message
                raise fail(MOUNT_BUSY, f"{point} cannot be unmounted: {users}", place=point,
                           remedy="End that use, then: raidtui recover", exit=Exit.LEFT_BEHIND) from error  # fmt: skip
            time.sleep(0.3)
    return tuple(ran)


def remove_point(name: str) -> None:
    """Remove the mount point, once nothing is mounted there: the kernel would unmount it lazily."""
    with suppress(OSError):  # a folder with content is kept
        Path(point_of(name)).rmdir()


def unmount_for(pid: str, name: str, *, cwd: Path) -> tuple[Argv, ...]:
    """Unmount in the mount namespace of a process, such as a daemon that a dead runner had started.

    Returns the command; empty if it failed.
    """
    nsenter = ("nsenter", f"--target={pid}", "--mount", *unmount_argv(name))
    try:
        return (tool(nsenter, cwd=cwd),)
    except ProblemError:
        return ()


def users_of(point: str) -> list[str]:
    """Return the processes that use a mount, as sentences."""
    found = []
    for pid in pids():
        if int(pid) != os.getpid() and (what := next(_uses(PROC / pid, point), "")):
            found.append(f"pid {pid} ({clean(command(pid))}) {what}")
    return found


def _uses(process: Path, point: str) -> Iterator[str]:
    for name, what in (("cwd", "works in it"), ("root", "has its root in it")):
        with suppress(OSError):
            if _inside(process / name, point):
                yield what
    with suppress(OSError):
        for link in (process / "fd").iterdir():
            with suppress(OSError):
                if _inside(link, point):
                    yield "has a file open in it"


def _inside(link: Path, point: str) -> bool:
    target = str(link.readlink())
    return target == point or target.startswith(f"{point}/")


def mounted_elsewhere(path: str) -> list[str]:
    """Return the mounts of a device's filesystem as sentences, in this namespace and those of other processes."""
    devno = Path(path).stat().st_rdev
    return [
        f"it is mounted on {clean(mount.point)}" + (f" for {clean(mount.namespace)}" if mount.namespace else "")
        for mount in (*read_own_mounts(), *read_other_mounts())
        if mount.devno == devno or mount.source == path
    ]
