"""Lines over time as braille dots, or as ASCII signs where there is no braille. Pure functions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from raidtui.tui.widgets.chart_scale import Scale

Point = tuple[float, float | None]
"""Second and value. None breaks the line."""

NOBODY = 0
"""Owner of a cell that nothing was drawn in; the first series is 1."""

_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""By column and row of a cell."""

_BRAILLE_SIGNS = {mask: chr(0x2800 + mask) if mask else " " for mask in range(256)}
_ASCII_SIGNS = {owner: "*+ox#@"[(owner - 1) % 6] if owner else " " for owner in range(256)}


class Plot(NamedTuple):
    """A picture: lines from the top, and for each of their cells the number of the series it belongs to, or `NOBODY`."""

    lines: list[str]
    owners: list[bytes]


class Bin(NamedTuple):
    """What falls into one column of dots."""

    first: float
    last: float
    low: float
    high: float
    joined: bool
    """No gap between this and what came before."""


def bins(points: Sequence[Point], start_s: float, end_s: float, count: int) -> dict[int, Bin]:
    """Points of `start_s` to `end_s`, in order of time, by the column of `count` they fall into."""
    found: dict[int, Bin] = {}
    joined = False
    per_s = count / (end_s - start_s)
    for index in range(bisect_left(points, start_s, key=lambda point: point[0]), len(points)):
        at, value = points[index]
        if at > end_s:
            break
        if value is None:
            joined = False
            continue
        column = min(count - 1, int((at - start_s) * per_s))
        old = found.get(column)
        if old is None:
            found[column] = Bin(value, value, value, value, joined)
        else:
            found[column] = Bin(old.first, value, min(old.low, value), max(old.high, value), old.joined)
        joined = True
    return found


def plot(
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
    """Every series in `width` × `height` cells. Where lines cross, the first series is in front. `fill` draws areas."""
    across, down = (2, 4) if braille else (1, 1)
    masks = [bytearray(width) for _ in range(height)]
    owners = [bytearray(width) for _ in range(height)]
    for index in reversed(range(len(series))):
        columns = bins(series[index], start_s, end_s, width * across)
        for column, top, bottom in strokes(columns, height * down, scale, fill):
            x, bits = column // across, _BITS[column % across]
            for dot in range(top, bottom + 1):
                y = dot // down
                masks[y][x] |= bits[dot % down]
                owners[y][x] = index + 1
    cells, signs = (masks, _BRAILLE_SIGNS) if braille else (owners, _ASCII_SIGNS)
    return Plot([row.decode("latin-1").translate(signs) for row in cells], list(map(bytes, owners)))


def strokes(columns: dict[int, Bin], dots: int, scale: Scale, fill: bool) -> list[tuple[int, int, int]]:
    """Vertical strokes (column, top dot, bottom dot) that make the line; dot 0 is the topmost."""
    found: list[tuple[int, int, int]] = []
    span = dots - 1

    def dot(value: float) -> int:
        return span - round(scale.fraction(value) * span)

    before: tuple[int, int] | None = None
    for column, held in columns.items():
        first, top, bottom = dot(held.first), dot(held.high), dot(held.low)
        if before is not None and held.joined:
            between = _between(*before, column, first)
            for x, y_before, y in between:
                found.append((x, y, span) if fill else (x, *_meet(y_before, y, y)))
            top, bottom = _meet(between[-1][2] if between else before[1], top, bottom)
        found.append((column, dot(held.high) if fill else top, span if fill else bottom))
        before = column, dot(held.last)
    return found


def _between(x0: int, y0: int, x1: int, y1: int) -> list[tuple[int, int, int]]:
    """The columns between two points, each with the dot before it and its own, on a straight line."""
    ys = [y0 + round((y1 - y0) * (x - x0) / (x1 - x0)) for x in range(x0, x1)]
    return [(x0 + index, ys[index - 1], ys[index]) for index in range(1, len(ys))]


def _meet(last: int, top: int, bottom: int) -> tuple[int, int]:
    """A stroke made long enough to touch, at a corner, the dot `last` in the column before."""
    if last < top:
        return last + 1, bottom
    return top, max(bottom, last - 1)
