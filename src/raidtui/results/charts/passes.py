"""Pass by pass: how each cell came to a steady state. A panel for each workload, a line for each cell, its window thick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from raidtui.results.charts.base import Chart, Panel, by_number, in_parts, legend_height
from raidtui.results.charts.style import Style, short
from raidtui.results.comparison import Comparison, Entry
from raidtui.results.convergence import pass_rate
from raidtui.results.numbers import SCALE, Unit
from raidtui.results.rates import again_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Course(NamedTuple):
    """One cell: the rate of every pass, and the first and last pass of its window, counted from 1."""

    label: str
    rates: list[float]
    window: tuple[int, int]


def panels(comparison: Comparison) -> list[Panel]:
    """A panel for each workload that was run until it is steady, and more where there are many cells."""
    found = []
    for index, (name, unit) in enumerate(zip(comparison.workloads, comparison.units, strict=True)):
        courses = [
            course for row in comparison.rows if (entry := row.entries[index]) is not None
            for course in _courses(row.label, entry, unit)
        ]  # fmt: skip
        for title, part in in_parts(f"{short(name, 40)}, {unit} by pass", courses):
            about = "; ".join(course.label for course in part)
            found.append(Panel(title, _Passes(part), 2.3 + legend_height(len(part)), about))
    return found


class _Passes:
    def __init__(self, courses: Sequence[Course]) -> None:
        self._courses = courses

    def __call__(self, axes: Axes, style: Style) -> None:
        for index, (label, rates, (first, last)) in enumerate(self._courses):
            colour, mark = style.colour(index), style.mark(index)
            axes.plot(range(1, len(rates) + 1), rates, color=colour, marker=mark, markersize=3, linewidth=0.9, label=label)
            axes.plot(range(first, last + 1), rates[first - 1 : last], color=colour, linewidth=2.6, alpha=0.6)
        by_number(axes, "pass (thick: the window that is reported)")


def _courses(label: str, entry: Entry, unit: Unit) -> list[Course]:
    scale = SCALE[unit]
    found = []
    for point in (*entry.points, *entry.again):
        steady = point.cell.steady if point.cell is not None else None
        if steady is not None and steady.passes:
            name = short(again_label(label) if point.again else label, 18)
            verdict = f"steady at {steady.reached}" if steady.reached else "not steady"
            rates = [pass_rate(one.summary, unit) * scale for one in steady.passes]
            found.append(Course(f"{name} {point.round}, {verdict}", rates, steady.window))
    return found


CHART = Chart("passes", "Pass by pass, until it is steady", panels)
