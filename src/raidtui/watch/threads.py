"""CPU time of the kernel's own threads, by name: what md, ZFS, device-mapper and the filesystems cost beside the workload.

All threads are read every 10 s; in between, once a second, those that work for storage or were busy.
The format is that of the kernel's Documentation/filesystems/proc.rst, /proc/PID/stat.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.model.host import OTHERS

LIST_EVERY_S: Final = 10.0
MOST_WATCHED: Final = 128
"""Largest number of threads read every second; if more qualify, the busiest (ZFS has hundreds, most of them idle)."""
_BUSY_TICKS: Final = 5
_KERNEL_THREAD: Final = 0x00200000
"""PF_KTHREAD of include/linux/sched.h."""
_BLOCK_LAYER: Final = "nvme|scsi|loop|kblockd|flush-|writeback|blk"
_WORKER: Final = re.compile(r"kworker/(?:R|[^-+]*)(?:[-+](.*))?")


class _Stat(NamedTuple):
    name: str
    flags: int
    ticks: int


class Threads:
    """Sums the CPU time of kernel threads by name; ended threads stay in the sum."""

    def __init__(
        self, layers: Iterable[str] = (), procfs: Path = Path("/proc"), clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`layers`: regular expressions for the names of threads that work for storage layers (`Layer.threads`)."""
        self._storage = storage_threads(layers)
        self._procfs = str(procfs)
        self._clock = clock
        self._ms_per_tick = 1000 / os.sysconf("SC_CLK_TCK")
        self._ticks: dict[str, int] = {}
        """CPU time of each kernel thread at the last look, by its number."""
        self._strangers: set[str] = set()
        """Numbers of processes that are no kernel threads."""
        self._watched: dict[str, int] = {}
        """Open stat files."""
        self._sums: dict[str, float] = {}
        self._told: dict[str, int] = {}
        self._labels: dict[str, str] = {}
        self._listed_s: float | None = None

    def news(self, *, whole: bool = False) -> dict[str, int]:
        """Return the CPU time by name in ms, of the names where it changed since the last call; with `whole`, of all."""
        now_s = self._clock()
        if self._listed_s is None or now_s - self._listed_s >= LIST_EVERY_S:
            self._list()
            self._listed_s = now_s
        else:
            for pid, fd in list(self._watched.items()):
                self._look(pid, fd)
        sums = {name: round(ms) for name, ms in self._sums.items() if ms}
        changed = {name: ms for name, ms in sums.items() if whole or self._told.get(name) != ms}
        self._told = sums
        return changed

    def list_soon(self) -> None:
        """Call after something was built: the next `news` looks for its threads."""
        self._listed_s = None

    def close(self) -> None:
        """Let go of the files."""
        for fd in self._watched.values():
            os.close(fd)
        self._watched.clear()

    def _list(self) -> None:
        """Look at every kernel thread once, and choose which of them to look at until the next time."""
        try:
            with os.scandir(self._procfs) as entries:
                pids = {entry.name for entry in entries if entry.name.isdigit()}
        except OSError:
            return
        self._strangers &= pids
        for pid in self._ticks.keys() - pids:
            self._forget(pid)
        ranked = sorted(self._rank(pids), reverse=True)[:MOST_WATCHED]
        wanted = {pid for _, pid in ranked}
        for pid in self._watched.keys() - wanted:
            os.close(self._watched.pop(pid))
        for pid in wanted - self._watched.keys():
            try:
                self._watched[pid] = os.open(f"{self._procfs}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._forget(pid)

    def _rank(self, pids: set[str]) -> Iterator[tuple[int, str]]:
        """The threads worth looking at every second, with what they used since the last listing."""
        for pid in pids - self._strangers:
            before = self._ticks.get(pid)
            found = self._look(pid, None)
            if found is None:
                continue
            used = found.ticks - before if before is not None else 0
            if used >= _BUSY_TICKS or (self._label(found.name) != OTHERS and not found.name.startswith("kworker/")):
                yield used, pid

    def _look(self, pid: str, fd: int | None) -> _Stat | None:
        """Read one thread and add what it used to its name's sum; None where it is gone, or no kernel thread."""
        try:
            found = _read(f"{self._procfs}/{pid}/stat", fd)
        except (OSError, ValueError, IndexError):
            self._forget(pid)
            return None
        if not found.flags & _KERNEL_THREAD:
            self._strangers.add(pid)
            self._forget(pid)
            return None
        used = found.ticks - self._ticks.get(pid, found.ticks)
        self._ticks[pid] = found.ticks
        # CPU time used before the first look cannot be assigned to a second.
        if used > 0 and pid in self._watched:
            label = self._label(found.name)
            self._sums[label] = self._sums.get(label, 0.0) + used * self._ms_per_tick
        return found

    def _forget(self, pid: str) -> None:
        self._ticks.pop(pid, None)
        if (fd := self._watched.pop(pid, None)) is not None:
            os.close(fd)

    def _label(self, name: str) -> str:
        if name not in self._labels:
            if len(self._labels) > 4096:
                self._labels.clear()
            self._labels[name] = label_of(name, self._storage)
        return self._labels[name]


class Used(NamedTuple):
    """CPU that one thread of the kernel used since it began."""

    name: str
    ms: float


def look_once(procfs: Path = Path("/proc")) -> dict[str, Used]:
    """Return the CPU times of all kernel threads, by number, so that two looks can be compared thread by thread."""
    ms_per_tick = 1000 / os.sysconf("SC_CLK_TCK")
    found = {}
    for folder in procfs.iterdir():
        if folder.name.isdigit():
            try:
                stat = _read(f"{folder}/stat", None)
            except (OSError, ValueError, IndexError):
                continue
            if stat.flags & _KERNEL_THREAD:
                found[folder.name] = Used(stat.name, stat.ticks * ms_per_tick)
    return found


def busiest(before: Mapping[str, Used], after: Mapping[str, Used], span_s: float) -> dict[str, float]:
    """Return the share of one core in percent of the busiest thread of each name, the largest first.

    Below 1 % is left out; threads that ended in between are not seen.
    """
    shares: dict[str, float] = {}
    for pid, used in after.items():
        ms = used.ms - before[pid].ms if pid in before else used.ms
        if span_s > 0 and (share := round(ms / (10 * span_s), 1)) >= 1:
            worker = _WORKER.fullmatch(used.name)
            name = f"kworker/{worker.group(1) or ''}".rstrip("/") if worker else used.name
            shares[name] = max(share, shares.get(name, 0.0))
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def storage_threads(layers: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern for names of threads that work for storage: the kernel's block layer, and these layers."""
    return re.compile("|".join((_BLOCK_LAYER, *filter(None, layers))))


def label_of(name: str, storage: re.Pattern[str]) -> str:
    """Return the name under which a thread is summed: a worker by its queue; `others` if it does not work for storage."""
    worker = _WORKER.fullmatch(name)
    what = (worker.group(1) or "") if worker else name
    if not storage.match(what):
        return OTHERS
    return f"kworker/{what}" if worker else name


def _read(path: str, fd: int | None) -> _Stat:
    """Read a stat file, open or by its path. Raises OSError, ValueError or IndexError."""
    if fd is None:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = os.pread(fd, 1024, 0)
        finally:
            os.close(fd)
    else:
        text = os.pread(fd, 1024, 0)
    head, _, tail = text.rpartition(b")")
    fields = tail.split()
    name = head.partition(b"(")[2].decode("utf-8", "backslashreplace")
    return _Stat(name, int(fields[6]), int(fields[11]) + int(fields[12]))
