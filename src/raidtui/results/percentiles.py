"""Latency by percentile: curves over the share of operations that took longer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from types import MappingProxyType

Curve = list[tuple[float, float]]
"""Share of operations that took longer, and how long in µs."""
TICKS: Mapping[float, str] = MappingProxyType({0.5: "p50", 0.1: "p90", 0.01: "p99", 0.001: "p99.9", 0.0001: "p99.99"})
"""Names of percentiles by the share that took longer."""


def curve_of(counts: Mapping[int, int]) -> Curve:
    """Return the curve of a histogram: operations by latency in ns."""
    bins = sorted(counts)
    total = sum(counts.values())
    seen = [0, *accumulate(counts[bin_] for bin_ in bins)]
    return [((total - before) / total, bin_ / 1000) for before, bin_ in zip(seen, bins, strict=False)]


def time_at(curve: Sequence[tuple[float, float]], share: float) -> float | None:
    """Return the time in µs that this share of operations exceeded; None where there were too few to know it."""
    return next((us for (_, us), (after, _) in pairwise(curve) if after <= share), None)
