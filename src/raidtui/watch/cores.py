"""CPU cores of one host during a cell: both modes, softirq, the workload's processes, kernel threads of storage, daemons.

It needs /proc alone, so that hosts which only generate load need no library; daemons are seen by psutil, where it is there.
Formats: proc_stat(5), proc_pid_stat(5).
"""

from __future__ import annotations

import os
import re
import resource
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.attention import descendants
from raidtui.model.frame import CpuTimes, cpu_rates
from raidtui.model.host import OTHERS, HostCores
from raidtui.watch import daemons
from raidtui.watch.network import sent_bytes
from raidtui.watch.threads import Used, label_of, look_once, storage_threads

MOST_NAMES: Final = 8
"""Number of names of kernel threads that are kept."""
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


class _Look(NamedTuple):
    at_s: float
    cpu: CpuTimes
    """All cores together."""
    threads: Mapping[str, Used]
    workload: tuple[float, float]
    """User and system time of the workload's processes in seconds."""
    own: tuple[float, float]
    daemons: daemons.Look
    sent_bytes: int | None


class CoreWatch:
    """Counts the CPU time of this host between `start` and `stop`."""

    def __init__(self, workload: int | None = None, layers: Iterable[str] = (), procfs: Path = Path("/proc")) -> None:
        """`workload`: process that starts the workload's processes; this one, which does other work too, counts with those
        that have ended alone. `layers`: as those of `watch.threads.Threads`.
        """
        self._workload = workload
        self._storage = storage_threads(layers)
        self._procfs = procfs
        self._before: _Look | None = None
        self._kinds: Mapping[str, str] = {}

    def start(self, kinds: Mapping[str, str] | None = None) -> None:
        """Begin to count. `kinds`: daemons to count, by name of the executable (`Layer.daemons`).

        Raises OSError or ValueError where /proc cannot be read.
        """
        self._kinds = kinds or {}
        self._before = self._look()

    def stop(self) -> HostCores | None:
        """Return the cores that were used since `start`; None if no time passed. Raises as `start` does."""
        before, after = self._before, self._look()
        if before is None or (rates := cpu_rates(before.cpu, after.cpu)) is None:
            return None
        cpus, span_s = os.cpu_count() or 1, after.at_s - before.at_s
        spent = [(new - old) / span_s for old, new in zip((*before.workload, *before.own), (*after.workload, *after.own),
                                                           strict=True)]  # fmt: skip
        share = cpus / 100
        return HostCores(
            cpus=cpus,
            busy=round(rates.busy * share, 3),
            user=round((rates.user + rates.nice) * share, 3),
            system=round(rates.system * share, 3),
            softirq=round((rates.softirq + rates.irq) * share, 3),
            workload_user=round(max(0.0, spent[0]), 3),
            workload_system=round(max(0.0, spent[1]), 3),
            own_system=round(spent[3], 3),
            threads=_by_name(before.threads, after.threads, span_s, self._storage),
            daemons=daemons.used(before.daemons, after.daemons),
            sent_bytes=_difference(before.sent_bytes, after.sent_bytes),
        )

    def _look(self) -> _Look:
        line = (self._procfs / "stat").read_bytes().split(b"\n", 1)[0].split()[1:9]
        own = resource.getrusage(resource.RUSAGE_SELF)
        return _Look(
            time.monotonic(), CpuTimes(*map(int, line)), look_once(self._procfs),
            self._times() if self._workload is not None else (0.0, 0.0), (own.ru_utime, own.ru_stime),
            daemons.look(self._kinds), sent_bytes(self._procfs) if self._kinds else None,
        )  # fmt: skip

    def _times(self) -> tuple[float, float]:
        """Return user and system time of the workload's processes, with those of its processes that have ended."""
        assert self._workload is not None
        user = system = 0
        for pid in (self._workload, *descendants(self._workload)):
            try:
                fields = (self._procfs / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue  # its time is its parent's now
            own = 0 if pid == os.getpid() else 1
            user += own * int(fields[11]) + int(fields[13])
            system += own * int(fields[12]) + int(fields[14])
        return user / _TICKS_PER_S, system / _TICKS_PER_S


def _difference(before: int | None, after: int | None) -> int | None:
    """Return how far a counter went; None if it is not known, or an interface went away meanwhile."""
    return None if before is None or after is None or after < before else after - before


def _by_name(
    before: Mapping[str, Used], after: Mapping[str, Used], span_s: float, storage: re.Pattern[str]
) -> dict[str, float]:
    """Return the cores of storage's kernel threads by name, those that used most; `others` are all other kernel threads."""
    sums: dict[str, float] = {}
    for pid, used in after.items():
        ms = used.ms - before[pid].ms if pid in before else used.ms
        name = label_of(used.name, storage)
        sums[name] = sums.get(name, 0.0) + ms / (1000 * span_s)
    found = {name: round(cores, 3) for name, cores in sums.items() if cores >= 0.001}
    others = found.pop(OTHERS, 0.0)
    ranked = dict(sorted(found.items(), key=lambda item: -item[1])[:MOST_NAMES])
    return {**ranked, OTHERS: others} if others else ranked
