"""Latency over several rounds: from merged histograms. Percentiles are never averaged."""

from __future__ import annotations

from collections.abc import Sequence

from raidtui.model.measure import Direction, Latency
from raidtui.model.pooling import DIRECTIONS, Part, pooled_latency
from raidtui.model.statistics.samples import merged
from raidtui.results.extract import Point, bins


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


def _merged(points: Sequence[Point], name: str) -> Latency:
    found = [bins([one], name) for one in points]
    return pooled_latency([
        Part(one.latency[name], _ios(one, name), of[0] if of else {}) for one, of in zip(points, found, strict=True)
    ])  # fmt: skip


def _ios(one: Point, name: str) -> int | None:
    summary = one.cell.summary if one.cell is not None else None
    of: Direction | None = getattr(summary, name) if summary is not None else None
    return of.ios if of is not None else None
