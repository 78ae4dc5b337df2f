"""Picture of a chart, and the part of it that changes when points are added."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from raidtui.base.text import clean
from raidtui.tui.widgets.glyphs import UNICODE, Glyphs
from raidtui.tui.widgets.plot import Plot, Point, Scale, column_of, dots_of, plot, scale_for, short_number, time_ticks

AXIS, TITLE, SERIES = 0, 1, 8
"""Roles of a character: of the axes and what is blank; of the title; `SERIES + n` of the nth series."""
CURSOR = 128
"""Added to a role below the playhead."""
_MARK_EVERY = 4
"""Marks are drawn if each has so many cells on average."""
_UNIT_FROM = 30
"""Width from which the unit of the time stands beside the numbers below the plot."""
LABEL_WIDTH = 6
"""Cells of the numbers on the left, the line beside them included."""


class Series(NamedTuple):
    """One line of a chart: points in order of time."""

    name: str
    points: Sequence[Point]
    style: int | None = None
    """Number of its colour; by its place if None."""
    sign: str = ""
    """A letter beside its colour; by default the number of its place, from 1."""


class Look(NamedTuple):
    """Drawing options of a chart, apart from its data."""

    title: str = ""
    format: Callable[[float], str] = short_number
    unit: str = ""
    log: bool = False
    note: str = ""
    """On the right of the title."""
    empty: str = ""
    """Text if there are no values in the window."""
    glyphs: Glyphs = UNICODE
    ticks: Callable[[float, float, int, float], list[tuple[int, str]]] = time_ticks
    """Returns the labels below the plot: cell and text of each."""
    axes: tuple[str, str] = ("", "min:s")
    """Units of the numbers on the left and of those below; empty where the numbers carry them."""


class Row(NamedTuple):
    """One line: every character has a role."""

    text: str
    roles: bytes


def picture(
    series: Sequence[Series], look: Look, width: int, height: int, window_s: tuple[float, float],
    origin_s: float = 0.0, cursor_s: float | None = None, draw: Callable[..., Plot] = plot, marks: Sequence[float] = ()
) -> list[Row]:  # fmt: skip
    """Return exactly `height` lines of `width` cells: title with values at the playhead (or the newest), plot, time axis.

    What does not fit is left out: first the time axis, then the plot. `window_s` is the first and last second shown; `draw`
    does what `plot` does; `marks` are seconds with a vertical line. A series without a value in the window is not named.
    """
    if width <= 0 or height <= 0:
        return []
    rows = [title_row(series, look, width, cursor_s, window_s)]
    plot_height = height - 1 - (height >= 4)
    plot_width = width - LABEL_WIDTH - (len(series) > 1)
    if height < 3 or plot_width < 2:
        return (rows + [Row(" " * width, bytes(width))] * height)[:height]
    rows += _plot_rows(series, look, plot_width, plot_height, window_s, cursor_s, draw, marks)
    if height >= 4:
        rows.append(_tick_row(look.ticks(*window_s, plot_width, origin_s), look.axes, width))
    return rows


def title_row(
    series: Sequence[Series], look: Look, width: int, cursor_s: float | None, window_s: tuple[float, float] | None = None
) -> Row:
    """Return the title, as in `IOPS  1 read 340k  2 write 12k      1 min`; series carry numbers beside their colours.

    Series with a value come first, and those that do not fit are left out; the note, if two series do not fit beside it.
    """
    parts: list[tuple[str, int]] = [(clean(look.title), TITLE)] if look.title else []
    shown = [(index, one, value_at(one.points, cursor_s)) for index, one in enumerate(series)
             if window_s is None or _in_view(one, window_s)]  # fmt: skip
    for index, one, value in sorted(shown, key=lambda each: each[2] is None):
        if value is None and one.style is not None:
            continue  # what is beside the chart's own series is named only while it has a value
        words = look.glyphs.absent if value is None else look.format(value) + look.unit
        tag = f"{one.sign or index + 1} " if len(series) > 1 or one.sign else ""
        name = f"{clean(one.name)} " if one.name else ""
        parts.append((f"{'  ' if parts else ''}{tag}{name}{words}", role_of(one, index)))
    ends = list(accumulate(cell_len(part) for part, _ in parts))
    room = width - cell_len(look.note) - 2
    note = look.note if sum(end <= room for end in ends) >= min(3, len(parts)) else ""
    room = room if note else width
    text, roles, used = [], bytearray(), 0
    for part, role in parts:
        size = cell_len(part)
        whole = used + size <= room
        if not whole:
            part = set_cell_size(part, 0 if used else max(0, room - 1)) + (look.glyphs.ellipsis if used < room else "")
        text.append(part)
        roles += bytes([role]) * len(part)
        used += cell_len(part)
        if not whole:
            break
    tail = note.rjust(width - used)
    return Row("".join(text) + tail, bytes(roles) + bytes(len(tail)))


def role_of(one: Series, index: int) -> int:
    """Return the role of a series' characters; `index` is its place among all."""
    return SERIES + (index if one.style is None else one.style)


def value_at(points: Sequence[Point], at_s: float | None) -> float | None:
    """Return the value at a second (None: the newest), which is that of the last point not after it."""
    index = len(points) if at_s is None else bisect_right(points, at_s, key=lambda point: point[0])
    return points[index - 1][1] if index else None


def _in_view(one: Series, window_s: tuple[float, float]) -> bool:
    """Return True if the series has a value in the window."""
    first = bisect_right(one.points, window_s[0], key=lambda point: point[0] + 1e-9)
    last = bisect_right(one.points, window_s[1], key=lambda point: point[0])
    return any(one.points[index][1] is not None for index in range(first, last))


def shown_values(series: Sequence[Series], window_s: tuple[float, float]) -> list[float]:
    """Return all values in the window, for the scale."""
    start, end = window_s
    found = []
    for one in series:
        first = bisect_right(one.points, start, key=lambda point: point[0] + 1e-9)
        last = bisect_right(one.points, end, key=lambda point: point[0])
        found += [value for _, value in one.points[first:last] if value is not None]
    return found


def _plot_rows(
    series: Sequence[Series], look: Look, width: int, height: int, window_s: tuple[float, float],
    cursor_s: float | None, draw: Callable[..., Plot], marks: Sequence[float] = ()
) -> list[Row]:  # fmt: skip
    values = shown_values(series, window_s)
    scale = scale_for(values, look.log)
    points = [one.points for one in series]
    lines, owners = draw(points, width, height, *window_s, scale, braille=look.glyphs.unicode)
    if not values:
        lines = [*lines[: height // 2], clean(look.empty)[:width].center(width), *lines[height // 2 + 1 :]]
    labels = {round((1 - fraction) * (height - 1)): look.format(scale.at(fraction)) for fraction in scale.marks(height)}
    labels = {y: label for y, label in labels.items() if cell_len(label) < LABEL_WIDTH}  # a part of a number is another one
    tags = _tags(series, scale, height, window_s) if len(series) > 1 else None
    start, end = window_s
    at = None  # the cell that the playhead is in
    if cursor_s is not None and start <= cursor_s <= end:
        at = min(width - 1, int((cursor_s - start) / (end - start) * width))
    owned = bytes([AXIS, *(role_of(one, index) for index, one in enumerate(series))]).ljust(256, bytes([SERIES]))
    inside = marks[bisect_right(marks, start) : bisect_right(marks, end)]
    columns = {min(width - 1, int((mark - start) / (end - start) * width)) for mark in inside}
    columns = columns if len(columns) <= width // _MARK_EVERY else set()
    rows = []
    for y in range(height):
        text = f"{labels.get(y, ''):>{LABEL_WIDTH - 1}}{look.glyphs.vertical}"
        line = lines[y]
        roles = bytearray(owners[y].translate(owned))
        for column in columns:
            if line[column] == " ":
                line = f"{line[:column]}{look.glyphs.mark}{line[column + 1 :]}"
        if at is not None:
            if line[at] == " ":
                line = line[:at] + look.glyphs.vertical + line[at + 1 :]
            roles[at] |= CURSOR
        tag = b"" if tags is None else bytes([role_of(series[tags[y]], tags[y]) if y in tags else AXIS])
        mark = "" if tags is None else (series[tags[y]].sign or str(tags[y] + 1))[-1] if y in tags else " "
        rows.append(Row(text + line + mark, bytes(len(text)) + bytes(roles) + tag))
    return rows


def _tags(series: Sequence[Series], scale: Scale, height: int, window_s: tuple[float, float]) -> dict[int, int]:
    """Return the series by the line on which it ends: its number stands there, beside its colour."""
    found: dict[int, int] = {}
    for index, one in enumerate(series):
        value = value_at(one.points, window_s[1])
        if value is None or not _in_view(one, window_s):
            continue
        wanted = height - 1 - round(scale.fraction(value) * (height - 1))
        for y in sorted(range(height), key=lambda line: abs(line - wanted)):
            if y not in found:
                found[y] = index
                break
    return found


def _tick_row(ticks: Sequence[tuple[int, str]], axes: tuple[str, str], width: int) -> Row:
    """Return the numbers below the plot, between the units of both axes."""
    upwards, across = axes
    across = across if width >= _UNIT_FROM else ""
    line = [*upwards[: LABEL_WIDTH - 1].rjust(LABEL_WIDTH - 1).ljust(width - len(across)), *across][:width]
    free_from, end = 0, width - len(across) - bool(across)
    for cell, text in ticks:
        if cell >= free_from and LABEL_WIDTH + cell + len(text) <= end:
            line[LABEL_WIDTH + cell : LABEL_WIDTH + cell + len(text)] = text
            free_from = cell + len(text) + 1
    return Row("".join(line[:width]), bytes(width))


class _Known(NamedTuple):
    """A line as it was drawn last."""

    points: Sequence[Point]
    length: int
    newest: Point


class GrowingPlot:
    """Draws as `plot` does. Lines that have only grown since are drawn from where they ended on."""

    def __init__(self) -> None:
        self._drawn = Plot([], [])
        self._look: object = None
        self._known: list[_Known] = []

    def __call__(
        self, series: Sequence[Sequence[Point]], width: int, height: int, start_s: float, end_s: float, scale: Scale,
        *, braille: bool = True
    ) -> Plot:  # fmt: skip
        look = (width, height, start_s, end_s, scale, braille)
        first = self._first_cell(series, width, start_s, end_s, braille) if look == self._look else 0
        if first < width:
            drawn = plot(series, width, height, start_s, end_s, scale, braille=braille, first_cell=first)
            if first:
                lines = [old[:first] + new[first:] for old, new in zip(self._drawn.lines, drawn.lines, strict=True)]
                owners = [old[:first] + new[first:] for old, new in zip(self._drawn.owners, drawn.owners, strict=True)]
                drawn = Plot(lines, owners)
            self._drawn = drawn
        self._look = look
        self._known = [_Known(points, len(points), points[-1]) for points in series if points]
        return self._drawn

    def _first_cell(
        self, series: Sequence[Sequence[Point]], width: int, start_s: float, end_s: float, braille: bool
    ) -> int:
        """Return the first new cell: 0 if there are other lines, `width` if there is nothing new."""
        if len(series) != len(self._known):
            return 0
        across = dots_of(braille)[0]
        first = width
        for points, known in zip(series, self._known, strict=True):
            if points is not known.points or len(points) < known.length or points[known.length - 1] != known.newest:
                return 0
            if len(points) > known.length:
                column = column_of(known.newest[0], start_s, end_s, width * across)
                first = min(first, max(0, column) // across)
        return first
