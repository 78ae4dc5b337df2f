"""Disks that appear, disappear or change, as udev reports it, and changes of their users, found by comparing `glance`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from raidtui.base.text import clean
from raidtui.inventory import stacked
from raidtui.inventory.blocks import SYS, is_root
from raidtui.inventory.mounts import PROC
from raidtui.inventory.openers import read_openers
from raidtui.inventory.udev import udevd_runs
from raidtui.inventory.waiting import Pace, bounded, scan_alone

QUIET_S = 0.3
"""A disk that appears sends several events; they are reported after so long without another one."""
LONGEST_S = 3.0
"""Longest delay of an event, however many follow it."""
_GLANCE_EVERY_S = 0.9
_OPENERS_EVERY_S = 5.0
_OPENERS_TIMEOUT_S = 10.0
"""A process may have a file of a dead server open, which never answers."""
_SHARE = 0.001
"""Largest share of all CPUs for each kind of look; with very many processes or devices looks become rarer."""


class Change(NamedTuple):
    """A change of one disk, or of the users of disks."""

    action: str
    """`add`, `remove` or `change`; `use` if a use of a disk began or ended."""
    name: str
    """Name of the disk; for `use` the kind of user: a field of `Glance`, `open files`, or `runs`."""


def watch(
    runs: Callable[[], object] = lambda: None, busy: Callable[[], bool] = lambda: False, *, tick_s: float = 1.0
) -> Generator[tuple[Change, ...], bool | None]:
    """Yield the changes of whole disks and of their users, several at a time, only the last action of each disk.

    The first tuple is empty and comes at once: later changes are reported. After `tick_s` without a change an empty tuple
    is yielded, so that the caller can do other things or stop. `runs` returns a value that differs whenever a run began or
    ended. While `busy`, open files are not examined: a run opens and closes its disks with every cell. A caller that has
    scanned since the last changes sends True: users are examined first then, so that a use that ended during the scan is
    noticed. Raises OSError if udev's events cannot be received.
    """
    import pyudev  # here: simulated servers run where it is not installed

    monitor = pyudev.Monitor.from_netlink(pyudev.Context(), source="udev" if udevd_runs() else "kernel")
    monitor.filter_by("block", "disk")
    monitor.start()
    users = _Users(runs, busy)
    scanned = yield users.changes()
    gathered: dict[str, Change] = {}
    first = 0.0
    while True:
        if scanned and (found := users.changes(at_once=True)):
            scanned = yield found
            continue
        change = _next(monitor, QUIET_S if gathered else tick_s)
        if change is not None:
            first = first if gathered else time.monotonic()
            gathered[change.name] = change
            if time.monotonic() - first < LONGEST_S:
                scanned = False
                continue
        scanned = yield (*gathered.values(), *users.changes())
        gathered.clear()


class _Users:
    """The users of disks at the last look."""

    def __init__(self, runs: Callable[[], object], busy: Callable[[], bool]) -> None:
        self._sources: tuple[tuple[Pace, Callable[[], dict[str, object]]], ...] = (
            (Pace(_GLANCE_EVERY_S, _SHARE), lambda: {**glance()._asdict(), "runs": runs()}),
            (Pace(_OPENERS_EVERY_S, _SHARE), lambda: {} if busy() else {"open files": _openers()}),
        )
        self._seen: dict[str, object] = {}

    def changes(self, *, at_once: bool = False) -> tuple[Change, ...]:
        """Examine the sources that are due and return what changed. `at_once`: the cheap source is due."""
        found: dict[str, object] = {}
        for number, (pace, look) in enumerate(self._sources):
            if pace.due or (at_once and number == 0):
                before_s = time.thread_time()
                found |= look()
                pace.done(time.thread_time() - before_s)
        changed = [name for name, now in found.items() if self._seen.get(name, now) != now]
        self._seen |= found
        return tuple(Change("use", name) for name in changed)


def _openers() -> object:
    """Return who has which block device open; None if unreadable. Waits for scans, which have all devices open."""
    try:
        with scan_alone() if is_root() else nullcontext():
            found = bounded(lambda: read_openers(patience_s=0.0), _OPENERS_TIMEOUT_S, "open files, watched")
    except OSError:  # a container without the right to trace; each scan says so of every disk
        return None
    return {devno: sorted(opener.pid for opener in openers) for devno, openers in found.items()}


def _next(monitor: Any, timeout_s: float) -> Change | None:
    try:
        device = monitor.poll(timeout_s)
        if device is None:
            return None
        return Change(clean(device.action or "change"), clean(device.sys_name).replace("!", "/"))
    except UnicodeDecodeError:
        # Bytes from hardware in a property: something changed, and a new look will say what.
        return Change("change", "?")


_DISK_FILESYSTEMS = (b"btrfs", b"zfs")
"""Filesystems on disks whose device numbers belong to no block device."""
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
    """Every virtual block device with the devices below it, its device-mapper name, and the file behind a loop."""
    filesystems: Entries
    """Mounted btrfs filesystems with their devices, registered bcache sets, imported ZFS pools."""
    shares: Entries


def glance(proc: Path = PROC, sys: Path = SYS) -> Glance:
    """Return the users of disks now. Never raises: the loss of a source is a change of its kind."""
    block = sys / "class/block"
    return Glance(
        _part(lambda: _mounts(proc / "self/mountinfo")),
        _part(lambda: _foreign_mounts(proc)),
        _part(lambda: _swaps(proc / "swaps")),
        _part(lambda: _arrays(proc / "mdstat")),
        _part(lambda: ((name,) for name in _names(block))),
        _part(lambda: _stacked(sys / "devices/virtual/block")),
        _part(lambda: _filesystems(proc, sys)),
        _part(lambda: stacked.read_shares(sys=sys)),
    )


def _part(source: Callable[[], Iterable[tuple[object, ...]]]) -> Entries:
    try:
        return frozenset(source())
    except OSError as error:
        return frozenset({("unreadable", error.errno)})


def _mounts(path: Path) -> Iterator[tuple[object, ...]]:
    """The mounts that may stand on a block device.

    Not by `parse_mountinfo`: this runs once a second for every namespace, and only differences matter.
    """
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
    """Return the sorted names in a folder; empty if there is no such folder."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - a quarter of what a Path for each name costs
    except (FileNotFoundError, NotADirectoryError):
        return []


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
