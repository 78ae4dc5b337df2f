"""Series of one cell, for charts: what the workload saw, and what one device did."""

from __future__ import annotations

from collections.abc import Callable

from raidtui.model.measure import Direction, Sample
from raidtui.model.result import Cell
from raidtui.tui.widgets.chart import Series

_DIRECTIONS = ("read", "write", "trim")


def iops_series(cell: Cell) -> list[Series]:
    """Operations per second, a line for each direction."""
    return _by_direction(cell, lambda found: found.iops)


def throughput_series(cell: Cell) -> list[Series]:
    """MB/s, a line for each direction."""
    return _by_direction(cell, lambda found: found.bytes_per_s / 1e6)


def latency_series(cell: Cell) -> list[Series]:
    """Mean, p99 and, where it is known, longest completion latency in ms, of the slowest direction."""
    found = []
    for name, field in (("mean", "mean_us"), ("p99", "p99_us"), ("max", "max_us")):
        points = [(sample.at_s, _slowest(sample, field)) for sample in cell.samples]
        # The longest latency of an interval is known only where it was the longest so far: a few dots are no line.
        if 2 * sum(value is not None for _, value in points) > len(points):
            found.append(Series(name, points))
    return found


def device_series(cell: Cell, name: str) -> list[Series]:
    """MB/s read and written by one device."""
    use = cell.devices.get(name)
    found = []
    for words, key in (("read", "read_bytes_per_s"), ("write", "written_bytes_per_s")):
        values = use.series.get(key, []) if use else []
        points = [(at, None if v is None else v / 1e6) for at, v in zip(cell.device_at_s, values, strict=False)]
        if points:
            found.append(Series(words, points))
    return found


def _by_direction(cell: Cell, value: Callable[[Direction], float]) -> list[Series]:
    found = []
    for name in _DIRECTIONS:
        given: list[tuple[float, Direction | None]] = [(sample.at_s, getattr(sample, name)) for sample in cell.samples]
        if any(direction is not None for _, direction in given):
            found.append(Series(name, [(at, None if d is None else value(d)) for at, d in given]))
    return found


def _slowest(sample: Sample, field: str) -> float | None:
    values = [
        us / 1000
        for direction in sample.moved
        if (us := getattr(direction.latency, field)) is not None
    ]
    return max(values, default=None)
