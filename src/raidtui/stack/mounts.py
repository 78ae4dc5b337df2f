"""Mounting and unmounting in raidtui's own folder, and being sure which filesystem is behind a path.

A runner works in a mount namespace of its own: nobody stumbles into its mounts, no service that starts meanwhile keeps a
copy of them, and when the runner dies the kernel unmounts what it left. Mount and unmount of the host still reach it.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.files import private_folder, read_text
from raidtui.base.paths import run_folder
from raidtui.base.proc import ToolError, ToolStuck, find_tool, name_of, run
from raidtui.base.text import clean
from raidtui.inventory.blocks import parse_devno
from raidtui.inventory.mounts import PROC, command, pids, read_other_mounts, unescape
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack.blockdev import stuck

FOLDER: Final = "/run/raidtui/mnt"
"""Where everything is mounted: root's alone, and known when planning."""
SAFE: Final = ("nosuid", "nodev", "noexec")
"""Mount options of every filesystem: it holds benchmark files, and nothing else."""
FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
BUSY_PATIENCE_S: Final = 15.0
_CLONE_NEWNS: Final = 0x00020000


class Mounted(NamedTuple):
    """One line of our own mountinfo."""

    id: int
    devno: int | None
    """None where it is not a block device's."""
    root: str
    point: str
    kind: str
    source: str
    options: tuple[str, ...]
    """Of the mount, then of the filesystem."""


def point_of(name: str) -> str:
    """Where the filesystem of this name is mounted."""
    return f"{FOLDER}/{name}"


def enter_own_namespace() -> None:
    """Give this process (which must have no threads yet) mounts of its own, into which the host's still come.

    Where the kernel refuses, mounts are the host's, in a folder that only root may enter.
    """
    mount = find_tool("mount")
    # By libc, since Python has os.unshare only from 3.12 on.
    if mount is not None and ctypes.CDLL(None).unshare(_CLONE_NEWNS) == 0:
        # A copy of a shared mount is shared: without this, ours would appear on the host after all.
        run((mount, "--make-rslave", "/"))


def parse(text: str) -> tuple[Mounted, ...]:
    """The lines of a mountinfo, in the order in which they were mounted. Raises ValueError for one that is none."""
    found = []
    for line in text.splitlines():
        front, separator, back = line.partition(" - ")
        fields, tail = front.split(" "), back.split(" ")
        if not separator or len(fields) < 6 or len(tail) < 3:
            raise ValueError(f"not a mountinfo line: {clean(line)}")
        options = tuple(dict.fromkeys((*fields[5].split(","), *tail[2].split(","))))
        devno = parse_devno(fields[2])
        found.append(
            Mounted(int(fields[0]), devno, unescape(fields[3]), unescape(fields[4]), tail[0], unescape(tail[1]), options)
        )
    return tuple(found)


def read() -> tuple[Mounted, ...]:
    """The mounts of our own namespace."""
    return parse((PROC / "self/mountinfo").read_bytes().decode("utf-8", "surrogateescape"))


def at(point: str) -> tuple[Mounted, ...]:
    """What is mounted on exactly this path, the topmost last."""
    return tuple(mount for mount in read() if mount.point == point)


def mount_argv(kind: str, device: str, name: str, options: tuple[str, ...]) -> Argv:
    return ("mount", "-t", kind, "-o", ",".join((*SAFE, *options)), device, point_of(name))


def unmount_argv(name: str) -> Argv:
    return ("umount", point_of(name))


def make_point(name: str) -> None:
    """The folder to mount on, private and empty. Raises ProblemError (`mount`) where something is in the way."""
    private_folder(private_folder(run_folder()) / "mnt")
    point = point_of(name)
    if at(point):
        raise fail("mount", f"something is mounted on {point} already", place=point, exit=Exit.BUILD_FAILED)
    private_folder(Path(point))


def tool(argv: Argv, *, cwd: Path, code: str = "tool-failed") -> Argv:
    """Run one command of a plan with its tool's full path; the argv as planned. Raises ProblemError."""
    path = find_tool(argv[0])
    if path is None:
        raise fail("missing-tool", f"{argv[0]} is not installed", place=argv[0], exit=Exit.BUILD_FAILED)
    try:
        # A runner that dies leaves its children behind: they are known by this folder.
        run((path, *argv[1:]), cwd=cwd)
    except ToolStuck as error:
        raise ProblemError(stuck(name_of(argv), error)) from error
    except ToolError as error:
        raise fail(code, f"{argv[0]} failed: {clean(error.reason)[:400]}", place=argv[-1], exit=Exit.BUILD_FAILED,
                   remedy="Look at dmesg.") from error  # fmt: skip
    return argv


def insist(fd: int, point: str) -> Mounted:
    """The mount behind an open folder, which must still be the one on `point`. Raises ProblemError (`mount`)."""
    match = [line for line in (read_text(f"/proc/self/fdinfo/{fd}") or "").splitlines() if line.startswith("mnt_id:")]
    number = int(match[0].split()[1]) if match else -1
    top = at(point)
    if not top or top[-1].id != number:
        raise fail("mount", f"{point} is not the filesystem any more that was mounted there", place=point,
                   remedy="Somebody unmounted it or mounted over it.", exit=Exit.INVALID)  # fmt: skip
    return top[-1]


def open_root(point: str) -> int:
    """The root of what is mounted on `point`; held open, it cannot be unmounted. Raises ProblemError (`mount`)."""
    try:
        fd = os.open(point, FOLDER_FLAGS)
    except OSError as error:
        raise fail("mount", f"{point} cannot be opened: {error.strerror}", place=point, exit=Exit.INVALID) from error
    try:
        insist(fd, point)
    except BaseException:
        os.close(fd)
        raise
    return fd


def unmount(name: str, is_ours: Callable[[Mounted], bool], *, cwd: Path) -> tuple[Argv, ...]:
    """Unmount every one of ours from its place, in our namespace; what was executed.

    Never by force, never lazily. Raises ProblemError (`mount-busy`, exit 6) with who uses it.
    """
    point, until, ran = point_of(name), 0.0, []
    while found := at(point):
        if not is_ours(found[-1]):
            raise fail("mount-busy", f"what is mounted on {point} is not this run's", place=point,
                       remedy="Unmount it, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip
        try:
            ran.append(tool(unmount_argv(name), cwd=cwd))
        except ProblemError as error:
            until = until or time.monotonic() + BUSY_PATIENCE_S
            if error.problems[0].code == "stuck" or time.monotonic() > until:
                users = "; ".join(users_of(point)) or error.problems[0].message
                raise fail("mount-busy", f"{point} cannot be unmounted: {users}", place=point,
                           remedy="End that use, then: raidtui recover", exit=Exit.LEFT_BEHIND) from error  # fmt: skip
            time.sleep(0.3)
    return tuple(ran)


def remove_point(name: str) -> None:
    """Remove the empty folder, once nobody has anything mounted on it: the kernel would unmount that, lazily."""
    with suppress(OSError):  # what is not empty is not ours to remove
        Path(point_of(name)).rmdir()


def unmount_for(pid: str, name: str, *, cwd: Path) -> tuple[Argv, ...]:
    """Unmount it in the mount namespace of this process: one that a dead runner left behind with a daemon that it started.

    What was executed; nothing where it could not be unmounted.
    """
    nsenter = ("nsenter", f"--target={pid}", "--mount", *unmount_argv(name))
    try:
        return (tool(nsenter, cwd=cwd),)
    except ProblemError:
        return ()


def users_of(point: str) -> list[str]:
    """Which processes use a mount, in words, as far as they see it where we do."""
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
    """Where a device's filesystem is mounted, in words: in our namespace, and in those of other processes."""
    devno = Path(path).stat().st_rdev
    ours = [(mount.devno, mount.source, mount.point, "") for mount in read()]
    others = [(mount.devno, mount.source, mount.point, f" for {mount.namespace}") for mount in read_other_mounts()]
    return [
        f"it is mounted on {clean(point)}{clean(whose)}"
        for number, source, point, whose in (*ours, *others)
        if number == devno or source == path
    ]
