"""Charts over time: by second, by pass, by round, and the utilisation of every device."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from raidtui.base.text import clean
from raidtui.model.measure import Sample
from raidtui.model.result import Cell, DeviceUse
from raidtui.model.statistics.steady import WINDOW, window_of
from raidtui.results.charts.drawing import (
    Chart,
    Line,
    Panel,
    Style,
    Tip,
    by_number,
    from_zero,
    numbers,
    panels_of_lines,
    places_of,
    series_id,
    short,
)
from raidtui.results.comparison import Comparison, Entry
from raidtui.results.rates import RATES, SCALE, Unit, again_label, pass_rate, rate_of, rate_text, unit_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

T = TypeVar("T")
Points = Sequence[tuple[float, float]]


def _by_workload(
    comparison: Comparison,
    per: str,
    lines_of: Callable[[str, Entry, Unit], Iterator[tuple[str, T]]],
    draw: Callable[[Sequence[Line[T]], Axes, Style], Sequence[Tip]],
    units: Collection[Unit] = RATES,
) -> list[Panel]:
    """Return a panel for each workload of which something is to be drawn, and more where there are many lines.

    Workloads in other `units` have none: their numbers are not drawn in this way.
    """
    found: list[Panel] = []
    places = places_of(comparison)
    for index, name, unit in comparison.columns():
        if unit not in units:
            continue
        lines = [
            Line(label, data, places[row.label], f"{clean(row.label, 200)}, {clean(name, 200)}", unit)
            for row, entry in comparison.measured(index)
            for label, data in lines_of(row.label, entry, unit)
        ]
        found += panels_of_lines(f"{short(name, 40)}, {unit_words(unit)} by {per}", lines, draw, f"{per} {index}")
    return found


class Seconds(NamedTuple):
    """One cell by second."""

    round: int
    valid: bool
    points: Points


def seconds_of(label: str, entry: Entry, unit: Unit) -> Iterator[tuple[str, list[Seconds]]]:
    """Yield the rounds of a layout that have samples."""
    rounds: list[Seconds] = []
    for point in entry.points:
        samples = point.cell.samples if point.cell is not None else ()
        if len(samples) > 1:
            rounds.append(Seconds(point.round, point.valid, [(one.at_s, _rate_at(one, unit)) for one in samples]))
    if rounds:
        yield short(label), rounds


def _rate_at(sample: Sample, unit: Unit) -> float:
    return sum(one.iops if unit == "IOPS" else one.bytes_per_s / 1e6 for one in sample.moved)


_MARKS = 8
"""Marks of a line by second, at least; a text is at each of them."""


def _draw_seconds(layouts: Sequence[Line[list[Seconds]]], axes: Axes, style: Style) -> list[Tip]:
    tips = []
    for one in layouts:
        for number, (round_, valid, points) in enumerate(one.data):
            every = max(1, len(points) // _MARKS)
            axes.plot(*zip(*points, strict=True), color=style.colour(one.place), alpha=1.0 if number == 0 else 0.45,
                      label=one.label if number == 0 else None, linestyle="-" if valid else ":",
                      marker=style.mark(one.place), markersize=3, markevery=every, gid=series_id(one.place))  # fmt: skip
            tips += [
                Tip(at, rate, f"{one.about}: {_rate_words(rate, one.unit)} at {at:.0f} s of round {round_}", one.place)
                for at, rate in points[::every]
            ]
    from_zero(axes)
    axes.set_xlim(left=0)
    axes.locator_params(axis="x", nbins=6)
    all_valid = all(each.valid for one in layouts for each in one.data)
    axes.set_xlabel("s" if all_valid else "s (dotted: not valid)")
    numbers(axes.yaxis)
    return tips


def _rate_words(shown: float, unit: Unit) -> str:
    """`1,536 IOPS` of a number as it is drawn."""
    return f"{rate_text(shown / SCALE[unit], unit)} {unit}"


seconds_panels = partial(_by_workload, per="second", lines_of=seconds_of, draw=_draw_seconds)
LINES = Chart("lines", "Second by second", seconds_panels, detail=True)

Passes = tuple[list[float], tuple[int, int]]
"""The rate of every pass of a cell, and the first and last pass of its window, counted from 1."""


def _passes_of(label: str, entry: Entry, unit: Unit) -> Iterator[tuple[str, Passes]]:
    """Yield the passes of every cell that was run until it is steady."""
    for point in (*entry.points, *entry.again):
        steady = point.cell.steady if point.cell is not None else None
        if steady is not None and steady.passes:
            name = short(again_label(label) if point.again else label, 18)
            verdict = f"steady at {steady.reached}" if steady.reached else "not steady"
            rates = [pass_rate(one.summary, unit) * SCALE[unit] for one in steady.passes]
            yield f"{name} {point.round}, {verdict}", (rates, steady.window)


def _draw_passes(cells: Sequence[Line[Passes]], axes: Axes, style: Style) -> list[Tip]:
    tips = []
    for index, one in enumerate(cells):  # cells of one layout have its colour
        rates, (first, last) = one.data
        colour, mark, gid = style.colour(one.place), style.mark(index), series_id(one.place)
        axes.plot(range(1, len(rates) + 1), rates, color=colour, marker=mark, markersize=3, linewidth=0.9, label=one.label,
                  gid=gid)  # fmt: skip
        axes.plot(range(first, last + 1), rates[first - 1 : last], color=colour, linewidth=2.6, alpha=0.6, gid=gid)
        tips += [
            Tip(number, rate, f"{one.about}: {_rate_words(rate, one.unit)} in pass {number} ({one.label})", one.place)
            for number, rate in enumerate(rates, 1)
        ]
    by_number(axes, "pass (thick: the window that is reported)")
    return tips


passes_panels = partial(_by_workload, per="pass", lines_of=_passes_of, draw=_draw_passes)
PASSES = Chart("passes", "Pass by pass, until it is steady", passes_panels, detail=True)

_LEAST_ROUNDS = 3


def _rounds_of(label: str, entry: Entry, unit: Unit) -> Iterator[tuple[str, tuple[Points, Points]]]:
    """Yield the rates of a layout by round, valid ones and others, if at least three rounds are valid."""
    rates = [(one.round, rate * SCALE[unit], one.valid) for one in entry.points if (rate := rate_of(one, unit)) is not None]
    valid = sorted((at, rate) for at, rate, counts in rates if counts)
    invalid = sorted((at, rate) for at, rate, counts in rates if not counts)
    if len(valid) < _LEAST_ROUNDS:
        return
    if len(valid) < WINDOW:
        name = short(label)
    else:
        steady = window_of([rate for _, rate in valid]).steady  # as SNIA's specification defines it
        name = f"{short(label, 20)}, {'steady' if steady else 'not steady'}"
    yield name, (valid, invalid)


def _draw_rounds(layouts: Sequence[Line[tuple[Points, Points]]], axes: Axes, style: Style) -> list[Tip]:
    tips = []
    for one in layouts:
        valid, invalid = one.data
        colour, gid = style.colour(one.place), series_id(one.place)
        axes.plot(*zip(*valid, strict=True), color=colour, marker=style.mark(one.place), markersize=4, label=one.label,
                  gid=gid)  # fmt: skip
        if invalid:
            axes.plot(*zip(*invalid, strict=True), linestyle="none", color=colour, marker="x", markersize=6, gid=gid)
        for points, state in ((valid, ""), (invalid, ", not valid")):
            tips += [
                Tip(at, rate, f"{one.about}: {_rate_words(rate, one.unit)} in round {at:.0f}{state}", one.place)
                for at, rate in points
            ]
    all_valid = not any(invalid for one in layouts for invalid in one.data[1:])
    by_number(axes, "round" if all_valid else "round (x: not valid)")
    return tips


rounds_panels = partial(_by_workload, per="round", lines_of=_rounds_of, draw=_draw_rounds, units=SCALE)
ROUNDS = Chart("rounds", "Round by round", rounds_panels, swept=False)

_COLUMN = "util_percent"


_MOST_ROWS = 60
"""Devices in one heat map, with the names of their layouts."""


def _heat_map_panels(comparison: Comparison) -> list[Panel]:
    """Return a panel for each workload, more where rows are many: layouts below each other, the first valid round of each.

    Only layouts with series of more than one device are shown. The panels of one workload have the same time axis.
    """
    found = []
    for index, workload in enumerate(comparison.workloads):
        cells: list[tuple[str, Cell]] = []
        for row, entry in comparison.measured(index):
            valid = (one.cell for one in entry.points if one.cell is not None and one.valid)
            if cell := next((one for one in valid if len(_devices(one)) > 1), None):
                cells.append((row.label, cell))
        parts: list[list[tuple[str, Cell]]] = []
        rows = _MOST_ROWS
        for label, cell in cells:
            rows += 1 + len(_devices(cell))
            if rows > _MOST_ROWS:
                parts.append([])
                rows = 1 + len(_devices(cell))
            parts[-1].append((label, cell))
        longest_s = max((cell.device_at_s[-1] for _, cell in cells), default=0.0)
        for number, part in enumerate(parts, 1):
            place = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
            found.append(_heat_panel(f"{short(workload, 36)}, busy devices{place}", workload, part, longest_s))
    return found


def _heat_panel(title: str, workload: str, cells: Sequence[tuple[str, Cell]], longest_s: float) -> Panel:
    tips, line = [], 0.5
    for label, cell in cells:
        for name, use in _devices(cell).items():
            line += 1
            tips.append(Tip(longest_s / 2, line, f"{clean(label, 200)}, {clean(workload, 200)}: {_busy_words(name, use)}"))
        line += 1
    about = "; ".join(f"busy time of {', '.join(_devices(cell))} of {label} over {cell.seconds:.0f} s"
                      for label, cell in cells)  # fmt: skip
    return Panel(title, partial(_draw_heat, cells, longest_s, tips), 0.75 + 0.17 * line, about, rows=True)


def _busy_words(name: str, use: DeviceUse) -> str:
    known = [value for value in use.series[_COLUMN] if value is not None]
    if not known:
        return f"{clean(name, 200)}, busy time not known"
    return f"{clean(name, 200)} was busy {sum(known) / len(known):.0f} % of the time, at most {max(known):.0f} %"


def _draw_heat(
    cells: Sequence[tuple[str, Cell]], longest_s: float, tips: list[Tip], axes: Axes, style: Style
) -> list[Tip]:
    """Draw a row for each device, below a row with the name of its layout."""
    names: list[str] = []
    heads = []
    for layout, cell in cells:
        devices, at_s = _devices(cell), cell.device_at_s
        heads.append(len(names))
        names += [short(layout), *(f"{short(name, 12)} {short(use.role, 8)}" for name, use in devices.items())]
        values = []
        for use in devices.values():
            series = [float("nan") if value is None else value for value in use.series[_COLUMN][: len(at_s)]]
            values.append(series + [float("nan")] * (len(at_s) - len(series)))
        edges = range(len(names) - len(devices), len(names) + 1)
        axes.pcolormesh([0.0, *at_s], edges, values, vmin=0, vmax=100, cmap="cividis")
    axes.set_yticks([place + 0.5 for place in range(len(names))], names)
    axes.tick_params(axis="y", length=0)
    for place, label in enumerate(axes.get_yticklabels()):
        label.set_color(style.ink if place in heads else style.muted)
    axes.set_xlim(0, longest_s)
    axes.set_ylim(len(names), 0)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel("s (dark: idle, bright: busy all the time)")
    axes.grid(visible=False)
    return tips


def _devices(cell: Cell) -> dict[str, DeviceUse]:
    """Return the devices with a series: the target first, then those below it by name."""
    found = {name: use for name, use in cell.devices.items() if len(cell.device_at_s) > 1 and use.series.get(_COLUMN)}
    return dict(sorted(found.items(), key=lambda item: (item[1].role != "target", item[0])))


HEAT_MAP = Chart("heat-map", "Devices over time", _heat_map_panels, detail=True)
