"""Curves of a sweep: operations per second against latency for each layout, and where their knees are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from raidtui.model.statistics.knee import knee_of
from raidtui.model.statistics.samples import typical
from raidtui.model.sweep import Swept
from raidtui.results.comparison import Curve, Entry, Row, Sweep, SweepPoint


def sweeps_of(columns: Mapping[int, Swept], rows: Sequence[Row]) -> Iterator[Sweep]:
    """Yield each sweep with its curves by row and block size. `columns`: place in a sweep by the column of a workload."""
    for name in dict.fromkeys(one.name for one in columns.values()):
        own = {column: one for column, one in columns.items() if one.name == name}
        curves = [curve for row in rows for curve in _curves(row, own)]
        if curves:
            yield Sweep(name, tuple(curves))


def _curves(row: Row, columns: Mapping[int, Swept]) -> Iterator[Curve]:
    points: dict[str, list[SweepPoint]] = {}
    for column, one in columns.items():
        if (entry := row.entries[column]) is not None:
            points.setdefault(one.bs, []).append(_point(column, one, entry))
    for size, found in points.items():
        found.sort(key=lambda point: (point.in_flight, point.numjobs))
        measured = [point for point in found if point.iops is not None]
        place = knee_of([(point.in_flight, point.iops or 0.0) for point in measured])
        yield Curve(row.label, size, tuple(found), None if place is None else found.index(measured[place]))


def _point(column: int, one: Swept, entry: Entry) -> SweepPoint:
    rates = [point.iops for point in entry.points if point.valid and point.iops is not None]
    moved = [latency for direction, latency in entry.latency.items() if direction != "sync"]
    return SweepPoint(
        column, one.numjobs, one.iodepth, one.in_flight,
        typical(rates) if rates else None,
        max((latency.mean_us for latency in moved if latency.mean_us is not None), default=None),
        max((latency.p99_us for latency in moved if latency.p99_us is not None), default=None),
    )  # fmt: skip
