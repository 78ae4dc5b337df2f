"""Sweeps on the screen Results: the points of each curve as rows, and the curves as a plot of IOPS against latency."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.text import Text

from raidtui.base.text import named, shortened
from raidtui.results.comparison import Curve, Sweep, SweepPoint
from raidtui.results.rates import NOTHING, iops_text, latency_text, percent_text
from raidtui.results.sweep_lines import RULE, knee_words, label_of, load_words
from raidtui.tui.results.pages import MUTED, Piece, Sheet
from raidtui.tui.widgets.glyphs import bar, glyphs
from raidtui.tui.widgets.plot import Scale, round_top, short_number
from raidtui.tui.widgets.signs import colour, ink, letter
from raidtui.tui.widgets.table_line import Column
from raidtui.tui.widgets.table_view import Rows

_LEAST_NAME, _MOST_NAME = 10, 40
_MOST_BAR = 24
_AXIS = 9
"""Cells of the numbers at the left of a plot."""
_KNEE = "knee"


class _Place(NamedTuple):
    """A row: a curve and one of its points."""

    curve: int
    point: int


class SweepGrid(Rows):
    """The points of every curve of a sweep, in the order of what is in flight, for a table `width` cells wide."""

    def __init__(self, sweep: Sweep, labels: Sequence[str], width: int) -> None:
        """`labels` are those of all layouts of the comparison, whose letters and colours the curves have."""
        self.sweep = sweep
        self._layouts = [labels.index(curve.label) for curve in sweep.curves]
        self._places = {f"{number}.{place}": _Place(number, place)
                        for number, curve in enumerate(sweep.curves) for place in range(len(curve.points))}  # fmt: skip
        self.keys = list(self._places)
        rest: tuple[Column, ...] = (
            Column("load", "Depth×jobs", 10, "right", "Queue depth × jobs"),
            Column("flight", "In flight", 9, "right", "Operations in flight on one device"),
            Column("iops", "IOPS", 11, "right", "The typical round, all directions together"),
            Column("best", "of best", 7, "right", "Share of the best rate of its curve"),
            Column("mean", "Mean", 8, "right", "Mean latency of the slowest direction"),
            Column("p99", "p99", 8, "right", "99th percentile of the slowest direction"),
        )
        knee = Column("knee", "", len(_KNEE), help=RULE)
        spare = width - sum(column.width + 1 for column in (*rest, knee)) - 2
        if spare < _LEAST_NAME + 2:
            rest, spare = rest[:1] + rest[2:], spare + rest[1].width + 1
        longest = max(len(label_of(sweep, curve)) for curve in sweep.curves) + 2
        name = max(_LEAST_NAME, min(spare, longest, _MOST_NAME))
        self._bar = min(_MOST_BAR, spare - name - 1)
        bars = (Column("bar", "", self._bar),) if self._bar >= 6 else ()
        self.columns = (Column("layout", "Layout", name), *rest[:-2], *bars, *rest[-2:], knee)
        self.width = sum(column.width + 1 for column in self.columns) + 1

    def cells(self, key: str) -> Sequence[str | Text]:
        number, place = self._places[key]
        curve = self.sweep.curves[number]
        point = curve.points[place]
        best = max((one.iops or 0.0 for one in curve.points), default=0.0)
        share = (point.iops or 0.0) / best if best else 0.0
        known, knee = point.iops is not None, place == curve.knee
        name = Text().append(self.sign(number), ink(self._layouts[number]))
        shown: dict[str, str | Text] = {
            "layout": name.append(f" {shortened(label_of(self.sweep, curve), self.columns[0].width - 2)}"),
            "load": load_words(point),
            "flight": str(point.in_flight),
            "iops": iops_text(point.iops) if point.iops is not None else NOTHING,
            "best": percent_text(share) if known else "",
            "bar": bar(100 * share, max(1, self._bar), ink(self._layouts[number])) if known else "",
            "mean": latency_text(point.mean_us),
            "p99": latency_text(point.p99_us),
            "knee": Text(_KNEE, "good") if knee else "",
        }
        return [shown[column.key] for column in self.columns]

    def sign(self, number: int) -> str:
        """Return the letter of a curve: that of its layout, or of its own place if a layout has several curves."""
        alone = len(set(self._layouts)) == len(self._layouts)
        return letter(self._layouts[number] if alone else number)

    def colour(self, number: int) -> str:
        """Return the theme's variable of the colour of a curve's layout."""
        return colour(self._layouts[number])

    def chosen(self, key: str | None) -> tuple[int, int]:
        """Return the numbers of the curve and the point of a row; those of the first row if there is no such row."""
        return self._places.get(key or "", _Place(0, 0))


def knee_of_row(grid: SweepGrid, key: str | None) -> str:
    """Return the sentence on the knee of the curve that a row is of."""
    curve = grid.sweep.curves[grid.chosen(key)[0]]
    return f"{label_of(grid.sweep, curve)}: {knee_words(curve) or 'no point has a number'}"


def draw_curves(sheet: Sheet, grid: SweepGrid, key: str | None, height: int) -> None:
    """Draw the curves, the one of this row over the others, and explain their signs."""
    sweep, (mine, here) = grid.sweep, grid.chosen(key)
    timed = [point for curve in sweep.curves for point in _timed(curve)]
    if not timed:
        sheet.para("no latency is known, so there are no curves", style=MUTED)
        return
    across = Scale(0.0, round_top(max(point.iops or 0.0 for point in timed)))
    times = [point.mean_us or 1.0 for point in timed]
    up = Scale(min(times) / 1.3, max(times) * 1.3, log=True)
    cells: dict[tuple[int, int], Piece] = {}
    width, height = sheet.width - _AXIS - 2, max(4, height)

    def at(point: SweepPoint) -> tuple[int, int]:
        return (round(across.fraction(point.iops or 0.0) * (width - 1)),
                round((1 - up.fraction(point.mean_us or 1.0)) * (height - 1)))  # fmt: skip

    order = [number for number in range(len(sweep.curves)) if number != mine] + [mine]
    for number in order:
        curve, style = sweep.curves[number], grid.colour(number) if number == mine else MUTED
        points = _timed(curve)
        for first, second in pairwise(points):
            cells |= {cell: (glyphs().dot, style) for cell in _between(at(first), at(second))}
    for number in order:
        curve, style = sweep.curves[number], f"bold {grid.colour(number)}"
        for point in _timed(curve):
            knee = curve.knee is not None and point is curve.points[curve.knee]
            look = f"{style} reverse" if number == mine and point is curve.points[here] else style
            cells[at(point)] = (grid.sign(number).upper() if knee else grid.sign(number), look)
    labels = {0: latency_text(up.at(1.0)), height // 2: latency_text(up.at(1 - height // 2 / (height - 1))),
              height - 1: latency_text(up.at(0.0))}  # fmt: skip
    for line in range(height):
        row = [cells.get((column, line), (" ", "")) for column in range(width)]
        sheet.row((f"{labels.get(line, ''):>{_AXIS}} ", MUTED), (glyphs().vertical, MUTED), *row)
    sheet.row((" " * (_AXIS + 1) + _foot(across, width), MUTED))
    curves = named([f"{grid.sign(number)} {label_of(sweep, curve)}" for number, curve in enumerate(sweep.curves)], 8)
    sheet.para(f"{curves}; capital: the knee; reversed: the cursor", style=MUTED)


def _foot(across: Scale, width: int) -> str:
    """Return the numbers below the plot: 0, the middle and the end, with their unit."""
    middle, end = short_number(across.at(0.5)), f"{short_number(across.top)} IOPS"
    line = f"0{middle:>{width // 2}}"
    return f"{line}{end:>{max(len(end) + 1, width - len(line) + 1)}}"


def _timed(curve: Curve) -> list[SweepPoint]:
    return [point for point in curve.points if point.iops is not None and point.mean_us]


def _between(first: tuple[int, int], second: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the cells between two."""
    steps = max(abs(second[0] - first[0]), abs(second[1] - first[1]))
    for step in range(1, steps):
        part = step / steps
        yield (math.floor(first[0] + (second[0] - first[0]) * part + 0.5),
               math.floor(first[1] + (second[1] - first[1]) * part + 0.5))  # fmt: skip
