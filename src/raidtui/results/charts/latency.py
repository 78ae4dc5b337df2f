"""Latency by percentile, both axes logarithmic: the tail gets as much room as the middle. From merged histograms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from raidtui.results.charts.base import Chart, Panel, in_parts, legend, legend_height
from raidtui.results.charts.style import Style, short
from raidtui.results.comparison import Comparison
from raidtui.results.extract import DIRECTIONS
from raidtui.results.latency import histogram
from raidtui.results.numbers import latency_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICKS = (0.5, 0.1, 0.01, 0.001, 0.0001)
_NAMES = ("p50", "p90", "p99", "p99.9", "p99.99")

Curve = list[tuple[float, float]]
"""Share of operations that took longer, and how long in µs."""


def panels(comparison: Comparison) -> list[Panel]:
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


CHART = Chart("latency", "Latency by percentile", panels)
