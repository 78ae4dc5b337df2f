"""Round by round: whether a layout is steady, ages or heats up. A panel for each workload, a line for each layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from raidtui.model.statistics.steady import WINDOW, window_of
from raidtui.results.charts.base import Chart, Panel, by_number, in_parts, legend_height
from raidtui.results.charts.style import Style, short
from raidtui.results.comparison import Comparison, Entry
from raidtui.results.numbers import SCALE, Unit
from raidtui.results.rates import rate_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST_ROUNDS = 3


class Course(NamedTuple):
    """One layout: its rounds with their rates, and those that are not valid."""

    label: str
    valid: list[tuple[int, float]]
    invalid: list[tuple[int, float]]


def panels(comparison: Comparison) -> list[Panel]:
    """A panel for each workload of which something was measured in three rounds or more."""
    found = []
    for index, (name, unit) in enumerate(zip(comparison.workloads, comparison.units, strict=True)):
        courses = [_course(row.label, entry, unit) for row in comparison.rows if (entry := row.entries[index]) is not None]
        courses = [course for course in courses if len(course.valid) >= _LEAST_ROUNDS]
        for title, part in in_parts(f"{short(name, 40)}, {unit} by round", courses):
            about = "; ".join(_words(course) for course in part)
            found.append(Panel(title, _Rounds(part), 2.3 + legend_height(len(part)), about))
    return found


class _Rounds:
    def __init__(self, courses: Sequence[Course]) -> None:
        self._courses = courses

    def __call__(self, axes: Axes, style: Style) -> None:
        for index, course in enumerate(self._courses):
            axes.plot([at for at, _ in course.valid], [rate for _, rate in course.valid], color=style.colour(index),
                      marker=style.mark(index), markersize=4, label=_words(course))  # fmt: skip
            if course.invalid:
                axes.plot([at for at, _ in course.invalid], [rate for _, rate in course.invalid], linestyle="none",
                          color=style.colour(index), marker="x", markersize=6)  # fmt: skip
        by_number(axes, "round (x: not valid)")


def _course(label: str, entry: Entry, unit: Unit) -> Course:
    scale = SCALE[unit]
    rates = [(one.round, one.valid, rate * scale) for one in entry.points if (rate := rate_of(one, unit)) is not None]
    return Course(
        label,
        sorted((at, rate) for at, valid, rate in rates if valid),
        sorted((at, rate) for at, valid, rate in rates if not valid),
    )


def _words(course: Course) -> str:
    """The layout, and after five rounds whether SNIA's specification calls it steady."""
    if len(course.valid) < WINDOW:
        return short(course.label)
    steady = window_of([rate for _, rate in course.valid]).steady
    return f"{short(course.label, 20)}, {'steady' if steady else 'not steady'}"


CHART = Chart("rounds", "Round by round", panels)
