"""Block devices by kernel name or path: their numbers, users and first bytes."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from raidtui.base.files import read_text
from raidtui.inventory import ioctl
from raidtui.inventory.blocks import parse_devno
from raidtui.inventory.mounts import read_own_mounts
from raidtui.inventory.openers import read_openers

SYS_BLOCK: Final = Path("/sys/class/block")
BLOCK: Final = 4096


def users_of(node: str) -> list[str]:
    """Return the users of a block device as sentences: mounts, devices above, processes."""
    number = devno(node)
    users = [f"{mount.point} is mounted from it" for mount in read_own_mounts() if mount.devno == number]
    holders = SYS_BLOCK / node / "holders"
    users += [f"{path.name} is built on it" for path in (sorted(holders.iterdir()) if holders.is_dir() else ())]
    openers = read_openers().get(number, ()) if number is not None else ()
    return users + [f"pid {opener.pid} ({opener.command}) has it open" for opener in openers]


def is_suspended(node: str) -> bool:
    """Return True if device-mapper has suspended the device or one below: a reader would wait and keep it open."""
    if read_text(SYS_BLOCK / node / "dm/suspended") == "1":
        return True
    below = SYS_BLOCK / node / "slaves"
    return any(is_suspended(path.name) for path in (below.iterdir() if below.is_dir() else ()))


def devno(node: str) -> int | None:
    """Return the device number of a block device."""
    return parse_devno(read_text(SYS_BLOCK / node / "dev") or "")


def read_blocks(path: str, places: Callable[[int], Iterable[tuple[str, int]]]) -> list[tuple[str, int, bytes]]:
    """Return name, byte offset and 4 KiB for each place on a device, read past all caches; less at the device's end.

    `places` returns names and offsets, given the size of the device in bytes. Raises OSError.
    """
    # The kernel writes superblocks past the page cache, so that a cached read may return old data.
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        with mmap.mmap(-1, BLOCK) as buffer:
            return [(name, at, buffer[: os.preadv(fd, [buffer], at)]) for name, at in places(ioctl.size_bytes(fd))]
    finally:
        os.close(fd)


def running(*programs: str) -> list[tuple[int, list[str]]]:
    """Return pid and arguments of every process of these programs."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            argv = os.fsdecode(path.read_bytes()).split("\0")
        except OSError:
            continue
        if argv[0].rpartition("/")[2] in programs:
            found.append((int(path.parent.name), argv))
    return found
