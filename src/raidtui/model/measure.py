"""Reports of a workload: live samples while it runs, one summary at its end. Times in µs, sizes in bytes."""

from __future__ import annotations

from typing import Final

import msgspec

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
