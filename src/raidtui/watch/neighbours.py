"""Processes outside the run during a cell, by psutil: CPU, bytes written, and the disks that they held open for writing.

The kernel adds the work of an ended process to its parent, once that has waited for it (proc(5), `cutime`; getrusage(2)):
what began and ended between two looks is found at its parent. A process's bytes are not divided by device: `OpenFiles`
finds the devices that it holds open for writing.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from raidtui.base.attention import descendants
from raidtui.base.paths import ENTRY
from raidtui.inventory.waiting import Pace
from raidtui.model.host import Neighbour
from raidtui.watch.daemons import kind_of
from raidtui.watch.open_files import OpenFiles

LOOK_EVERY_S: Final = 5.0
LOOK_SHARE: Final = 0.001
"""Share of all CPUs that looks at all processes may cost."""
MOST_NEIGHBOURS: Final = 8
"""Processes that a cell names, the busiest; those that wrote with a disk of the run open for writing are all named."""
_LEAST_CORES: Final = 0.02
"""Mean number of cores below which a process is left out if it also wrote less than `_LEAST_BYTES`."""
_LEAST_BYTES: Final = 1 << 16
"""Bytes written in the whole cell below which a process is left out if it also used less than `_LEAST_CORES`."""
_KTHREADD: Final = 2


class Seen(NamedTuple):
    """Counters of one foreign process at one look."""

    name: str
    parent: int
    began_s: float
    cpu_s: float
    children_s: float
    """CPU time of its children that ended."""
    written_bytes: int
    """With those of its children that ended."""
    daemon: str = ""


class Sums:
    """Sums what each foreign process used from look to look; those of the first look begin at zero."""

    def __init__(self) -> None:
        self._before: Mapping[int, Seen] | None = None
        self._first_s = 0.0
        """Start of the youngest process of the first look."""
        self._cpu_s: dict[tuple[int, float], float] = defaultdict(float)
        self._children_s: dict[tuple[int, float], float] = defaultdict(float)
        self._written: dict[tuple[int, float], int] = defaultdict(int)
        self._seen: dict[tuple[int, float], Seen] = {}
        self._devices: dict[tuple[int, float], set[str]] = defaultdict(set)

    def add(self, seen: Mapping[int, Seen], devices_of: Callable[[int], frozenset[str]]) -> None:
        """Take the next look. `devices_of`: disks that a process holds open for writing, asked of those that wrote."""
        if self._before is None:
            self._before, self._first_s = seen, max((one.began_s for one in seen.values()), default=0.0)
        before = self._before
        ended_s: dict[int, float] = defaultdict(float)
        ended_bytes: dict[int, int] = defaultdict(int)
        for pid, then in before.items():
            if not _same(seen.get(pid), then):
                heir = _heir(then.parent, before, seen)
                ended_s[heir] += then.cpu_s + then.children_s
                ended_bytes[heir] += then.written_bytes
        for pid, now in seen.items():
            then = before.get(pid, now)
            if not _same(then, now) or (pid not in before and now.began_s >= self._first_s):
                then = Seen(now.name, now.parent, now.began_s, 0.0, 0.0, 0)
            key = (pid, now.began_s)
            own_s, children_s = now.cpu_s - then.cpu_s, now.children_s - then.children_s - ended_s[pid]
            written = now.written_bytes - then.written_bytes - ended_bytes[pid]
            self._seen[key] = now
            self._cpu_s[key] += max(0.0, own_s) + max(0.0, children_s)
            self._children_s[key] += max(0.0, children_s)
            self._written[key] += max(0, written)
            if written > 0:
                self._devices[key] |= devices_of(pid)
        self._before = seen

    def neighbours(self, span_s: float, disks: Mapping[str, str], beside: Mapping[str, int]) -> tuple[Neighbour, ...]:
        """Return all processes that wrote with a disk of the run open for writing, then those that used most.

        `disks`: ids of the run's disks by kernel name; `beside`: bytes written to other disks of the same controller.
        """
        found = []
        for (pid, began_s), cpu_s in self._cpu_s.items():
            cores, written = cpu_s / span_s if span_s > 0 else 0.0, self._written[pid, began_s]
            devices = self._devices[pid, began_s]
            writes_to_run = written > 0 and not devices.isdisjoint(disks)
            if cores < _LEAST_CORES and written < _LEAST_BYTES and not writes_to_run:
                continue
            found.append(
                Neighbour(
                    pid=pid,
                    name=self._seen[pid, began_s].name,
                    cores=round(cores, 3),
                    written_bytes=written,
                    own_disks=tuple(sorted(disks[name] for name in devices if name in disks)),
                    beside=tuple(sorted(name for name in devices if name in beside)),
                    unknown_disks=bool(written and not devices),
                    of_children=self._children_s[pid, began_s] > cpu_s / 2,
                    daemon=self._seen[pid, began_s].daemon,
                )
            )
        found.sort(key=lambda one: (not one.own_disks, not one.beside, -one.cores, -one.written_bytes))
        writers = sum(bool(one.own_disks) for one in found)
        return tuple(found[: max(writers, MOST_NEIGHBOURS)])


def _same(one: Seen | None, other: Seen) -> bool:
    """Return True if both are the same process, not a later one with its number."""
    return one is not None and one.began_s == other.began_s


def _heir(pid: int, before: Mapping[int, Seen], seen: Mapping[int, Seen]) -> int:
    """Return the nearest ancestor that did not end: it has the work of all that ended below it."""
    while pid in before and not _same(seen.get(pid), before[pid]):
        pid = before[pid].parent
    return pid


class Others:
    """Looks at all processes but the kernel's threads, raidtui's own and the workload's."""

    def __init__(self, psutil: Any, kinds: Mapping[str, str]) -> None:
        """`kinds`: daemons that serve the layout, by name of the executable."""
        self.sums = Sums()
        self._daemons = kinds
        self.engines_s = 0.0
        """CPU time of raidtui's engines between the first look and the last."""
        self._psutil = psutil
        self._open_files = OpenFiles()
        self._kernel: set[int] = set()
        self._ours: set[int] = set()
        self._known_words: dict[tuple[int, float], bool] = {}
        self._engines: dict[tuple[int, float], float] = {}
        self._pace = Pace(LOOK_EVERY_S, LOOK_SHARE)

    @property
    def due(self) -> bool:
        """True once it is time for the next look."""
        return self._pace.due

    def look(self) -> None:
        """Look at all processes."""
        began_s = time.thread_time()
        self.sums.add(self._foreign(), self._open_files.disks)
        self._pace.done(time.thread_time() - began_s)

    def _foreign(self) -> dict[int, Seen]:
        """Return all processes but the kernel's threads and the run's own."""
        self._ours |= {os.getpid(), *descendants(os.getpid())}
        pids = set(self._psutil.pids())
        self._kernel &= pids
        self._ours &= pids
        found = {}
        for pid in sorted(pids - self._kernel - self._ours):
            try:
                process = self._psutil.Process(pid)
                with process.oneshot():
                    seen = self._seen(process)
                if seen and not self._is_engine(process, seen):
                    found[pid] = seen
            except (self._psutil.Error, OSError, RuntimeError):
                continue
        return found

    def _seen(self, process: Any) -> Seen | None:
        """Read one process; None for a thread of the kernel."""
        parent, name = process.ppid() or 0, process.name()
        if _KTHREADD in (process.pid, parent) and (parent == _KTHREADD or name == "kthreadd"):
            self._kernel.add(process.pid)
            return None
        cpu = process.cpu_times()
        try:
            written = process.io_counters().write_bytes
        except self._psutil.AccessDenied:  # without root
            written = 0
        began_s = process.create_time()
        daemon = kind_of(process.exe(), self._daemons) if self._daemons else None
        ended_s = cpu.children_user + cpu.children_system
        return Seen(name, parent, began_s, cpu.user + cpu.system, ended_s, written, daemon or "")

    def _is_engine(self, process: Any, seen: Seen) -> bool:
        """Return True for an engine of raidtui, which passes on the run's events: it counts as raidtui's own."""
        if not seen.name.startswith(("python", "raidtui")):
            return False
        key = (process.pid, seen.began_s)
        if key not in self._known_words:
            self._known_words[key] = runs_engine(process.cmdline())
        if self._known_words[key]:
            self.engines_s += max(0.0, seen.cpu_s - self._engines.get(key, seen.cpu_s))
            self._engines[key] = seen.cpu_s
        return self._known_words[key]


def runs_engine(words: Sequence[str]) -> bool:
    """Return True if this command line starts an engine of raidtui."""
    return any(
        second == "engine" and (first == str(ENTRY) or os.path.basename(first) in ("raidtui", "__main__.py"))  # noqa: PTH119
        for first, second in itertools.pairwise(words)
    )
