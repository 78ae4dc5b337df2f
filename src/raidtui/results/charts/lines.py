"""What the workload saw second by second: a panel for each workload, a line for each layout and round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from raidtui.model.measure import Sample
from raidtui.results.charts.base import Chart, Panel, in_parts, legend, legend_height, numbers
from raidtui.results.charts.style import Style, short
from raidtui.results.comparison import Comparison, Entry
from raidtui.results.numbers import Unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

class Course(NamedTuple):
    """One layout: its rounds, each with whether it is valid and its rate by second."""

    label: str
    rounds: list[tuple[bool, list[tuple[float, float]]]]


def panels(comparison: Comparison) -> list[Panel]:
    """A panel for each workload that has samples, and more where there are many layouts."""
    found = []
    for index, (name, unit) in enumerate(zip(comparison.workloads, comparison.units, strict=True)):
        courses = [_course(row.label, entry, unit) for row in comparison.rows if (entry := row.entries[index]) is not None]
        for title, part in in_parts(f"{short(name, 40)}, {unit} by second", [one for one in courses if one.rounds]):
            about = f"{unit} over time of {', '.join(short(course.label) for course in part)}"
            found.append(Panel(title, _Lines(part), 2.3 + legend_height(len(part)), about))
    return found


class _Lines:
    def __init__(self, courses: Sequence[Course]) -> None:
        self._courses = courses

    def __call__(self, axes: Axes, style: Style) -> None:
        for index, (label, rounds) in enumerate(self._courses):
            for number, (valid, points) in enumerate(rounds):
                axes.plot([at for at, _ in points], [value for _, value in points], color=style.colour(index),
                          alpha=1.0 if number == 0 else 0.45, label=short(label) if number == 0 else None,
                          linestyle="-" if valid else ":", marker=style.mark(index), markersize=3,
                          markevery=max(1, len(points) // 8))  # fmt: skip
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        invalid = any(not valid for course in self._courses for valid, _ in course.rounds)
        axes.set_xlabel("s (dotted: not valid)" if invalid else "s")
        numbers(axes.yaxis)
        legend(axes)


def _course(label: str, entry: Entry, unit: Unit) -> Course:
    rounds = [(one.valid, _points(one.cell.samples, unit)) for one in entry.points if one.cell is not None]
    return Course(label, [one for one in rounds if len(one[1]) > 1])


def _points(samples: tuple[Sample, ...], unit: Unit) -> list[tuple[float, float]]:
    return [(one.at_s, sum(d.iops if unit == "IOPS" else d.bytes_per_s / 1e6 for d in one.moved)) for one in samples]


CHART = Chart("lines", "Second by second", panels)
