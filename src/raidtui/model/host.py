"""Work of the server's processes during one cell, and the server's memory and swap."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

STORAGE: Final = "storage"
"""Name of the storage server among the hosts of a cell; theirs have a number (`Host.ref`)."""
OTHERS: Final = "others"
"""Name of all kernel threads together that do not work for storage."""
KEEPS_DATA: Final = "osd"
"""Kind of the daemons of a cluster that keep its data."""


class ProcessUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """CPU, memory and I/O of some processes over one cell."""

    user_s: float = 0.0
    system_s: float = 0.0
    memory_max_bytes: int = 0
    """Largest resident memory, all of these processes together."""
    read_bytes: int = 0
    """Bytes that were fetched from devices for them, as the kernel accounts them (proc(5), `/proc/PID/io`)."""
    written_bytes: int = 0
    context_switches: int = 0
    """Voluntary and involuntary ones, of all threads."""


class WorkloadUse(ProcessUse, frozen=True, omit_defaults=True):
    """Processes of the workload: fio, dd, iozone, pg_test_fsync."""

    threads: int = 0
    """Number of threads that worked; 0 if unknown."""
    least_thread_percent: float | None = None
    """Share of one core that the least busy of them used."""
    at_s: tuple[float, ...] = ()
    """Seconds since the start of the workload of every value in `series`."""
    series: dict[str, list[float | None]] = {}
    """Every second: `user_cores`, `system_cores`, `read_bytes_per_s`, `written_bytes_per_s`, `context_switches_per_s`,
    `memory_bytes`.
    """


class Neighbour(msgspec.Struct, frozen=True, omit_defaults=True):
    """A process outside the run. It has the work of its children that ended between two looks."""

    pid: int
    name: str
    cores: float = 0.0
    """Mean number of cores that it used."""
    written_bytes: int = 0
    """To all devices together: the kernel does not count a process's bytes by device."""
    own_disks: tuple[str, ...] = ()
    """Ids of the run's disks that it held open for writing, directly or by a device or filesystem on them."""
    beside: tuple[str, ...] = ()
    """Kernel names of other disks of the same controller that it held open for writing."""
    unknown_disks: bool = False
    """True if it wrote, and held no known device open for writing when it was looked at."""
    of_children: bool = False
    """True if most of its CPU time was that of children that ended between two looks."""
    daemon: str = ""
    """Kind of the daemon, if it serves the measured layout (`Layer.daemons`)."""


class HostCpu(msgspec.Struct, frozen=True, omit_defaults=True):
    """Work of the server's processes during one cell, as far as cores are counted."""

    workload: ProcessUse = ProcessUse()
    own: ProcessUse = ProcessUse()
    """The runner."""
    engines_s: float = 0.0
    """CPU time of raidtui's engines, which pass on the run's events."""
    neighbours: tuple[Neighbour, ...] = ()
    """Processes outside the run: all that wrote with a disk of the run open for writing, then those that used most."""


def storage_cores(busy: float | None, host: HostCpu | None, seconds: float) -> float | None:
    """Return the cores that storage took: all busy ones, without the workload in user mode, raidtui and its neighbours.

    `busy`: mean number of busy cores of the server over the cell. What the workload does in system mode is storage's.
    """
    if busy is None or host is None or seconds <= 0:
        return None
    others_s = host.workload.user_s + host.own.user_s + host.own.system_s + host.engines_s
    return max(0.0, busy - others_s / seconds - sum(one.cores for one in host.neighbours if not one.daemon))


class DaemonUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """Daemons of one kind on one host during one cell."""

    processes: int
    user: float = 0.0
    """Mean number of cores in user mode."""
    system: float = 0.0
    memory_bytes: int = 0
    """Resident memory at the end of the cell."""
    read_bytes: int | None = None
    """Bytes that the kernel fetched from devices for them (proc(5), `/proc/PID/io`); None if it does not tell."""
    written_bytes: int | None = None

    @property
    def cores(self) -> float:
        return self.user + self.system


class HostCores(msgspec.Struct, frozen=True, omit_defaults=True):
    """CPU cores of one host during one cell that hosts load, or daemons serve: mean numbers of cores."""

    cpus: int
    """Number of cores that the host has."""
    busy: float
    user: float = 0.0
    """All processes in user mode."""
    system: float = 0.0
    """In kernel mode for processes and kernel threads, interrupts left out."""
    softirq: float = 0.0
    """Interrupts, soft ones included: most of what the network takes."""
    workload_user: float = 0.0
    """Processes of the workload (fio) in user mode."""
    workload_system: float = 0.0
    own_system: float = 0.0
    """raidtui in kernel mode."""
    threads: dict[str, float] = {}
    """Kernel threads that work for storage, by name (`kworker/nvmet_tcp_wq`), the busiest first; `others`: all others."""
    daemons: dict[str, DaemonUse] = {}
    """Daemons that serve the layout, by kind (`osd`, `mon`, `mgr`); without those that are not seen on this host."""
    sent_bytes: int | None = None
    """Bytes that its network interfaces and the loopback sent, without what stands on others; None if not counted."""

    @property
    def workload(self) -> float:
        """Cores of the workload's processes in both modes."""
        return self.workload_user + self.workload_system

    @property
    def storage(self) -> float:
        """Cores that storage took: the kernel's work, whoever asked for it, without raidtui's; and that of daemons."""
        return max(0.0, self.system + self.softirq - self.own_system) + sum(one.user for one in self.daemons.values())

    @property
    def serving(self) -> float:
        """Cores of the daemons in both modes."""
        return sum(one.cores for one in self.daemons.values())

    @property
    def client(self) -> float:
        """Cores of the client: the workload, with the library that it opens images by, and the kernel threads."""
        return self.workload + self.storage_threads

    @property
    def storage_threads(self) -> float:
        """Cores of the kernel threads that work for storage."""
        return sum(cores for name, cores in self.threads.items() if name != OTHERS)


def all_seen(hosts: Iterable[HostCores], up: Mapping[str, int], kinds: Collection[str]) -> bool:
    """Return True if these hosts ran all daemons of these kinds that were up in the cluster, and any.

    `up`: their number by kind; what is missing there is not known, so that nobody can tell.
    """
    seen = list(hosts)
    return bool(kinds) and all(
        0 < up.get(kind, 0) <= sum(use.processes for one in seen if (use := one.daemons.get(kind)) is not None)
        for kind in kinds
    )


class HostUse(HostCpu, frozen=True, omit_defaults=True):
    """Work of the server's processes during one cell, and the server's memory and swap."""

    workload: WorkloadUse = WorkloadUse()
    beside_written_bytes: dict[str, int] = {}
    """Bytes written to the other disks of the same controller, by kernel name, whoever wrote them."""
    swapped_in_bytes: int = 0
    swapped_out_bytes: int = 0
    swap_used_bytes: int = 0
    """At the end of the cell."""
    memory_available_bytes: tuple[int, int] | None = None
    """At the cell's ends: memory that programs can have without swapping."""
    cpu_mhz: tuple[float, float] | None = None
    """Mean frequency of all cores at the cell's ends."""
