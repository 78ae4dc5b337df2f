"""A chart's lines from one second to the next: only their right end is new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from raidtui.tui.widgets.chart_plot import Plot, Point, column_of, dots_of, plot
from raidtui.tui.widgets.chart_scale import Scale


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
        self,
        series: Sequence[Sequence[Point]],
        width: int,
        height: int,
        start_s: float,
        end_s: float,
        scale: Scale,
        *,
        braille: bool = True,
        fill: bool = False,
    ) -> Plot:
        look = (width, height, start_s, end_s, scale, braille, fill)
        first = self._first_cell(series, width, start_s, end_s, braille) if look == self._look else 0
        if first < width:
            drawn = plot(series, width, height, start_s, end_s, scale, braille=braille, fill=fill, first_cell=first)
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
