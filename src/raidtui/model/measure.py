"""Reports of a workload: live samples, one summary at its end, and several runs as one. Times in µs, sizes in bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final, NamedTuple

import msgspec

from raidtui.model.latency_bins import Bins
from raidtui.model.statistics.samples import merged, percentiles

BULK_BYTES: Final = 256 << 10
"""Mean operation size from which throughput is shown first; below it, operations are."""


class Latency(msgspec.Struct, frozen=True, omit_defaults=True):
    """Completion latency of one direction in µs. Percentiles are None where fewer than one operation was seen."""

    mean_us: float | None = None
    p50_us: float | None = None
    p99_us: float | None = None
    p999_us: float | None = None
    max_us: float | None = None


class Direction(msgspec.Struct, frozen=True, omit_defaults=True):
    """Reads, writes, trims or syncs of one workload. Rates are per second over `runtime_s`."""

    ios: int = 0
    bytes: int = 0
    iops: float = 0.0
    bytes_per_s: float = 0.0
    runtime_s: float = 0.0
    latency: Latency = Latency()


def in_bulk(ios: float, moved_bytes: float) -> bool:
    """Return True if the mean operation is so large that MB/s is more useful than IOPS."""
    return bool(ios) and moved_bytes / ios >= BULK_BYTES


class Sample(msgspec.Struct, frozen=True, omit_defaults=True):
    """One live reading, a difference of two neighbouring reports: what happened in the `span_s` before `at_s`.

    Directions in which nothing happened are None.
    """

    at_s: float
    """Seconds since the workload began."""
    span_s: float
    read: Direction | None = None
    write: Direction | None = None
    trim: Direction | None = None
    bins: dict[str, Bins] = {}
    """Operations by direction and latency (`latency_bins`), if the tool counts them while it runs. Not in results: a cell's
    report has its whole distribution."""

    @property
    def moved(self) -> tuple[Direction, ...]:
        """The directions in which something happened."""
        return tuple(one for one in (self.read, self.write, self.trim) if one is not None)


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """Totals of one workload on one target."""

    read: Direction | None = None
    write: Direction | None = None
    trim: Direction | None = None
    sync: Direction | None = None
    """fsync and the like: `bytes` is 0, the latency is what a caller waits for durability."""
    cpu_user_percent: float | None = None
    cpu_system_percent: float | None = None
    runtime_s: float = 0.0
    jobs: int = 0
    queue_depth: int | None = None
    """Queue depth of each job at its end, found by a search for a latency. None if nothing was searched."""
    latency_target_us: float | None = None
    """Latency that was searched for, and the percentage of operations that had to meet it."""
    latency_percentile: float | None = None
    within_target_percent: float | None = None
    """Share of all operations that kept it, at whatever queue depth."""

    @property
    def moved(self) -> tuple[Direction, ...]:
        """Directions that moved data: reads, writes and trims, but not syncs."""
        return tuple(one for one in (self.read, self.write, self.trim) if one is not None and one.ios)

    @property
    def written_bytes(self) -> int:
        return self.write.bytes if self.write else 0


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything that one run of a workload left."""

    summary: Summary
    command: tuple[str, ...]
    samples: tuple[Sample, ...] = ()
    problems: tuple[str, ...] = ()
    """Reasons why the numbers may be wrong, as sentences; empty when the tool itself saw nothing wrong."""
    remarks: tuple[str, ...] = ()
    """Facts to know beside the numbers, which are valid."""
    version: str = ""
    raw: msgspec.Raw | None = None
    """The tool's own report, unchanged."""
    bins: dict[str, dict[int, int]] = {}
    """Operations by their latency in ns, for each direction, if the tool reports them."""
    hosts: dict[str, Summary] = {}
    """The part of each host, if several generated the load."""


DIRECTIONS: Final = ("read", "write", "trim", "sync")
_SHARES: Final = (0.50, 0.99, 0.999)


class Part(NamedTuple):
    """The latency of one measurement in one direction."""

    latency: Latency
    ios: int | None
    """None where their number is not known."""
    bins: Mapping[int, int]
    """Operations by latency in ns; empty where the tool did not count them so."""


def pooled(runs: Sequence[Measured]) -> Summary:
    """Return the pooled report of several runs. Rates are averages over the runs, as in SNIA's measurement windows."""
    if len(runs) == 1:
        return runs[0].summary
    summaries = [run.summary for run in runs]
    return msgspec.structs.replace(
        summaries[-1],
        **{name: _direction(runs, name) for name in DIRECTIONS},
        cpu_user_percent=_mean([one.cpu_user_percent for one in summaries]),
        cpu_system_percent=_mean([one.cpu_system_percent for one in summaries]),
        runtime_s=sum(one.runtime_s for one in summaries),
        within_target_percent=_mean([one.within_target_percent for one in summaries]),
    )


def pooled_latency(parts: Sequence[Part]) -> Latency:
    """Percentiles from the merged histograms, or none where one of them is missing: they are never averaged.

    The mean is weighted by operations.
    """
    longest = max((us for one in parts if (us := one.latency.max_us) is not None), default=None)
    counts = merged(one.bins for one in parts) if all(one.bins for one in parts) else {}
    at = [None if ns is None else min(ns / 1000, longest or ns / 1000) for ns in percentiles(counts, _SHARES)]
    return Latency(_weighted(parts), at[0], at[1], at[2], longest)


def _direction(runs: Sequence[Measured], name: str) -> Direction | None:
    found: list[tuple[Direction, Mapping[int, int]]] = [
        (one, run.bins.get(name, {})) for run in runs if (one := getattr(run.summary, name)) is not None
    ]
    if not found:
        return None
    parts = [Part(one.latency, one.ios, bins) for one, bins in found if one.ios]
    return Direction(
        ios=sum(one.ios for one, _ in found),
        bytes=sum(one.bytes for one, _ in found),
        # A run in which nothing happened in this direction counts as one: its rate is 0.
        iops=sum(one.iops for one, _ in found) / len(runs),
        bytes_per_s=sum(one.bytes_per_s for one, _ in found) / len(runs),
        runtime_s=sum(one.runtime_s for one, _ in found),
        latency=pooled_latency(parts) if parts else Latency(),
    )


def _weighted(parts: Sequence[Part]) -> float | None:
    total, count = 0.0, 0
    for one in parts:
        if one.ios is None or one.latency.mean_us is None:
            return None
        total, count = total + one.latency.mean_us * one.ios, count + one.ios
    return total / count if count else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None
