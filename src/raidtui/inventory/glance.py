"""A cheap look at who uses disks: its parts are compared with those of the look before, and say when a scan is due."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from raidtui.inventory import others
from raidtui.inventory.blocks import SYS
from raidtui.inventory.mounts import PROC

_DISK_FILESYSTEMS = (b"btrfs", b"zfs")
"""They stand on disks, and the kernel gives them numbers that no block device has."""

Entries = frozenset[tuple[object, ...]]


class Glance(NamedTuple):
    """Users of disks at one moment. Sizes, states and progress are left out: they change while nothing else does."""

    mounts: Entries
    """Mounts of raidtui's own namespace: device number, mount point, filesystem, source."""
    foreign_mounts: Entries
    """Mounts of all other namespaces together: a container that begins or ends as others did changes nothing."""
    swaps: Entries
    arrays: Entries
    """The line of every md array in /proc/mdstat: its state, its members, and which of them are faulty or spare."""
    devices: Entries
    """Names of all block devices."""
    stacked: Entries
    """Every virtual block device with the devices below it, its device-mapper name, the file behind a loop."""
    filesystems: Entries
    """Mounted btrfs filesystems with their devices, registered bcache sets, imported ZFS pools."""
    shares: Entries


def glance(proc: Path = PROC, sys: Path = SYS) -> Glance:
    """Take it. Never raises: a source that cannot be read is a part of its own kind, so that its loss is a change."""
    block = sys / "class/block"
    return Glance(
        _part(lambda: _mounts(proc / "self/mountinfo")),
        _part(lambda: _foreign_mounts(proc)),
        _part(lambda: _swaps(proc / "swaps")),
        _part(lambda: _arrays(proc / "mdstat")),
        _part(lambda: ((name,) for name in _names(block))),
        _part(lambda: _stacked(sys / "devices/virtual/block")),
        _part(lambda: _filesystems(proc, sys)),
        _part(lambda: others.read_shares(sys=sys)),
    )


def _part(source: Callable[[], Iterable[tuple[object, ...]]]) -> Entries:
    try:
        return frozenset(source())
    except OSError as error:
        return frozenset({("unreadable", error.errno)})


def _mounts(path: Path) -> Iterator[tuple[object, ...]]:
    """The mounts that may stand on a block device."""
    for line in path.read_bytes().split(b"\n"):
        front, _, back = line.partition(b" - ")
        fields, tail = front.split(b" ", 5), back.split(b" ", 2)
        if len(fields) < 5 or len(tail) < 2:
            continue
        on_block_device = not fields[2].startswith(b"0:") or tail[1].startswith(b"/dev/")
        if on_block_device or tail[0] in _DISK_FILESYSTEMS:
            yield fields[2], fields[4], tail[0], tail[1]


def _foreign_mounts(proc: Path) -> Iterator[tuple[object, ...]]:
    seen = {str((proc / "self/ns/mnt").readlink())}
    for pid in filter(str.isdecimal, _names(proc)):
        try:
            namespace = os.readlink(f"{proc}/{pid}/ns/mnt")  # noqa: PTH115 - once for every process, every second
            if namespace not in seen:
                yield from tuple(_mounts(proc / pid / "mountinfo"))
        except OSError:
            continue  # the process ended, or is not ours to see; another one may be in the same namespace
        seen.add(namespace)


def _swaps(path: Path) -> Iterator[tuple[object, ...]]:
    return (tuple(line.split()[:2]) for line in path.read_bytes().split(b"\n")[1:] if line.strip())


def _arrays(path: Path) -> Iterator[tuple[object, ...]]:
    if not path.exists():
        return iter(())
    return ((line,) for line in path.read_bytes().split(b"\n") if line.startswith(b"md"))


def _stacked(folder: Path) -> Iterator[tuple[object, ...]]:
    for name in _names(folder):
        own = {"dm-": "dm/name", "loo": "loop/backing_file"}.get(name[:3])
        yield name, *_names(folder / name / "slaves"), _text(folder / name / own) if own else b""


def _filesystems(proc: Path, sys: Path) -> Iterator[tuple[object, ...]]:
    for name in _names(sys / "fs/btrfs"):
        yield "btrfs", name, *_names(sys / "fs/btrfs" / name / "devices")
    for name in _names(sys / "fs/bcache"):
        yield "bcache", name
    for name in _names(proc / "spl/kstat/zfs"):
        yield "zfs", name


def _names(folder: Path) -> list[str]:
    """Sorted names in a folder; empty where there is no such folder."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - a quarter of what a Path for each name costs
    except (FileNotFoundError, NotADirectoryError):
        return []


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
