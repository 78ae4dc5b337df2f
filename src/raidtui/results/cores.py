"""CPU cores that storage took under each workload, and what each of these cores carried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Final

from raidtui.base.text import clean
from raidtui.model.host import STORAGE, HostCores
from raidtui.results.comparison import Comparison, Entry
from raidtui.results.rates import NOTHING, Unit, number_of, per_core, rate_text

TITLE: Final = "CPU cores of storage"
HEADS: Final = ("layout", "workload", "cores", "for each core")
ABOUT: Final = (
    "cores: all that were busy on the server, without the workload in user mode, raidtui itself and processes outside of "
    "the run; means of the valid rounds"
)

HOSTS_TITLE: Final = "CPU cores of each host"
HOSTS_HEADS: Final = ("layout", "workload", "host", "busy", "fio", "softirq", "threads", "storage", "for each core")
HOSTS_ABOUT: Final = (
    "busy: of all cores of the host; fio: the workload, in user and kernel mode; softirq: interrupts, most of what the "
    "network takes; threads: the kernel's own that work for storage; storage: all of the kernel's work, without raidtui's, "
    "and a cluster's daemons in user mode; the last column is the rate of all hosts for each such core. Means of the valid "
    "rounds"
)
ALL_HOSTS: Final = "all hosts"


def cores_of(entry: Entry) -> float | None:
    """Return the mean number of cores over the valid rounds; None if none of them knows it."""
    return number_of(entry.points, "cores")


def core_lines(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield a line in the order of `HEADS` for each layout and workload with known cores."""
    for row in comparison.rows:
        for workload, unit, entry in zip(comparison.workloads, comparison.units, row.entries, strict=True):
            if entry is not None and (cores := cores_of(entry)) is not None:
                yield clean(row.label), clean(workload), f"{cores:.2f}", rate_per_core(entry.typical, cores, unit)


def rate_per_core(rate: float | None, cores: float, unit: Unit) -> str:
    """Return the rate of one core; a dash where it cannot be told."""
    each = per_core(rate, cores) if unit != "%" else None
    return NOTHING if each is None else f"{rate_text(each, unit)} {unit}"


def host_lines(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield a line in the order of `HOSTS_HEADS` for each host of each layout that hosts loaded, and one of all hosts."""
    for row in comparison.rows:
        for workload, unit, entry in zip(comparison.workloads, comparison.units, row.entries, strict=True):
            hosts = hosts_of(entry) if entry is not None else {}
            head, rate = (clean(row.label), clean(workload)), entry.typical if entry is not None else None
            for host, rounds in hosts.items():
                per_core = rate_per_core(rate, fmean(one.storage for one in rounds), unit) if host == STORAGE else NOTHING
                busy = f"{fmean(one.busy for one in rounds):.2f} of {rounds[0].cpus}"
                loads = host != STORAGE or any(one.workload for one in rounds)
                fio = f"{fmean(one.workload for one in rounds):.2f}" if loads else NOTHING
                rest = (fmean(one.softirq for one in rounds), fmean(one.storage_threads for one in rounds))
                storage = fmean(one.storage for one in rounds)
                yield *head, clean(host), busy, fio, *(f"{cores:.2f}" for cores in (*rest, storage)), per_core
            if len(hosts) > 1:
                total = sum(fmean(one.storage for one in rounds) for rounds in hosts.values())
                yield *head, ALL_HOSTS, NOTHING, NOTHING, NOTHING, NOTHING, f"{total:.2f}", rate_per_core(rate, total, unit)


def hosts_of(entry: Entry) -> dict[str, Sequence[HostCores]]:
    """Return the cores of each host in each valid round that knows them."""
    valid = [point.hosts for point in entry.points if point.valid]
    names = dict.fromkeys(name for hosts in valid for name in hosts)
    return {name: [hosts[name] for hosts in valid if name in hosts] for name in names}
