"""Latency over several rounds: from merged histograms. Percentiles are never averaged."""

from __future__ import annotations

from collections.abc import Sequence

from raidtui.model.measure import Direction, Latency
from raidtui.results.extract import DIRECTIONS, Point, bins
from raidtui.results.statistics.histogram import merged, percentiles

_SHARES = (0.50, 0.99, 0.999)


def merged_latency(points: Sequence[Point]) -> dict[str, Latency]:
    """By direction. Of a single cell it is the tool's own; of several, percentiles need a histogram of each."""
    if len(points) == 1:
        return points[0].latency
    names = [name for name in DIRECTIONS if any(name in one.latency for one in points)]
    return {name: _merged([one for one in points if name in one.latency], name) for name in names}


def histogram(points: Sequence[Point], direction: str) -> dict[int, int]:
    """The merged histogram in ns; empty where one of the cells has none."""
    found = bins(points, direction)
    return merged(found) if len(found) == len(points) else {}


def _merged(points: Sequence[Point], direction: str) -> Latency:
    longest = max((us for one in points if (us := one.latency[direction].max_us) is not None), default=None)
    counts = histogram(points, direction)
    at = [None if ns is None else min(ns / 1000, longest or ns / 1000) for ns in percentiles(counts, _SHARES)]
    return Latency(_mean(points, direction), at[0], at[1], at[2], longest)


def _mean(points: Sequence[Point], direction: str) -> float | None:
    """Weighted by operations; None where their number is not known."""
    total, ios = 0.0, 0
    for one in points:
        summary = one.cell.summary if one.cell is not None else None
        of: Direction | None = getattr(summary, direction) if summary is not None else None
        mean_us = one.latency[direction].mean_us
        if of is None or mean_us is None:
            return None
        total, ios = total + mean_us * of.ios, ios + of.ios
    return total / ios if ios else None
