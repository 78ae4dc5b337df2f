"""Metrics by which layouts are compared: the rate of each workload, latencies, CPU cores, write amplification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from raidtui.results.comparison import Comparison
from raidtui.results.rates import LESS_IS_BETTER, SHARES, Unit, rate_of

Metric = Literal["rate", "IOPS", "MB/s", "p50", "p90", "p95", "p99", "p99.9", "cores", "per core", "daemon cores",
                 "per daemon core", "W.amp"]  # fmt: skip
METRICS: Mapping[Metric, str] = MappingProxyType({
    "rate": "rate",
    "IOPS": "IOPS",
    "MB/s": "MB/s",
    "p50": "p50 latency",
    "p90": "p90 latency",
    "p95": "p95 latency",
    "p99": "p99 latency",
    "p99.9": "p99.9 latency",
    "cores": "CPU cores of storage",
    "per core": "rate for each core of storage",
    "daemon cores": "CPU cores of the cluster's daemons",
    "per daemon core": "rate for each core of the cluster's daemons",
    "W.amp": "write amplification",
})  # fmt: skip
"""Metrics with their names, in the order in which they are offered."""
_FIXED: Mapping[Metric, Unit] = MappingProxyType({
    "IOPS": "IOPS", "MB/s": "MB/s", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p99.9",
    "cores": "cores", "daemon cores": "daemon cores", "W.amp": "W.amp",
})  # fmt: skip
_PER_CORE: Mapping[tuple[Metric, Unit], Unit] = MappingProxyType({
    ("per core", "IOPS"): "IOPS/core", ("per core", "MB/s"): "MB/s/core",
    ("per daemon core", "IOPS"): "IOPS/daemon core", ("per daemon core", "MB/s"): "MB/s/daemon core",
})  # fmt: skip


def units_in(metric: Metric, units: Sequence[Unit]) -> tuple[Unit, ...]:
    """Return the unit of each workload in this metric; `units` are those of their rates."""
    fixed = _FIXED.get(metric)
    return tuple(fixed or _PER_CORE.get((metric, unit), unit) for unit in units)


def metrics_of(comparison: Comparison) -> list[Metric]:
    """Return the metrics that any valid cell has; not those that are the rate of every workload anyway.

    The comparison is one of rates.
    """
    return [metric for metric in METRICS if metric == "rate" or _is_known(metric, comparison)]


def _is_known(metric: Metric, comparison: Comparison) -> bool:
    units = units_in(metric, comparison.units)
    points = ((point, unit) for row in comparison.rows for entry, unit in zip(row.entries, units, strict=True)
              if entry is not None for point in entry.points if point.valid)  # fmt: skip
    return units != comparison.units and any(unit != "%" and rate_of(point, unit) is not None for point, unit in points)


def metric_lines(metric: Metric) -> Iterator[str]:
    """Yield explanations of a metric; nothing for rates."""
    if metric in SHARES:
        yield ("latency of the slowest direction, syncs included; of several rounds, that of their merged histograms: "
               "percentiles are never averaged")  # fmt: skip
    if metric == "cores":
        yield ("CPU cores that were busy, without the workload in user mode, raidtui itself and processes outside of the "
               "run; means of the rounds")  # fmt: skip
    if metric == "per core":
        yield "rate of the typical round for each CPU core that storage took"
    if metric in ("daemon cores", "per daemon core"):
        yield ("CPU cores of the cluster's daemons on all hosts of the run, in user and kernel mode; none unless all that "
               "were up ran there")  # fmt: skip
    if metric == "W.amp":
        yield "bytes written to the members, or by the daemons of a cluster, for each byte that the workload wrote"
    if metric in LESS_IS_BETTER:
        yield "less is better"
