"""Charts over time: by second, by pass, by round, and the utilisation of every device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from raidtui.model.measure import Sample
from raidtui.model.result import Cell
from raidtui.model.statistics.steady import WINDOW, window_of
from raidtui.results.charts.base import Chart, Panel, Style, by_number, in_parts, legend, legend_height, numbers, short
from raidtui.results.comparison import Comparison, Entry
from raidtui.results.rates import SCALE, Unit, again_label, pass_rate, rate_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LineCourse(NamedTuple):
    """One layout: its rounds, each with whether it is valid and its rate by second."""

    label: str
    rounds: list[tuple[bool, list[tuple[float, float]]]]


def lines_panels(comparison: Comparison) -> list[Panel]:
    """A panel for each workload that has samples, and more where there are many layouts."""
    found = []
    for index, (name, unit) in enumerate(zip(comparison.workloads, comparison.units, strict=True)):
        courses = [_course(row.label, entry, unit) for row in comparison.rows if (entry := row.entries[index]) is not None]
        for title, part in in_parts(f"{short(name, 40)}, {unit} by second", [one for one in courses if one.rounds]):
            about = f"{unit} over time of {', '.join(short(course.label) for course in part)}"
            found.append(Panel(title, _Lines(part), 2.3 + legend_height(len(part)), about))
    return found


class _Lines:
    def __init__(self, courses: Sequence[LineCourse]) -> None:
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


def _course(label: str, entry: Entry, unit: Unit) -> LineCourse:
    rounds = [(one.valid, _points(one.cell.samples, unit)) for one in entry.points if one.cell is not None]
    return LineCourse(label, [one for one in rounds if len(one[1]) > 1])


def _points(samples: tuple[Sample, ...], unit: Unit) -> list[tuple[float, float]]:
    return [(one.at_s, sum(d.iops if unit == "IOPS" else d.bytes_per_s / 1e6 for d in one.moved)) for one in samples]


LINES = Chart("lines", "Second by second", lines_panels)


class PassCourse(NamedTuple):
    """One cell: the rate of every pass, and the first and last pass of its window, counted from 1."""

    label: str
    rates: list[float]
    window: tuple[int, int]


def passes_panels(comparison: Comparison) -> list[Panel]:
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
    def __init__(self, courses: Sequence[PassCourse]) -> None:
        self._courses = courses

    def __call__(self, axes: Axes, style: Style) -> None:
        for index, (label, rates, (first, last)) in enumerate(self._courses):
            colour, mark = style.colour(index), style.mark(index)
            axes.plot(range(1, len(rates) + 1), rates, color=colour, marker=mark, markersize=3, linewidth=0.9, label=label)
            axes.plot(range(first, last + 1), rates[first - 1 : last], color=colour, linewidth=2.6, alpha=0.6)
        by_number(axes, "pass (thick: the window that is reported)")


def _courses(label: str, entry: Entry, unit: Unit) -> list[PassCourse]:
    scale = SCALE[unit]
    found = []
    for point in (*entry.points, *entry.again):
        steady = point.cell.steady if point.cell is not None else None
        if steady is not None and steady.passes:
            name = short(again_label(label) if point.again else label, 18)
            verdict = f"steady at {steady.reached}" if steady.reached else "not steady"
            rates = [pass_rate(one.summary, unit) * scale for one in steady.passes]
            found.append(PassCourse(f"{name} {point.round}, {verdict}", rates, steady.window))
    return found


PASSES = Chart("passes", "Pass by pass, until it is steady", passes_panels)
_LEAST_ROUNDS = 3


class RoundCourse(NamedTuple):
    """One layout: its rounds with their rates, and those that are not valid."""

    label: str
    valid: list[tuple[int, float]]
    invalid: list[tuple[int, float]]


def rounds_panels(comparison: Comparison) -> list[Panel]:
    """A panel for each workload of which something was measured in three rounds or more."""
    found = []
    for index, (name, unit) in enumerate(zip(comparison.workloads, comparison.units, strict=True)):
        entries = [(row.label, entry) for row in comparison.rows if (entry := row.entries[index]) is not None]
        courses = [_rounds_course(label, entry, unit) for label, entry in entries]
        courses = [course for course in courses if len(course.valid) >= _LEAST_ROUNDS]
        for title, part in in_parts(f"{short(name, 40)}, {unit} by round", courses):
            about = "; ".join(_words(course) for course in part)
            found.append(Panel(title, _Rounds(part), 2.3 + legend_height(len(part)), about))
    return found


class _Rounds:
    def __init__(self, courses: Sequence[RoundCourse]) -> None:
        self._courses = courses

    def __call__(self, axes: Axes, style: Style) -> None:
        for index, course in enumerate(self._courses):
            axes.plot([at for at, _ in course.valid], [rate for _, rate in course.valid], color=style.colour(index),
                      marker=style.mark(index), markersize=4, label=_words(course))  # fmt: skip
            if course.invalid:
                axes.plot([at for at, _ in course.invalid], [rate for _, rate in course.invalid], linestyle="none",
                          color=style.colour(index), marker="x", markersize=6)  # fmt: skip
        by_number(axes, "round (x: not valid)")


def _rounds_course(label: str, entry: Entry, unit: Unit) -> RoundCourse:
    scale = SCALE[unit]
    rates = [(one.round, one.valid, rate * scale) for one in entry.points if (rate := rate_of(one, unit)) is not None]
    return RoundCourse(
        label,
        sorted((at, rate) for at, valid, rate in rates if valid),
        sorted((at, rate) for at, valid, rate in rates if not valid),
    )


def _words(course: RoundCourse) -> str:
    """The layout, and after five rounds whether SNIA's specification calls it steady."""
    if len(course.valid) < WINDOW:
        return short(course.label)
    steady = window_of([rate for _, rate in course.valid]).steady
    return f"{short(course.label, 20)}, {'steady' if steady else 'not steady'}"


ROUNDS = Chart("rounds", "Round by round", rounds_panels)
_COLUMN = "util_percent"


def heat_map_panels(comparison: Comparison) -> list[Panel]:
    """A panel for each layout and workload with series of more than one device: the first valid round."""
    found = []
    for row in comparison.rows:
        for index, name in enumerate(comparison.workloads):
            entry = row.entries[index]
            cells = [one.cell for one in entry.points if one.cell is not None and one.valid] if entry else []
            cell = next((one for one in cells if len(_devices(one)) > 1), None)
            if cell is not None:
                title = f"{short(row.label, 22)}, {short(name, 24)}"
                about = f"busy time of {', '.join(_devices(cell))} over {cell.seconds:.0f} s"
                found.append(Panel(title, _Heat(cell), 0.9 + 0.2 * len(_devices(cell)), about))
    return found


class _Heat:
    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    def __call__(self, axes: Axes, style: Style) -> None:
        names = _devices(self._cell)
        at_s = self._cell.device_at_s
        edges = [0.0, *at_s]
        values = []
        for name in names:
            series = self._cell.devices[name].series[_COLUMN][: len(at_s)]
            series = [*series, *[None] * (len(at_s) - len(series))]
            values.append([float("nan") if value is None else value for value in series])
        mesh = axes.pcolormesh(edges, range(len(names) + 1), values, vmin=0, vmax=100, cmap="cividis", rasterized=False)
        axes.set_yticks([place + 0.5 for place in range(len(names))], [self._label(name) for name in names])
        axes.invert_yaxis()
        axes.set_xlabel("s")
        axes.grid(visible=False)
        figure = axes.get_figure()
        assert figure is not None
        bar = figure.colorbar(mesh, ax=axes, pad=0.02, fraction=0.05, ticks=[0, 50, 100])
        bar.set_label("busy, %", color=style.muted)
        bar.outline.set_visible(False)

    def _label(self, name: str) -> str:
        use = self._cell.devices[name]
        return f"{short(name, 12)} {short(use.role, 8)}"


def _devices(cell: Cell) -> list[str]:
    """The target first, then what is below it by name."""
    found = [name for name, use in cell.devices.items() if len(cell.device_at_s) > 1 and use.series.get(_COLUMN)]
    return sorted(found, key=lambda name: (cell.devices[name].role != "target", name))


HEAT_MAP = Chart("heat-map", "Devices over time", heat_map_panels)
