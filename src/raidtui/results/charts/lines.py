"""What the workload saw second by second: a panel for each workload, a line for each layout and round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raidtui.model.measure import Sample
from raidtui.results.charts.base import Chart, Panel, legend, legend_height, numbers
from raidtui.results.charts.style import Style, short
from raidtui.results.comparison import Comparison
from raidtui.results.numbers import Unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LINES = 8
"""Layouts in one panel; more cannot be told apart."""

Points = list[tuple[float, float]]


def panels(comparison: Comparison) -> list[Panel]:
    """A panel for each workload that has samples, and more where there are many layouts."""
    found = []
    for index, (name, unit) in enumerate(zip(comparison.workloads, comparison.units, strict=True)):
        series = []
        for row in comparison.rows:
            entry = row.entries[index]
            rounds = [_points(one.cell.samples, unit) for one in entry.points if one.cell is not None] if entry else []
            if rounds := [points for points in rounds if len(points) > 1]:
                series.append((row.label, rounds))
        for start in range(0, len(series), _MOST_LINES):
            part = series[start : start + _MOST_LINES]
            about = f"{unit} over time of {', '.join(short(label) for label, _ in part)}"
            title = f"{short(name, 40)}, {unit} by second"
            found.append(Panel(title, _Lines(part, unit), 2.3 + legend_height(len(part)), about))
    return found


class _Lines:
    def __init__(self, series: list[tuple[str, list[Points]]], unit: Unit) -> None:
        self._series, self._unit = series, unit

    def __call__(self, axes: Axes, style: Style) -> None:
        for index, (label, rounds) in enumerate(self._series):
            for number, points in enumerate(rounds):
                axes.plot([at for at, _ in points], [value for _, value in points], color=style.colour(index),
                          alpha=1.0 if number == 0 else 0.45, label=short(label) if number == 0 else None,
                          marker=style.mark(index), markersize=3, markevery=max(1, len(points) // 8))  # fmt: skip
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.set_xlabel("s")
        numbers(axes.yaxis)
        legend(axes)


def _points(samples: tuple[Sample, ...], unit: Unit) -> Points:
    found = []
    for sample in samples:
        found.append((sample.at_s, sum(d.iops if unit == "IOPS" else d.bytes_per_s / 1e6 for d in sample.moved)))
    return found


CHART = Chart("lines", "Second by second", panels)
