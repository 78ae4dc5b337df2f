"""Sweeps in words: tables of queue depth × jobs, and a sentence on the knee of each curve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from raidtui.base.text import plural
from raidtui.model.statistics.knee import ENOUGH, FEWEST
from raidtui.results.comparison import Curve, Sweep, SweepPoint
from raidtui.results.rates import NOTHING, iops_text, latency_text

_SHARE: Final = f"{ENOUGH * 100:.0f} %"
RULE: Final = f"*: the knee, which is the fewest operations in flight with at least {_SHARE} of a curve's best IOPS"


class Grid(NamedTuple):
    """Table of one sweep: a line for each queue depth, a column for each curve and number of jobs."""

    title: str
    first: list[str]
    """Head and labels of the lines."""
    columns: list[list[str]]
    """Each with its head."""


def grid(sweep: Sweep) -> Grid:
    """Return IOPS and mean latency of each combination; `*` marks the knees. Lines are jobs where one depth is swept."""
    points = [point for curve in sweep.curves for point in curve.points]
    depths, jobs = sorted({point.iodepth for point in points}), sorted({point.numjobs for point in points})
    by_jobs = len(depths) == 1 < len(jobs)
    lines, across = (jobs, depths) if by_jobs else (depths, jobs)
    columns = []
    for curve in sweep.curves:
        of_curve = {(point.numjobs, point.iodepth): place for place, point in enumerate(curve.points)}
        for other in across:
            head = label_of(sweep, curve) + (f", {plural(other, 'job')}" if len(across) > 1 else "")
            places = [of_curve.get((line, other) if by_jobs else (other, line)) for line in lines]
            if any(place is not None for place in places):
                columns.append([head, *(_value(curve, place) for place in places)])
    by = "jobs" if by_jobs else "queue depth and jobs" if len(across) > 1 else "queue depth"
    return Grid(f"Sweep {sweep.name}: IOPS and mean latency by {by}", ["JOBS" if by_jobs else "DEPTH", *map(str, lines)],
                columns)  # fmt: skip


def label_of(sweep: Sweep, curve: Curve) -> str:
    """Return the layout, and the block size where a sweep has several."""
    return f"{curve.label} {curve.bs}" if len({one.bs for one in sweep.curves}) > 1 else curve.label


def knee_lines(sweep: Sweep) -> Iterator[str]:
    """Yield a sentence on each curve that was measured."""
    for curve in sweep.curves:
        if words := knee_words(curve):
            yield f"{label_of(sweep, curve)}: {words}"


def load_words(point: SweepPoint) -> str:
    """Return `16×4`: queue depth and jobs."""
    return f"{point.iodepth}×{point.numjobs}"


def _value(curve: Curve, place: int | None) -> str:
    point = None if place is None else curve.points[place]
    if point is None or point.iops is None:
        return NOTHING
    latency = f" at {latency_text(point.mean_us)}" if point.mean_us is not None else ""
    return f"{'*' if place == curve.knee else ''}{iops_text(point.iops)}{latency}"


def knee_words(curve: Curve) -> str:
    """Return where a curve has its knee, and what more in flight brings; empty if nothing of it was measured."""
    measured = [(point, point.iops) for point in curve.points if point.iops is not None]
    if not measured:
        return ""
    last, best = max(measured, key=lambda found: (found[0].in_flight, found[1]))
    if curve.knee is None:
        if len({point.in_flight for point, _ in measured}) < FEWEST:
            return f"no knee is looked for in fewer than {FEWEST} different loads"
        return f"no knee up to {last.in_flight} in flight: fewer have less than {_SHARE} of its {iops_text(best)} IOPS"
    knee = curve.points[curve.knee]
    rate = knee.iops or 0.0
    several = len({point.numjobs for point, _ in measured}) > 1
    how = f" (queue depth {knee.iodepth}, {plural(knee.numjobs, 'job')})" if several else ""
    at = f" at {latency_text(knee.mean_us)}" if knee.mean_us is not None else ""
    words = f"knee at {knee.in_flight} in flight{how}: {iops_text(rate)} IOPS{at}"
    more = f"{last.in_flight} in flight brings {round((best / rate - 1) * 100):+d} % IOPS"
    if knee.mean_us and last.mean_us is not None:
        more += f" and {last.mean_us / knee.mean_us:.1f} × the latency"
    return f"{words}; {more}"
