"""Daemons of a cluster under each workload: cores, memory and bytes by host and kind, and what each core carried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Final, NamedTuple

from raidtui.base.text import clean
from raidtui.model.host import KEEPS_DATA, HostCores, all_seen
from raidtui.model.units import size_text
from raidtui.results.comparison import Comparison, Entry
from raidtui.results.cores import ALL_HOSTS, hosts_of, rate_per_core
from raidtui.results.extract import Point
from raidtui.results.rates import NOTHING, ratio_text

TITLE: Final = "Daemons of the cluster"
HEADS: Final = ("layout", "workload", "host", "kind", "processes", "cores", "memory", "read", "written", "for each core")
ABOUT: Final = (
    "daemons that serve the layout, in user and kernel mode, on the hosts that the run sees; client: fio, with the library "
    "that it opens images by, and the kernel's threads of storage; processes: those seen, of all that were up in the "
    "cluster; read and written: what the kernel moved from and to devices for them; the last column is the rate for each "
    "such core, where all daemons were seen. Means of the valid rounds"
)
CLIENT: Final = "client"
ALL_DAEMONS: Final = "daemons"

BYTES_TITLE: Final = "Bytes of the cluster for each byte of the workload"
BYTES_HEADS: Final = ("layout", "workload", "written by design", "written by OSDs", "read by OSDs", "sent by hosts")
BYTES_ABOUT: Final = (
    "by design: copies, or pieces of data and code, without what OSDs write for themselves (logs, metadata); written: for "
    "each byte that the workload wrote; read and sent: for each byte that it moved, sent by network interfaces and the "
    "loopback of all hosts. Told only where all OSDs that were up ran on hosts of the run"
)


class _Use(NamedTuple):
    """One kind on one host, as means of rounds."""

    processes: str
    cores: float
    memory_bytes: float | None = None
    read_bytes: float | None = None
    written_bytes: float | None = None


def daemon_lines(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield a line in the order of `HEADS` for each kind on each host of a layout with daemons, and sums of all hosts."""
    for row in comparison.rows:
        for workload, unit, entry in zip(comparison.workloads, comparison.units, row.entries, strict=True):
            if entry is None or not (points := _served(entry)):
                continue
            head = (clean(row.label), clean(workload))
            hosts = {host: rounds for host, rounds in hosts_of(entry).items() if any(_works(one) for one in rounds)}
            for host, rounds in hosts.items():
                for kind in dict.fromkeys(kind for one in rounds for kind in one.daemons):
                    yield *head, clean(host), clean(kind), *_words(_kind(kind, rounds)), NOTHING
                client = fmean(one.client for one in rounds)
                yield *head, clean(host), CLIENT, *_words(_Use(NOTHING, client)), NOTHING
            serving = sum(fmean(one.serving for one in rounds) for rounds in hosts.values())
            client = sum(fmean(one.client for one in rounds) for rounds in hosts.values())
            whole = all(one.daemon_cores is not None for one in points)
            for kind, cores, many in ((ALL_DAEMONS, serving, _processes(points)), ("all", serving + client, NOTHING)):
                carried = rate_per_core(entry.typical, cores, unit) if whole else NOTHING
                yield *head, ALL_HOSTS, kind, *_words(_Use(many, cores)), carried


def byte_lines(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield a line in the order of `BYTES_HEADS` for each layout and workload with daemons."""
    for row in comparison.rows:
        for workload, entry in zip(comparison.workloads, row.entries, strict=True):
            points = _served(entry) if entry is not None else []
            if points and any(one.cell is not None for one in points):
                ratios = (_mean(map(of, points)) for of in (_design, lambda one: one.write_amplification, _read, _sent))
                yield clean(row.label), clean(workload), *map(ratio_text, ratios)


def _served(entry: Entry) -> list[Point]:
    """Return the valid rounds in which daemons were seen."""
    return [one for one in entry.points if one.valid and any(host.daemons for host in one.hosts.values())]


def _works(one: HostCores) -> bool:
    return bool(one.daemons) or one.workload > 0


def _words(use: _Use) -> tuple[str, ...]:
    sizes = (use.memory_bytes, use.read_bytes, use.written_bytes)
    return (use.processes, f"{use.cores:.2f}", *(NOTHING if one is None else size_text(int(one)) for one in sizes))


def _kind(kind: str, rounds: Sequence[HostCores]) -> _Use:
    uses = [one.daemons[kind] for one in rounds if kind in one.daemons]
    return _Use(
        str(max(one.processes for one in uses)), fmean(one.cores for one in uses),
        fmean(one.memory_bytes for one in uses), _mean(one.read_bytes for one in uses),
        _mean(one.written_bytes for one in uses),
    )  # fmt: skip


def _processes(points: Sequence[Point]) -> str:
    """Return how many daemons were seen, of how many that were up: `5 of 5`."""
    seen = max(sum(use.processes for host in one.hosts.values() for use in host.daemons.values()) for one in points)
    up = max(sum(one.daemons.values()) for one in points)
    return f"{seen} of {up}" if up else f"{seen}"


def _mean(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else fmean(one for one in known if one is not None)


def _design(point: Point) -> float | None:
    expected = point.cell.expected_write_amplification if point.cell is not None else None
    return expected.low if expected is not None else None


def _read(point: Point) -> float | None:
    uses = [host.daemons[KEEPS_DATA].read_bytes for host in point.hosts.values() if KEEPS_DATA in host.daemons]
    return _of_moved(point, uses)


def _sent(point: Point) -> float | None:
    return _of_moved(point, [host.sent_bytes for host in point.hosts.values()])


def _of_moved(point: Point, counts: Sequence[int | None]) -> float | None:
    """Return a sum for each byte that the workload moved; None if it is not that of the same time, or not of all OSDs."""
    summary = point.cell.summary if point.cell is not None and point.cell.steady is None else None
    moved = sum(one.bytes for one in summary.moved) if summary is not None else 0
    known = [one for one in counts if one is not None]
    whole = len(known) == len(counts) and all_seen(point.hosts.values(), point.daemons, (KEEPS_DATA,))
    return sum(known) / moved if moved and whole else None
