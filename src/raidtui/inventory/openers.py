"""Processes that have a disk or one of its partitions open: virtual machines, databases, dd."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from raidtui.inventory.mounts import PROC, command, pids
from raidtui.inventory.reasons import reason
from raidtui.model.disk import Reason

if TYPE_CHECKING:
    from raidtui.inventory.census import Census

_UDEV_PROGRAMS = frozenset({"systemd-udevd", "udevadm", "udevd"})
UDEV_PATIENCE_S = 15.0
"""How long the programs of udev's rules are waited for: each looks at a disk for a moment whenever it changed."""
_LOOK_EVERY_S = 0.2
_NOT_FILES = ("socket:[", "pipe:[", "anon_inode:", "/proc/", "/sys/", "/memfd:", "/dev/null", "/dev/pts/", "/dev/tty")


class Opener(NamedTuple):
    """A process that has a block device open."""

    pid: int
    command: str


def read_openers(
    proc: Path = PROC, ours: Collection[int] = (), patience_s: float = UDEV_PATIENCE_S
) -> dict[int, tuple[Opener, ...]]:
    """Device number → who has it open, without this process, `ours`, and udev, which looks at every disk that changes.

    Programs that udev started, such as probe-bcache, are waited for: they end by themselves, and until then may be about to
    make something of the disk.
    """
    until = time.monotonic() + patience_s
    while True:
        found: dict[int, dict[int, Opener]] = {}
        udevs = False
        skipped = {os.getpid(), *ours}
        for pid in pids(proc):
            if int(pid) in skipped:
                continue
            devices = _open_block_devices(proc / pid / "fd")
            if devices and not _is_udev(pid, proc):
                opener = Opener(int(pid), command(pid, proc))
                udevs |= _is_udev(_parent(pid, proc), proc)
                for devno in devices:
                    found.setdefault(devno, {})[opener.pid] = opener
        if not udevs or time.monotonic() >= until:
            return {devno: tuple(openers.values()) for devno, openers in found.items()}
        time.sleep(_LOOK_EVERY_S)


def _open_block_devices(folder: Path) -> set[int]:
    try:
        paths = list(folder.iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return set()
    devices = set()
    for path in paths:
        try:
            # Most descriptors are sockets and pipes; a stat of a file on a dead NFS server would never come back.
            if str(path.readlink()).startswith(_NOT_FILES):
                continue
            info = path.stat()
        except OSError:
            continue
        if stat.S_ISBLK(info.st_mode):
            devices.add(info.st_rdev)
    return devices


def _is_udev(pid: str, proc: Path) -> bool:
    """By the program file, not by the name that a process gives itself."""
    try:
        return bool(pid) and (proc / pid / "exe").readlink().name in _UDEV_PROGRAMS and (proc / pid).stat().st_uid == 0
    except OSError:
        return False


def _parent(pid: str, proc: Path) -> str:
    """The process that started it; empty when it is gone."""
    try:
        # The command's name is in brackets and may hold anything, brackets too.
        return (proc / pid / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
    except (OSError, IndexError):
        return ""


def check_openers(disk: str, census: Census) -> Iterator[Reason]:
    for node in census.blocks.family(disk):
        for opener in census.openers.get(node.devno, ()):
            text = f"{node.name} is open in pid {opener.pid} ({opener.command})"
            yield reason("open", text, f"end pid {opener.pid} ({opener.command})")
