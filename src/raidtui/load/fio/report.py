"""Reading fio's json+ reports: only the fields that are needed, typed. fio counts in ns, ms, bytes and percent."""

from __future__ import annotations

from typing import Final

import msgspec

from raidtui.model.measure import Direction, Latency, Summary


class Spread(msgspec.Struct, frozen=True, rename={"count": "N", "mean_ns": "mean", "max_ns": "max"}):
    """A latency distribution in ns. `bins` counts operations by the middle of their latency bin; empty when none."""

    count: int
    mean_ns: float
    max_ns: float
    percentile: dict[str, int] = {}
    bins: dict[int, int] = {}


class Flow(msgspec.Struct, frozen=True, rename={"ios": "total_ios", "bytes": "io_bytes", "runtime_ms": "runtime"}):
    """One direction of all jobs together, since the measured part began."""

    ios: int
    bytes: int
    runtime_ms: int
    iops: float
    bw_bytes: float
    clat_ns: Spread
    short_ios: int = 0
    drop_ios: int = 0


class Syncs(msgspec.Struct, frozen=True, rename={"ios": "total_ios"}):
    """fsync and fdatasync. `ios` counts fsyncs alone; latencies are of both."""

    lat_ns: Spread
    ios: int = 0


class Group(msgspec.Struct, frozen=True):
    """All jobs together, as group_reporting sums them up."""

    error: int
    read: Flow
    write: Flow
    job_runtime: int
    usr_cpu: float
    sys_cpu: float
    sync: Syncs | None = None
    latency_target: int = 0
    """In ns."""
    latency_percentile: float = 100.0
    latency_depth: int = 0
    """What the search for a latency ended at; means nothing without a target."""

    @property
    def ios(self) -> int:
        return self.read.ios + self.write.ios

    @property
    def syncs(self) -> int:
        """fsyncs and fdatasyncs done."""
        return max(self.sync.ios, self.sync.lat_ns.count) if self.sync is not None else 0

    @property
    def runtime_s(self) -> float:
        """fio's own monotonic clock: what was measured so far."""
        return max(self.read.runtime_ms, self.write.runtime_ms) / 1000


class _Report(msgspec.Struct, frozen=True, rename={"version": "fio version"}):
    version: str
    jobs: list[Group]


class Report(msgspec.Struct, frozen=True):
    """One report. `raw` is what fio wrote."""

    version: str
    group: Group
    raw: bytes


_DECODER: Final = msgspec.json.Decoder(_Report)


def read_report(raw: bytes) -> Report:
    """Raises ValueError when it is not a report of one group (msgspec's errors are ValueErrors)."""
    report = _DECODER.decode(raw)
    if len(report.jobs) != 1:
        raise ValueError(f"fio reports {len(report.jobs)} groups of jobs instead of one")
    return Report(report.version.removeprefix("fio-"), report.jobs[0], raw)


def summary_of(report: Report, jobs: int, *, timed_syncs: bool = True) -> Summary:
    """Sum up the whole workload. CPU percentages are fio's: of one core, the average of the jobs.

    Without `timed_syncs` syncs are counted, and what fio says of their latency is left out.
    """
    group = report.group
    return Summary(
        read=_direction(group.read),
        write=_direction(group.write),
        sync=_syncs(group, timed=timed_syncs),
        cpu_user_percent=group.usr_cpu,
        cpu_system_percent=group.sys_cpu,
        runtime_s=group.runtime_s,
        jobs=jobs,
        queue_depth=group.latency_depth if group.latency_target else None,
        latency_target_us=group.latency_target / 1000 if group.latency_target else None,
        latency_percentile=group.latency_percentile if group.latency_target else None,
        within_target_percent=_within(group) if group.latency_target else None,
    )


def _within(group: Group) -> float | None:
    """Share of the operations of both directions that took at most the target; bins are known by their middle."""
    bins = [bin_ for flow in (group.read, group.write) for bin_ in flow.clat_ns.bins.items()]
    done = sum(count for _, count in bins)
    return 100 * sum(count for ns, count in bins if ns <= group.latency_target) / done if done else None


def bins_of(report: Report, *, timed_syncs: bool = True) -> dict[str, dict[int, int]]:
    """Return histograms of latency by direction, in ns, as fio counted them."""
    group = report.group
    sync = group.sync.lat_ns.bins if group.sync is not None and timed_syncs else {}
    found = {"read": group.read.clat_ns.bins, "write": group.write.clat_ns.bins, "sync": sync}
    return {name: bins for name, bins in found.items() if bins}


def compact(report: Report) -> msgspec.Raw:
    """The report without its indentation: it goes into files of one message a line."""
    return msgspec.Raw(msgspec.json.format(report.raw, indent=-1))


def _direction(flow: Flow) -> Direction | None:
    if not flow.ios:
        return None
    return Direction(flow.ios, flow.bytes, flow.iops, flow.bw_bytes, flow.runtime_ms / 1000, _latency(flow.clat_ns))


def _syncs(group: Group, *, timed: bool) -> Direction | None:
    if group.sync is None or not group.syncs:
        return None
    runtime_s = group.runtime_s
    iops = group.syncs / runtime_s if runtime_s else 0.0
    latency = _latency(group.sync.lat_ns) if timed else Latency()
    return Direction(group.syncs, 0, iops, 0.0, runtime_s, latency)


def _latency(spread: Spread) -> Latency:
    if not spread.count:
        return Latency()
    # fio names a bin by its middle, which may lie above everything that was seen.
    at = {name: min(ns, spread.max_ns) / 1000 for name, ns in spread.percentile.items()}
    return Latency(
        mean_us=spread.mean_ns / 1000,
        p50_us=at.get("50.000000"),
        p99_us=at.get("99.000000"),
        p999_us=at.get("99.900000"),
        max_us=spread.max_ns / 1000,
    )
