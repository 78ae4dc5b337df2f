"""fio's json+ reports: cut them out of its output, decode the fields that are needed, and turn them into samples.

fio counts in ns, ms, bytes and percent. It reports every second, but a report waits for every job, and a job for its
device: while a device hangs there is no report, and the next sample spans the whole pause.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from raidtui.model.latency_bins import Bins, binned
from raidtui.model.measure import Direction, Latency, Sample, Summary

MAX_REPORT_BYTES: Final = 16 << 20
_MAX_TEXT_BYTES: Final = 64 << 10
# fio indents nested objects, and JSON strings hold no bare newline: a brace in the first column ends the report.
_END: Final = b"\n}"
MIN_SPAN_S: Final = 0.25
"""Shortest sample. The final report follows the previous one within milliseconds: such a sample would be noise."""


class Splitter:
    """Cuts a byte stream into complete JSON reports; all other text is kept in `text`."""

    def __init__(self) -> None:
        self.text = b""
        """Text between reports, such as `fio: terminating on signal 15`; the first 64 KiB."""
        self._buffer = bytearray()
        self._searched = 0
        self._inside = False

    @property
    def rest(self) -> bytes:
        """The incomplete report at the end, if any."""
        return bytes(self._buffer) if self._inside else b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the complete reports, in order. Raises ValueError if a report exceeds MAX_REPORT_BYTES."""
        self._buffer += data
        reports: list[bytes] = []
        while True:
            if not self._inside and not self._enter():
                return reports
            end = self._buffer.find(_END, self._searched)
            if end < 0:
                # The end mark may be split between two reads: search from the last byte again.
                self._searched = max(0, len(self._buffer) - len(_END) + 1)
                if len(self._buffer) > MAX_REPORT_BYTES:
                    raise ValueError(f"a report has more than {MAX_REPORT_BYTES} bytes")
                return reports
            end += len(_END)
            reports.append(bytes(self._buffer[:end]))
            del self._buffer[:end]
            self._inside, self._searched = False, 0

    def _enter(self) -> bool:
        start = self._buffer.find(b"{")
        before = bytes(self._buffer[: start if start >= 0 else len(self._buffer)])
        self.text = (self.text + before)[:_MAX_TEXT_BYTES]
        del self._buffer[: len(before)]
        self._inside = start >= 0
        return self._inside


class Spread(msgspec.Struct, frozen=True, rename={"count": "N", "mean_ns": "mean", "max_ns": "max"}):
    """Latency distribution in ns. `bins`: number of operations by the middle of their latency bin."""

    count: int
    mean_ns: float
    max_ns: float
    percentile: dict[str, int] = {}
    bins: dict[int, int] = {}


class Flow(msgspec.Struct, frozen=True, rename={"ios": "total_ios", "bytes": "io_bytes", "runtime_ms": "runtime"}):
    """Reads or writes of all jobs since the begin of the measured part."""

    ios: int
    bytes: int
    runtime_ms: int
    iops: float
    bw_bytes: float
    clat_ns: Spread
    short_ios: int = 0
    drop_ios: int = 0


class Syncs(msgspec.Struct, frozen=True, rename={"ios": "total_ios"}):
    """Syncs: `ios` counts fsyncs only; latencies cover fsync and fdatasync."""

    lat_ns: Spread
    ios: int = 0


class Group(msgspec.Struct, frozen=True):
    """Sum of all jobs, as group_reporting gives it."""

    error: int
    read: Flow
    write: Flow
    job_runtime: int
    usr_cpu: float
    sys_cpu: float
    sync: Syncs | None = None
    latency_target: int = 0
    """Latency target in ns; 0: none."""
    latency_percentile: float = 100.0
    latency_depth: int = 0
    """Queue depth found by the search; meaningless without a target."""

    @property
    def ios(self) -> int:
        return self.read.ios + self.write.ios

    @property
    def syncs(self) -> int:
        """Number of fsyncs and fdatasyncs."""
        return max(self.sync.ios, self.sync.lat_ns.count) if self.sync is not None else 0

    @property
    def runtime_s(self) -> float:
        """Measured time by fio's monotonic clock."""
        return max(self.read.runtime_ms, self.write.runtime_ms) / 1000


class _Report(msgspec.Struct, frozen=True, rename={"version": "fio version"}):
    version: str
    jobs: list[Group]


class Report(msgspec.Struct, frozen=True):
    """One decoded report. `raw`: its bytes as fio wrote them."""

    version: str
    group: Group
    raw: bytes
    hosts: dict[str, Report] = {}
    """The parts of the hosts, if several loaded the target."""


_DECODER: Final = msgspec.json.Decoder(_Report)


def read_report(raw: bytes) -> Report:
    """Decode a report. Raises ValueError if it is not a report of one group (msgspec's errors are ValueErrors)."""
    report = _DECODER.decode(raw)
    if len(report.jobs) != 1:
        raise ValueError(f"fio reports {len(report.jobs)} groups of jobs instead of one")
    return Report(report.version.removeprefix("fio-"), report.jobs[0], raw)


def summary_of(report: Report, jobs: int, *, timed_syncs: bool = True) -> Summary:
    """Return the summary of the workload. CPU percentages are of one core, averaged over the jobs.

    Without `timed_syncs`, syncs are counted without their latency.
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
    """Return the share of operations within the latency target, from the middles of the bins."""
    bins = [bin_ for flow in (group.read, group.write) for bin_ in flow.clat_ns.bins.items()]
    done = sum(count for _, count in bins)
    return 100 * sum(count for ns, count in bins if ns <= group.latency_target) / done if done else None


def bins_of(report: Report, *, timed_syncs: bool = True) -> dict[str, dict[int, int]]:
    """Return the latency histograms by direction, in ns."""
    group = report.group
    sync = group.sync.lat_ns.bins if group.sync is not None and timed_syncs else {}
    found = {"read": group.read.clat_ns.bins, "write": group.write.clat_ns.bins, "sync": sync}
    return {name: bins for name, bins in found.items() if bins}


def compact(report: Report) -> msgspec.Raw:
    """Return the report on a single line, for files with one message a line."""
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
    # A bin has its middle as name, which may lie above the maximum.
    at = {name: min(ns, spread.max_ns) / 1000 for name, ns in spread.percentile.items()}
    return Latency(
        mean_us=spread.mean_ns / 1000,
        p50_us=at.get("50.000000"),
        p99_us=at.get("99.000000"),
        p999_us=at.get("99.900000"),
        max_us=spread.max_ns / 1000,
    )


class Sampler:
    """Turns cumulative reports into samples. At the end of the ramp time fio resets its counters: samples restart."""

    def __init__(self, ramp_s: float = 0.0) -> None:
        self.samples: list[Sample] = []
        """Samples of the measured part, without the ramp time."""
        self._ramp_s = ramp_s
        self._before: Group | None = None

    def feed(self, now: Group) -> Sample | None:
        """Return the sample that ends with this report, or None if it is too short. During the ramp, `at_s` is negative.

        It has the bins of its operations; those in `samples` do not.
        """
        ramping = _ramping(now)
        before = self._before
        if before is not None and ((_ramping(before) and not ramping) or _began_anew(before, now)):
            before = None
            self.samples.clear()
        began_s = before.runtime_s if before is not None else 0.0
        span_s = now.runtime_s - began_s
        if span_s < MIN_SPAN_S:
            return None
        self._before = now
        sample = Sample(
            at_s=round(now.runtime_s - (self._ramp_s if ramping else 0.0), 3),
            span_s=round(span_s, 3),
            read=_between(before.read if before else None, now.read, span_s),
            write=_between(before.write if before else None, now.write, span_s),
        )
        if not ramping:
            self.samples.append(sample)
        bins = {
            "read": _bins_between(before.read if before else None, now.read),
            "write": _bins_between(before.write if before else None, now.write),
        }
        return msgspec.structs.replace(sample, bins={name: found for name, found in bins.items() if found})


def _ramping(group: Group) -> bool:
    """Return True during the ramp time, when fio counts operations but not their latencies."""
    return group.ios > 0 and not group.read.clat_ns.count and not group.write.clat_ns.count


def _began_anew(before: Group, now: Group) -> bool:
    return now.ios < before.ios or now.runtime_s < before.runtime_s


def _between(before: Flow | None, now: Flow, span_s: float) -> Direction | None:
    ios = now.ios - (before.ios if before else 0)
    if ios <= 0:
        return None
    size = now.bytes - (before.bytes if before else 0)
    latency = _latency_between(before.clat_ns if before else None, now.clat_ns)
    return Direction(ios, size, ios / span_s, size / span_s, span_s, latency)


def _latency_between(before: Spread | None, now: Spread) -> Latency:
    """Return the latency between two reports: mean from the sums, percentiles from the difference of the histograms.

    The maximum is known only if it grew.
    """
    count = now.count - (before.count if before else 0)
    if count <= 0:
        return Latency()
    total_ns = now.mean_ns * now.count - (before.mean_ns * before.count if before else 0.0)
    earlier = before.bins if before else {}
    bins = ((ns, n - earlier.get(ns, 0)) for ns, n in now.bins.items())
    # A bin has its middle as name, which may lie above all values in it.
    p50, p99, p999 = _percentiles((50.0, 99.0, 99.9), sorted((min(ns, now.max_ns), n) for ns, n in bins if n > 0))
    grew = before is None or now.max_ns > before.max_ns
    return Latency(
        mean_us=max(0.0, total_ns / count / 1000),
        p50_us=p50,
        p99_us=p99,
        p999_us=p999,
        max_us=now.max_ns / 1000 if grew else None,
    )


def _bins_between(before: Flow | None, now: Flow) -> Bins:
    """Return the operations between two reports by their latency. A bin of fio has its middle as name."""
    earlier, longest = before.clat_ns.bins if before else {}, round(now.clat_ns.max_ns)
    return binned((min(ns, longest), count - earlier.get(ns, 0)) for ns, count in now.clat_ns.bins.items())


def joined_spread(spreads: Sequence[Spread]) -> Spread:
    """Return the latency of several groups of jobs: mean and maximum of all, percentiles from the summed histograms."""
    found = [one for one in spreads if one.count]
    count = sum(one.count for one in found)
    if not count:
        return Spread(0, 0.0, 0.0)
    bins: dict[int, int] = {}
    for one in found:
        for ns, number in one.bins.items():
            bins[ns] = bins.get(ns, 0) + number
    names = tuple(found[0].percentile)
    at = _percentiles([float(name) for name in names], [(float(ns), number) for ns, number in sorted(bins.items())])
    percentile = {name: round(us * 1000) for name, us in zip(names, at, strict=True) if us is not None}
    mean = sum(one.mean_ns * one.count for one in found) / count
    return Spread(count, mean, max(one.max_ns for one in found), percentile, bins)


def _percentiles(percents: Iterable[float], bins: Sequence[tuple[float, int]]) -> list[float | None]:
    """Return percentiles in µs by fio's rule: the first bin at which the cumulated share reaches the percentile."""
    total = sum(n for _, n in bins)
    found: list[float | None] = []
    position, seen = -1, 0
    for percent in percents:
        while position + 1 < len(bins) and (seen < percent / 100 * total or position < 0):
            position += 1
            seen += bins[position][1]
        found.append(bins[position][0] / 1000 if bins else None)
    return found
