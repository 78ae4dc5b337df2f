"""Charts of sweeps: operations per second against latency, a curve for each layout, with its knee."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from raidtui.results.charts.drawing import (
    Chart,
    Line,
    Panel,
    Style,
    Tip,
    in_parts,
    legend_height,
    numbers,
    places_of,
    round_times,
    series_id,
    short,
)
from raidtui.results.comparison import Comparison
from raidtui.results.rates import iops_text, latency_text
from raidtui.results.sweep_lines import knee_lines, label_of, load_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST_REACH = 1.6
"""Half the height of the axis of latencies, at least, as a factor: small differences do not fill it."""
_TICK_GAP = 0.11
"""Share of the axis between two ticks, at least."""
_LABEL_POINTS = (20.0, 7.0)
"""Width and height of a label: one that would touch another is left out."""


class _Dot(NamedTuple):
    iops: float
    mean_us: float
    words: str
    """Queue depth × jobs."""
    knee: bool


def _panels(comparison: Comparison) -> list[Panel]:
    """Return a panel for each sweep, more where curves are many; points without a latency have no place."""
    places, found = places_of(comparison), []
    for sweep in comparison.sweeps:
        lines = []
        for curve in sweep.curves:
            dots = [
                _Dot(point.iops, point.mean_us, load_words(point), place == curve.knee)
                for place, point in enumerate(curve.points)
                if point.iops is not None and point.mean_us
            ]
            if dots:
                label = label_of(sweep, curve)
                lines.append(Line(short(label), dots, places[curve.label], f"{label}, {sweep.name}", "IOPS"))
        about = "; ".join(knee_lines(sweep))
        for title, part in in_parts(f"{short(sweep.name, 30)}, queue depth × jobs", lines):
            found.append(Panel(title, partial(_draw, part), 3.0 + legend_height(len(part)), about, f"sweep {sweep.name}"))
    return found


def _draw(curves: Sequence[Line[list[_Dot]]], axes: Axes, style: Style) -> list[Tip]:
    """Draw the curves and rings around their knees; the text of a point has its load, rate and latency."""
    seen: set[int] = set()
    for curve in curves:
        label, dots, place, series = curve.label, curve.data, curve.place, series_id(curve.place)
        # A layout has a curve for each block size: the same colour, and another line.
        dashed = "--" if place in seen else "-"
        seen.add(place)
        axes.plot([dot.iops for dot in dots], [dot.mean_us for dot in dots], dashed, color=style.colour(place),
                  marker=style.mark(place), markersize=3.5, label=label, gid=series)  # fmt: skip
        knees = [dot for dot in dots if dot.knee]
        axes.plot([dot.iops for dot in knees], [dot.mean_us for dot in knees], linestyle="none", marker="o", markersize=9,
                  markerfacecolor="none", markeredgecolor=style.ink, markeredgewidth=0.9, gid=series)  # fmt: skip
    axes.set_yscale("log")
    times = [dot.mean_us for curve in curves for dot in curve.data]
    middle, reach = math.sqrt(min(times) * max(times)), max(_LEAST_REACH, math.sqrt(max(times) / min(times)) * 1.12)
    round_times(axes.yaxis, middle / reach, middle * reach, _TICK_GAP)
    axes.set_xlim(0, max(dot.iops for curve in curves for dot in curve.data) * 1.15 or 1.0)
    axes.locator_params(axis="x", nbins=5)
    numbers(axes.xaxis)
    axes.set_xlabel("IOPS; ◯ knee")
    axes.set_ylabel("mean latency")
    _label([(dot, curve.place) for curve in curves for dot in curve.data], axes, style)
    return [Tip(dot.iops, dot.mean_us, f"{one.about} {_words(dot)}", one.place) for one in curves for dot in one.data]


def _words(dot: _Dot) -> str:
    return f"{dot.words}: {iops_text(dot.iops)} IOPS at {latency_text(dot.mean_us)}{', the knee' if dot.knee else ''}"


def _label(dots: Sequence[tuple[_Dot, int]], axes: Axes, style: Style) -> None:
    """Write queue depth × jobs at the points, knees first, as far as there is room."""
    figure = axes.get_figure()
    to_points = 72.0 / (figure.dpi if figure is not None else 72.0)
    taken: list[tuple[float, float]] = []
    for dot, place in sorted(dots, key=lambda found: not found[0].knee):
        x, y = (value * to_points for value in axes.transData.transform((dot.iops, dot.mean_us)))
        if all(abs(x - left) > _LABEL_POINTS[0] or abs(y - low) > _LABEL_POINTS[1] for left, low in taken):
            taken.append((x, y))
            axes.annotate(dot.words, (dot.iops, dot.mean_us), xytext=(4, -2), textcoords="offset points", va="top",
                          fontsize=6, color=style.muted, gid=series_id(place))  # fmt: skip


SWEEPS = Chart("sweeps", "IOPS against latency", _panels)
