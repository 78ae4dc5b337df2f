"""Processes during a cell, by psutil: the workload's, raidtui's own, and whatever else runs on the server.

The workload's processes are read every second; all others when a cell begins and ends, and rarely in between, since reading
hundreds of processes costs more than a sample of all devices. psutil is imported when a cell begins, and by no front end.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import resource
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from raidtui.base.attention import descendants
from raidtui.model.host import HostUse, ProcessUse, WorkloadUse
from raidtui.watch.neighbours import Others
from raidtui.watch.open_files import same_root_port
from raidtui.watch.sampler import next_tick

MOST_THREADS: Final = 128
"""Threads of a workload that are read every second; of workloads with more, threads and context switches stay unknown."""
WORKING_SHARE: Final = 0.2
"""A thread works if it used this share of what the busiest thread used; others (fio's first thread) only wait for them."""
_LEAST_LIFE_S: Final = 0.9
_STOP_GRACE_S: Final = 5.0


NOT_INSTALLED: Final = (
    "psutil is not installed (apt install python3-psutil): cells do not say what else ran on the server"
)


def installed() -> bool:
    """Return True if psutil is there, without importing it."""
    return importlib.util.find_spec("psutil") is not None


class _Last(NamedTuple):
    """Counters of one process of the workload when it was last read."""

    user_s: float
    system_s: float
    read_bytes: int
    written_bytes: int


class _Life(NamedTuple):
    """CPU time of a thread when it was first and last read, and at which times."""

    first_s: float
    first_at_s: float
    cpu_s: float
    at_s: float


_RATES: Final = ("user_cores", "system_cores", "read_bytes_per_s", "written_bytes_per_s", "context_switches_per_s")


class Workload:
    """Second by second, the processes that the runner started since the cell began."""

    def __init__(self, psutil: Any, helpers: Sequence[int]) -> None:
        """`helpers`: processes of the runner that are no part of the workload, as the builder."""
        self._psutil = psutil
        self._helpers = frozenset(helpers)
        self._processes: dict[int, Any] = {}
        self._threads: dict[int, Any] = {}
        self._last: dict[int, _Last] = {0: _Last(0.0, 0.0, 0, 0)}
        self._switches: dict[int, int] = {}
        self._lives: dict[int, _Life] = {}
        self._sums: tuple[float, ...] = (0.0,) * len(_RATES)
        self._began_s = self._at_s = time.monotonic()
        self.memory_max_bytes = 0
        self.at_s: list[float] = []
        self.series: dict[str, list[float | None]] = {name: [] for name in (*_RATES, "memory_bytes")}

    def sample(self) -> None:
        """Read the processes once more."""
        now_s, memory = time.monotonic(), 0
        for pid in descendants(os.getpid()):
            if pid not in self._helpers:
                memory += self._process(pid, now_s)
        sums = (*map(sum, zip(*self._last.values(), strict=True)), sum(self._switches.values()))
        span_s = now_s - self._at_s
        for name, before, after in zip(_RATES, self._sums, sums, strict=True):
            rate = (after - before) / span_s if span_s > 0 and memory else None
            unknown = name == "context_switches_per_s" and not self._switches
            self.series[name].append(None if rate is None or unknown else round(rate, 3))
        self.series["memory_bytes"].append(memory or None)
        self.at_s.append(round(now_s - self._began_s, 3))
        self._sums, self._at_s = tuple(sums), now_s
        self.memory_max_bytes = max(self.memory_max_bytes, memory)

    def _process(self, pid: int, now_s: float) -> int:
        """Read one process, and return the size of its memory; 0 if it has ended."""
        try:
            process = self._processes.get(pid) or self._psutil.Process(pid)
            with process.oneshot():
                cpu, memory, io = process.cpu_times(), process.memory_info(), process.io_counters()
            threads = process.threads()
        except (self._psutil.Error, OSError, RuntimeError):
            return 0
        self._processes[pid] = process
        self._last[pid] = _Last(cpu.user, cpu.system, io.read_bytes, io.write_bytes)
        if len(threads) <= MOST_THREADS:
            for thread in threads:
                self._thread(thread.id, thread.user_time + thread.system_time, now_s)
        return int(memory.rss)

    def _thread(self, tid: int, cpu_s: float, now_s: float) -> None:
        life = self._lives.get(tid, _Life(cpu_s, now_s, cpu_s, now_s))
        self._lives[tid] = life._replace(cpu_s=cpu_s, at_s=now_s)
        try:
            thread = self._threads[tid] = self._threads.get(tid) or self._psutil.Process(tid)
            self._switches[tid] = sum(thread.num_ctx_switches())
        except (self._psutil.Error, OSError, RuntimeError):
            return

    def thread_percents(self) -> list[float]:
        """Return the share of a core in percent of each thread that worked, the largest first."""
        lives = [one for one in self._lives.values() if one.at_s - one.first_at_s >= _LEAST_LIFE_S]
        percents = [100 * (one.cpu_s - one.first_s) / (one.at_s - one.first_at_s) for one in lives]
        busiest = max(percents, default=0.0)
        return sorted((round(one, 1) for one in percents if one and one >= WORKING_SHARE * busiest), reverse=True)


class _Ends(NamedTuple):
    """Counters of the server and of this process at one end of a cell."""

    at_s: float
    own: Any
    ended: Any
    """Work of the children that ended (getrusage)."""
    own_io: Any
    swap: Any
    written: Mapping[str, int]
    """Bytes written to each disk of the run's controllers that is not the run's."""
    memory_available_bytes: int
    cpu_mhz: float | None


class ProcessWatch:
    """Watches the processes of one cell, in a thread of its own between `start` and `stop`."""

    def __init__(
        self, disks: Mapping[str, str], every_s: float = 1.0, kinds: Mapping[str, str] | None = None
    ) -> None:
        """`disks`: the ids of the run's disks by kernel name; `kinds`: daemons that serve the layout, by name of the
        executable. Raises ImportError without psutil.
        """
        self._psutil = importlib.import_module("psutil")
        self._disks = disks
        self._every_s = every_s
        self._beside = same_root_port(disks)
        self._others = Others(self._psutil, kinds or {})
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="processes", daemon=True)
        self.failure = ""
        """Error that ended the thread; empty if none did."""

    def start(self) -> None:
        """Look at all processes, and begin to watch those that the runner starts from now on."""
        self._workload = Workload(self._psutil, descendants(os.getpid()))
        self._others.look()
        self._before = self._read_ends()
        self._thread.start()

    def stop(self) -> HostUse:
        """Look at all processes once more, and return what they used."""
        after = self._read_ends()
        self.close()
        if self._thread.is_alive():
            self.failure = f"a look at the processes did not end within {_STOP_GRACE_S:g} s"
        else:
            self._others.look()
        return self._use(self._before, after)

    def close(self) -> None:
        """End the thread."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_GRACE_S)

    def _run(self) -> None:
        next_s = time.monotonic()
        try:
            while not self._stopped.wait((next_s := next_tick(next_s, time.monotonic(), self._every_s)) - time.monotonic()):
                self._workload.sample()
                if self._others.due and not self._stopped.is_set():
                    self._others.look()
        except Exception as error:  # the thread's boundary: the cell says that its processes were not seen
            self.failure = f"{type(error).__name__}: {error}"

    def _read_ends(self) -> _Ends:
        psutil = self._psutil
        disks = psutil.disk_io_counters(perdisk=True, nowrap=False) or {} if self._beside else {}
        return _Ends(
            time.monotonic(),
            resource.getrusage(resource.RUSAGE_SELF),
            resource.getrusage(resource.RUSAGE_CHILDREN),
            psutil.Process().io_counters(),
            psutil.swap_memory(),
            {name: disks[name].write_bytes for name in self._beside if name in disks},
            psutil.virtual_memory().available,
            _mhz(psutil),
        )

    def _use(self, before: _Ends, after: _Ends) -> HostUse:
        span_s = after.at_s - before.at_s
        workload, percents = self._workload, self._workload.thread_percents()
        beside = {name: after.written[name] - before.written[name] for name in after.written.keys() & before.written.keys()}
        ended = _use_of(before.ended, after.ended, workload.memory_max_bytes)
        own = _use_of(before.own, after.own, self._psutil.Process().memory_info().rss)
        return HostUse(
            workload=WorkloadUse(
                **{name: getattr(ended, name) for name in ProcessUse.__struct_fields__},
                threads=len(percents),
                least_thread_percent=percents[-1] if percents else None,
                at_s=tuple(workload.at_s),
                series=workload.series,
            ),
            own=ProcessUse(
                user_s=own.user_s,
                system_s=own.system_s,
                memory_max_bytes=own.memory_max_bytes,
                # The kernel adds the bytes of ended children to those of the process that waited for them.
                read_bytes=max(0, after.own_io.read_bytes - before.own_io.read_bytes - ended.read_bytes),
                written_bytes=max(0, after.own_io.write_bytes - before.own_io.write_bytes - ended.written_bytes),
                context_switches=own.context_switches,
            ),
            engines_s=round(self._others.engines_s, 3),
            neighbours=self._others.sums.neighbours(span_s, self._disks, beside),
            beside_written_bytes={name: written for name, written in sorted(beside.items()) if written},
            swapped_in_bytes=max(0, after.swap.sin - before.swap.sin),
            swapped_out_bytes=max(0, after.swap.sout - before.swap.sout),
            swap_used_bytes=after.swap.used,
            memory_available_bytes=(before.memory_available_bytes, after.memory_available_bytes),
            cpu_mhz=(before.cpu_mhz, after.cpu_mhz) if before.cpu_mhz and after.cpu_mhz else None,
        )


def _use_of(before: Any, after: Any, memory_max_bytes: int) -> ProcessUse:
    """Return the difference of two answers of getrusage. It counts I/O in sectors of 512 bytes."""
    return ProcessUse(
        user_s=round(after.ru_utime - before.ru_utime, 3),
        system_s=round(after.ru_stime - before.ru_stime, 3),
        memory_max_bytes=memory_max_bytes,
        read_bytes=512 * (after.ru_inblock - before.ru_inblock),
        written_bytes=512 * (after.ru_oublock - before.ru_oublock),
        context_switches=after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw,
    )


def _mhz(psutil: Any) -> float | None:
    """Return the mean frequency of all cores; None where the kernel does not tell."""
    try:
        found = psutil.cpu_freq()
    except (OSError, NotImplementedError, RuntimeError):
        return None
    return round(found.current, 1) if found and found.current else None
