"""Samples of a run's workloads over its whole time, as points of charts, in bounded memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from raidtui.model.event import WorkloadSampled
from raidtui.model.measure import Sample

T = TypeVar("T")
_FREED = 8
"""At least so many parts of the whole are freed at once: thinning out is rare."""


def thinned(items: list[T], span_s: Callable[[T], float], joined: Callable[[T, T], T | None]) -> list[T]:
    """Return the items with neighbours of the older half joined, the shortest first. `joined` may refuse a pair (None)."""
    half = len(items) // 2
    older, newer = items[:half], items[half:]
    goal = half - len(items) // _FREED
    longest_s = 2 * min(map(span_s, older), default=0.0) or 1.0
    total_s = sum(map(span_s, older))
    while len(older) > goal and longest_s <= 2 * total_s:
        older = _pairs(older, span_s, joined, longest_s, len(older) - goal)
        longest_s *= 2
    return [*(older if len(older) <= goal else older[len(older) - goal :]), *newer]


def _pairs(
    items: list[T], span_s: Callable[[T], float], joined: Callable[[T, T], T | None], longest_s: float, most: int
) -> list[T]:
    """Join neighbours that together are at most `longest_s` long, at most `most` times, from the oldest on."""
    found: list[T] = []
    index = 0
    while index < len(items):
        item = items[index]
        index += 1
        if most and index < len(items) and span_s(item) + span_s(items[index]) <= longest_s * 1.2:
            both = joined(item, items[index])
            if both is not None:
                item = both
                index += 1
                most -= 1
        found.append(item)
    return found


MOST_SAMPLES = 14_400
"""Above that, neighbours in the older half become one."""


class Point(NamedTuple):
    """One sample as the charts draw it; None in a direction without I/O."""

    at_s: float
    """Second of the run."""
    seq: int
    cell: str
    span_s: float
    read_iops: float | None
    write_iops: float | None
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    mean_us: float | None
    p99_us: float | None
    max_us: float | None
    prefill: bool
    sample: Sample
    """The last one, in a point that stands for several."""


Line = list[tuple[float, float | None]]
"""Second of the run and value; None between two cells, where a chart's line ends."""
FIGURES = ("read_iops", "write_iops", "read_bytes_per_s", "write_bytes_per_s", "mean_us", "p99_us", "max_us")


class SampleTrack:
    """Samples of a run as points of charts, taken in order."""

    def __init__(self, most: int = MOST_SAMPLES) -> None:
        self._most = most
        self._points: list[Point] = []
        self.count = 0
        """Number of samples taken."""
        self.lines: dict[str, Line] = {figure: [] for figure in FIGURES}
        """Series of the charts, by the name of a point's figure."""

    def take(self, at_s: float, seq: int, event: WorkloadSampled) -> None:
        self.count += 1
        self._points.append(_point(at_s, seq, event))
        if len(self._points) > self._most:
            self._points = thinned(self._points, lambda point: point.span_s, _joined)
            self.lines = {figure: [] for figure in FIGURES}
            for index in range(len(self._points)):
                self._draw(index)
        else:
            self._draw(len(self._points) - 1)

    def latest(self, at_s: float) -> Point | None:
        """Return the last sample at or before a second of the run."""
        index = bisect_right(self._points, at_s, key=lambda point: point.at_s)
        return self._points[index - 1] if index else None

    def _draw(self, index: int) -> None:
        point = self._points[index]
        before = self._points[index - 1] if index else None
        parted = before is not None and (before.cell != point.cell or before.prefill != point.prefill)
        for figure, line in self.lines.items():
            if before is not None and parted:
                line.append((before.at_s, None))
            value = getattr(point, figure)
            if value is not None or (line and line[-1][1] is not None):
                line.append((point.at_s, value))


def _point(at_s: float, seq: int, event: WorkloadSampled) -> Point:
    sample = event.sample
    written = [direction for direction in (sample.write, sample.trim) if direction is not None]
    means = [(d.latency.mean_us, d.iops) for d in sample.moved if d.latency.mean_us is not None]
    weight = sum(iops for _, iops in means)
    return Point(
        at_s,
        seq,
        event.cell,
        sample.span_s,
        sample.read.iops if sample.read else None,
        sum(d.iops for d in written) if written else None,
        sample.read.bytes_per_s if sample.read else None,
        sum(d.bytes_per_s for d in written) if written else None,
        sum(mean * iops for mean, iops in means) / weight if weight else None,
        _worst(d.latency.p99_us for d in sample.moved),
        _worst(d.latency.max_us for d in sample.moved),
        event.prefill,
        sample,
    )


def _worst(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _joined(a: Point, b: Point) -> Point | None:
    """Return two points of one cell as one, with the mean of rates and the worst of tails; None for two cells."""
    if a.cell != b.cell or a.prefill != b.prefill:
        return None
    span_s = a.span_s + b.span_s

    def mean(x: float | None, y: float | None) -> float | None:
        if x is None or y is None or span_s <= 0:
            return y if x is None else x
        return (x * a.span_s + y * b.span_s) / span_s

    return b._replace(
        span_s=span_s,
        read_iops=mean(a.read_iops, b.read_iops),
        write_iops=mean(a.write_iops, b.write_iops),
        read_bytes_per_s=mean(a.read_bytes_per_s, b.read_bytes_per_s),
        write_bytes_per_s=mean(a.write_bytes_per_s, b.write_bytes_per_s),
        mean_us=mean(a.mean_us, b.mean_us),
        p99_us=_worst((a.p99_us, b.p99_us)),
        max_us=_worst((a.max_us, b.max_us)),
    )
