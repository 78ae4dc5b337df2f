"""Charts of whole cells: latency by percentile, throughput under the limit of the bare disks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from raidtui.base.text import clean, plural
from raidtui.model.measure import DIRECTIONS
from raidtui.results.charts.drawing import (
    Chart,
    Line,
    Panel,
    Style,
    Tip,
    in_parts,
    legend_height,
    panels_of_lines,
    places_of,
    series_id,
    short,
)
from raidtui.results.comparison import Comparison, Row
from raidtui.results.extract import Point
from raidtui.results.percentiles import TICKS, Curve, curve_of, time_at
from raidtui.results.rates import histogram, iops_text, latency_text, mb_s_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _latency_panels(comparison: Comparison) -> list[Panel]:
    """Return a panel for each workload and direction that has histograms."""
    found: list[Panel] = []
    places = places_of(comparison)
    for index, name, unit in comparison.columns():
        for direction in DIRECTIONS:
            curves: list[Line[Curve]] = []
            for row, entry in comparison.measured(index):
                points = [one for one in entry.points if one.valid and direction in one.latency]
                if points and (counts := histogram(points, direction)):
                    about = f"{clean(row.label, 200)}, {clean(name, 200)}, {direction} over {plural(len(points), 'round')}"
                    curves.append(Line(short(row.label), curve_of(counts), places[row.label], about, unit))
            found += panels_of_lines(f"{short(name, 36)}, latency of {direction}", curves, _draw_percentiles,
                                     f"latency {index}")  # fmt: skip
    return found


def _draw_percentiles(curves: Sequence[Line[Curve]], axes: Axes, style: Style) -> list[Tip]:
    tips = []
    for one in curves:
        axes.step(*zip(*one.data, strict=True), where="post", color=style.colour(one.place), label=one.label,
                  marker=style.mark(one.place), markersize=3, markevery=max(1, len(one.data) // 6),
                  gid=series_id(one.place))  # fmt: skip
        for share, name in TICKS.items():
            if us := time_at(one.data, share):
                tips.append(Tip(share, us, f"{one.about}: {name} {latency_text(us)}", one.place))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1, min((line.data[-1][0] for line in curves), default=0.01))
    axes.set_xticks(list(TICKS), list(TICKS.values()))
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: latency_text(value))
    return tips


LATENCY = Chart("latency", "Latency by percentile", _latency_panels)


class Dot(NamedTuple):
    """One layout under one workload."""

    row: int
    size_bytes: float
    """Size of the mean operation, in bytes."""
    bytes_per_s: float
    words: str


class Roof(NamedTuple):
    """Largest operations and bytes per second of bare disks."""

    iops: float
    bytes_per_s: float
    words: str


def _roofline_panels(comparison: Comparison) -> list[Panel]:
    """Return one panel if anything has both rates, and more where there are many layouts."""
    dots = _dots(comparison)
    roof = _roof(comparison)
    found = []
    for title, rows in in_parts("Throughput by operation size", sorted({dot.row for dot in dots})):
        mine = [dot for dot in dots if dot.row in rows]
        about = f"throughput by operation size of {len(mine)} cells" + (" under the roof of the bare disks" if roof else "")
        draw = partial(_draw_roofline, comparison, mine, roof)
        found.append(Panel(title, draw, 2.8 + legend_height(len(rows) + 1), about, "roofline"))
    return found


def _draw_roofline(comparison: Comparison, dots: list[Dot], roof: Roof | None, axes: Axes, style: Style) -> list[Tip]:
    for row in sorted({dot.row for dot in dots}):
        mine = [(dot.size_bytes, dot.bytes_per_s / 1e6) for dot in dots if dot.row == row]
        axes.plot(*zip(*mine, strict=True), linestyle="none", marker=style.mark(row), markersize=5, color=style.colour(row),
                  label=short(comparison.rows[row].label), gid=series_id(row))  # fmt: skip
    sizes = [dot.size_bytes for dot in dots]
    left, right = min(sizes) / 2, max(sizes) * 2
    if roof is not None:
        knee = roof.bytes_per_s / roof.iops
        edge = sorted({left, min(max(knee, left), right), right})
        limits = [min(size * roof.iops, roof.bytes_per_s) / 1e6 for size in edge]
        axes.plot(edge, limits, color=style.ink, linewidth=1.1, linestyle="--", label=roof.words)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.xaxis.set_major_formatter(lambda value, _: _size(value))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    axes.set_xlabel("bytes of the mean operation")
    axes.set_ylabel("MB/s")
    return [Tip(dot.size_bytes, dot.bytes_per_s / 1e6, dot.words, dot.row) for dot in dots]


def _dots(comparison: Comparison) -> list[Dot]:
    found = []
    for number, row in enumerate(comparison.rows):
        for workload, entry in zip(comparison.workloads, row.entries, strict=True):
            rates = [(p.iops, p.bytes_per_s) for p in entry.points if p.valid and p.iops and p.bytes_per_s] if entry else []
            if rates:
                iops, moved = (sum(values) / len(rates) for values in zip(*rates, strict=True))
                head = f"{clean(row.label, 200)}, {clean(workload, 200)}: "
                words = f"{head}{mb_s_text(moved)} MB/s, {iops_text(iops)} IOPS, mean of {plural(len(rates), 'round')}"
                found.append(Dot(number, moved / iops, moved, words))
    return found


def _roof(comparison: Comparison) -> Roof | None:
    """Return the rate of the bare disks: all at once, else the sum of those measured alone.

    It is that of the first result that has it.
    """
    together: dict[int, list[Point]] = {}
    alone: dict[int, dict[str, list[Point]]] = {}
    for row in comparison.rows:
        for point in _valid_points(row):
            if row.bare == "together":
                together.setdefault(row.source, []).append(point)
            if point.part:
                alone.setdefault(row.source, {}).setdefault(point.part, []).append(point)
    for words, groups in (
        ("bare disks, all at once", [together[min(together)]] if together else []),
        ("bare disks, added up", [*alone[min(alone)].values()] if alone else []),
    ):
        iops = sum(max(point.iops or 0.0 for point in points) for points in groups)
        moved = sum(max(point.bytes_per_s or 0.0 for point in points) for points in groups)
        if iops and moved:
            return Roof(iops, moved, words)
    return None


def _valid_points(row: Row) -> Iterator[Point]:
    return (point for entry in row.entries if entry is not None for point in entry.points if point.valid)


def _size(value: float) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:g} {unit}" if value / size < 1024 else f"{value / size:.0f} {unit}"
    return f"{value:g} B"


ROOFLINE = Chart("roofline", "Under the roof of the bare disks", _roofline_panels)
