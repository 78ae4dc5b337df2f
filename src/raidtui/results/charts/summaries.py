"""Charts of whole cells: medians side by side, latency by percentile, throughput under the limit of the bare disks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from raidtui.model.pooling import DIRECTIONS
from raidtui.results.charts.base import Chart, Panel, Style, in_parts, legend, legend_height, numbers, short
from raidtui.results.comparison import Comparison, Entry, Row
from raidtui.results.lines import MARKS, share_text, state_of
from raidtui.results.rates import SCALE, Unit, histogram, latency_text, rate_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS = 60


def bars_panels(comparison: Comparison) -> list[Panel]:
    """A panel for each workload. Of very many layouts the first ones are shown, and that is said."""
    found = []
    for index, (name, unit) in enumerate(zip(comparison.workloads, comparison.units, strict=True)):
        # A layout that could not be built has its place; one that was never to be measured so has none.
        known = tuple(row for row in comparison.rows if row.entries[index] is not None or row.failed)
        rows, left_out = known[:_MOST_BARS], len(known[_MOST_BARS:])
        if not any(row.entries[index] is not None for row in rows):
            continue
        title = f"{short(name, 40)}, {unit}" + (f" (and {left_out} more)" if left_out else "")
        about = "; ".join(f"{short(row.label)} {_words(row, index, unit)}" for row in rows)
        draw = _Bars(comparison.baseline, rows, index, unit)
        found.append(Panel(title, draw, 0.75 + 0.24 * len(rows), about))
    return found


class _Bars:
    """One workload."""

    def __init__(self, baseline: str, rows: tuple[Row, ...], index: int, unit: Unit) -> None:
        self._baseline, self._rows, self._index, self._unit = baseline, rows, index, unit

    def __call__(self, axes: Axes, style: Style) -> None:
        scale = SCALE[self._unit]
        largest = max((_reach(row.entries[self._index]) for row in self._rows), default=0.0) * scale or 1.0
        for place, row in enumerate(self._rows):
            entry = row.entries[self._index]
            middle = entry.median * scale if entry is not None and entry.median is not None else 0.0
            is_baseline = row.label == self._baseline
            axes.barh(place, middle, height=0.66, color=style.colour(1 if is_baseline else 0))
            if entry is not None and entry.median is not None:
                low, high = _interval(entry)
                if high > low:
                    axes.plot([low * scale, high * scale], [place, place], color=style.ink, linewidth=1.2,
                              marker="|", markersize=5)  # fmt: skip
            right = max(middle, (_reach(entry) * scale))
            axes.text(right + largest * 0.015, place, _words(row, self._index, self._unit), va="center", fontsize=7.5,
                      color=style.ink)  # fmt: skip
        axes.set_yticks(range(len(self._rows)), [short(row.label) for row in self._rows])
        axes.set_ylim(len(self._rows) - 0.4, -0.6)
        axes.set_xlim(0, largest * 1.32)
        axes.locator_params(axis="x", nbins=5)
        axes.grid(visible=False, axis="y")
        numbers(axes.xaxis)


def _interval(entry: Entry) -> tuple[float, float]:
    """At 95 % where there are rounds enough for one that says something, else from the worst round to the best."""
    if entry.valid >= 3 and entry.interval_low is not None and entry.interval_high is not None:
        return entry.interval_low, entry.interval_high
    return entry.low or 0.0, entry.high or 0.0


def _reach(entry: Entry | None) -> float:
    return max(entry.median, _interval(entry)[1]) if entry is not None and entry.median is not None else 0.0


def _words(row: Row, index: int, unit: Unit) -> str:
    entry = row.entries[index]
    if entry is None or entry.median is None:
        return f"{MARKS[state_of(row, index)]} {state_of(row, index)}"
    return f"{rate_text(entry.median, unit)}  {share_text(entry)}".rstrip()


BARS = Chart("bars", "Layouts side by side", bars_panels)
_TICKS = (0.5, 0.1, 0.01, 0.001, 0.0001)
_NAMES = ("p50", "p90", "p99", "p99.9", "p99.99")
Curve = list[tuple[float, float]]
"""Share of operations that took longer, and how long in µs."""


def latency_panels(comparison: Comparison) -> list[Panel]:
    """A panel for each workload and direction of which histograms are there."""
    found = []
    for index, name in enumerate(comparison.workloads):
        for direction in DIRECTIONS:
            curves = []
            for row in comparison.rows:
                entry = row.entries[index]
                points = [one for one in entry.points if one.valid and direction in one.latency] if entry else []
                if points and (counts := histogram(points, direction)):
                    curves.append((row.label, _curve(counts)))
            for title, part in in_parts(f"{short(name, 36)}, latency of {direction}", curves):
                about = f"latency of {direction} by percentile of {', '.join(short(label) for label, _ in part)}"
                found.append(Panel(title, _Percentiles(part), 2.3 + legend_height(len(part)), about))
    return found


class _Percentiles:
    def __init__(self, curves: Sequence[tuple[str, Curve]]) -> None:
        self._curves = curves

    def __call__(self, axes: Axes, style: Style) -> None:
        for index, (label, curve) in enumerate(self._curves):
            shares, times_us = zip(*curve, strict=True)
            axes.step(shares, times_us, where="post", color=style.colour(index), label=short(label),
                      marker=style.mark(index), markersize=3, markevery=max(1, len(curve) // 6))  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(1, min((curve[-1][0] for _, curve in self._curves), default=0.01))
        axes.set_xticks(_TICKS, _NAMES)
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: latency_text(value))
        legend(axes)


def _curve(counts: dict[int, int]) -> Curve:
    bins = sorted(counts)
    total = sum(counts.values())
    seen = [0, *accumulate(counts[bin_] for bin_ in bins)]
    return [((total - before) / total, bin_ / 1000) for before, bin_ in zip(seen, bins, strict=False)]


LATENCY = Chart("latency", "Latency by percentile", latency_panels)


class Dot(NamedTuple):
    """One layout under one workload."""

    row: int
    size_bytes: float
    """Size of the mean operation, in bytes."""
    bytes_per_s: float


def roofline_panels(comparison: Comparison) -> list[Panel]:
    """One panel, where something has both rates, and more where there are many layouts."""
    dots = _dots(comparison)
    if not dots:
        return []
    roof = _roof(comparison)
    found = []
    for title, rows in in_parts("Throughput by operation size", sorted({dot.row for dot in dots})):
        mine = [dot for dot in dots if dot.row in rows]
        about = f"throughput by operation size of {len(mine)} cells" + (" under the roof of the bare disks" if roof else "")
        found.append(Panel(title, _Roofline(comparison, mine, roof), 2.8 + legend_height(len(rows) + 1), about))
    return found


class _Roofline:
    def __init__(self, comparison: Comparison, dots: list[Dot], roof: Roof | None) -> None:
        self._comparison, self._dots, self._roof = comparison, dots, roof

    def __call__(self, axes: Axes, style: Style) -> None:
        for row in sorted({dot.row for dot in self._dots}):
            mine = [dot for dot in self._dots if dot.row == row]
            axes.plot([dot.size_bytes for dot in mine], [dot.bytes_per_s / 1e6 for dot in mine], linestyle="none",
                      marker=style.mark(row), markersize=5, color=style.colour(row),
                      label=short(self._comparison.rows[row].label))  # fmt: skip
        sizes = [dot.size_bytes for dot in self._dots]
        left, right = min(sizes) / 2, max(sizes) * 2
        if self._roof is not None:
            iops, bytes_per_s, words = self._roof
            knee = bytes_per_s / iops
            edge = sorted({left, min(max(knee, left), right), right})
            axes.plot(edge, [min(size * iops, bytes_per_s) / 1e6 for size in edge], color=style.ink, linewidth=1.1,
                      linestyle="--", label=words)  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlim(left, right)
        axes.xaxis.set_major_formatter(lambda value, _: _size(value))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
        axes.set_xlabel("bytes of the mean operation")
        axes.set_ylabel("MB/s")
        legend(axes)


def _dots(comparison: Comparison) -> list[Dot]:
    found = []
    for number, row in enumerate(comparison.rows):
        for entry in row.entries:
            valid = [p for p in entry.points if p.valid and p.iops and p.bytes_per_s] if entry is not None else []
            iops = sum(one.iops or 0.0 for one in valid) / len(valid) if valid else 0.0
            bytes_per_s = sum(one.bytes_per_s or 0.0 for one in valid) / len(valid) if valid else 0.0
            if iops and bytes_per_s:
                found.append(Dot(number, bytes_per_s / iops, bytes_per_s))
    return found


class Roof(NamedTuple):
    """Largest operations and bytes per second of bare disks."""

    iops: float
    bytes_per_s: float
    words: str


def _roof(comparison: Comparison) -> Roof | None:
    """Return the rate of the disks measured all at once, or else the sum of those measured alone, of the first result that
    has it.
    """
    return _together(comparison) or _added_up(comparison)


def _together(comparison: Comparison) -> Roof | None:
    rows = [row for row in comparison.rows if row.bare == "together"]
    first = min((row.source for row in rows), default=0)
    points = [
        point
        for row in rows
        if row.source == first
        for entry in row.entries
        for point in (entry.points if entry is not None else ())
        if point.valid
    ]
    iops = max((point.iops or 0.0 for point in points), default=0.0)
    moved = max((point.bytes_per_s or 0.0 for point in points), default=0.0)
    return Roof(iops, moved, "bare disks, all at once") if iops and moved else None


def _added_up(comparison: Comparison) -> Roof | None:
    disks: dict[tuple[int, str], tuple[float, float]] = {}
    for row in comparison.rows:
        for entry in row.entries:
            for point in entry.points if entry is not None else ():
                if point.valid and point.part:
                    key = (row.source, point.part)
                    iops, moved = disks.get(key, (0.0, 0.0))
                    disks[key] = max(iops, point.iops or 0.0), max(moved, point.bytes_per_s or 0.0)
    first = min((source for source, _ in disks), default=0)
    found = [both for (source, _), both in disks.items() if source == first]
    iops, moved = sum(one for one, _ in found), sum(one for _, one in found)
    return Roof(iops, moved, "bare disks, added up") if iops and moved else None


def _size(value: float) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:g} {unit}" if value / size < 1024 else f"{value / size:.0f} {unit}"
    return f"{value:g} B"


ROOFLINE = Chart("roofline", "Under the roof of the bare disks", roofline_panels)
