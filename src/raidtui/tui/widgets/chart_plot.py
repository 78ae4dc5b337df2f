"""Lines over time as braille dots, or as ASCII signs where there is no braille. Pure functions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import floor
from typing import NamedTuple

from raidtui.tui.widgets.chart_scale import Scale

Point = tuple[float, float | None]
"""Second and value. None breaks the line."""

NOBODY = 0
"""Owner of a cell that nothing was drawn in; the first series is 1."""

_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""Dots by column and row of a cell."""

_BRAILLE_SIGNS = {mask: chr(0x2800 + mask) if mask else " " for mask in range(256)}
_ASCII_SIGNS = {owner: "*+ox#@"[(owner - 1) % 6] if owner else " " for owner in range(256)}


class Plot(NamedTuple):
    """A picture: lines from the top, and for each of their cells the number of the series it belongs to, or `NOBODY`."""

    lines: list[str]
    owners: list[bytes]


class Bin(NamedTuple):
    """Values that fall into one column of dots."""

    first: float
    last: float
    low: float
    high: float
    joined: bool
    """No gap between this and what came before."""


def dots_of(braille: bool) -> tuple[int, int]:
    """Return the number of dots of a cell, across and down."""
    return (2, 4) if braille else (1, 1)


def column_of(at_s: float, start_s: float, end_s: float, count: int) -> int:
    """The column of `count` that a second falls into; one before `start_s` falls into none, and has a number below 0."""
    return min(count - 1, floor((at_s - start_s) * (count / (end_s - start_s))))


def bins(points: Sequence[Point], start_s: float, end_s: float, count: int, first: int = 0) -> dict[int, Bin]:
    """Points of `start_s` to `end_s`, in order of time, by the column of `count` they fall into.

    With `first`, those from that column on, and the one before, which a line to them begins at.
    """
    found: dict[int, Bin] = {}
    joined = False
    per_s = count / (end_s - start_s)
    begin = bisect_left(points, start_s, key=lambda point: point[0])
    if first:
        begin = _before(points, begin, first, lambda at_s: column_of(at_s, start_s, end_s, count))
    for index in range(begin, len(points)):
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


def _before(points: Sequence[Point], begin: int, first: int, column: Callable[[float], int]) -> int:
    """The first point of the last column before column `first`."""
    index = bisect_left(points, first, begin, key=lambda point: column(point[0]))
    if index == begin:
        return begin
    return bisect_left(points, column(points[index - 1][0]), begin, key=lambda point: column(point[0]))


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
    first_cell: int = 0,
) -> Plot:
    """Draw all series in `width` × `height` cells. Where lines cross, the first series is in front. `fill` draws areas.

    What is before `first_cell` need not be right: it saves drawing it.
    """
    across, down = dots_of(braille)
    masks = [bytearray(width) for _ in range(height)]
    owners = [bytearray(width) for _ in range(height)]
    for index in reversed(range(len(series))):
        columns = bins(series[index], start_s, end_s, width * across, first_cell * across)
        for column, top, bottom in strokes(columns, height * down, scale, fill):
            x = column // across
            for y, bits in touched(top, bottom, column % across, down):
                masks[y][x] |= bits
                owners[y][x] = index + 1
    cells, signs = (masks, _BRAILLE_SIGNS) if braille else (owners, _ASCII_SIGNS)
    return Plot([row.decode("latin-1").translate(signs) for row in cells], list(map(bytes, owners)))


@lru_cache(maxsize=4096)
def touched(top: int, bottom: int, across: int, down: int) -> list[tuple[int, int]]:
    """The lines that a stroke goes through, and which of the dots of its cell there, `down` of them one above the other."""
    bits: dict[int, int] = {}
    for dot in range(top, bottom + 1):
        bits[dot // down] = bits.get(dot // down, 0) | _BITS[across][dot % down]
    return list(bits.items())


def strokes(columns: dict[int, Bin], dots: int, scale: Scale, fill: bool) -> list[tuple[int, int, int]]:
    """Vertical strokes (column, top dot, bottom dot) that make the line; dot 0 is the topmost."""
    found: list[tuple[int, int, int]] = []
    span, fraction = dots - 1, scale.fraction
    before: tuple[int, int] | None = None
    for column, held in columns.items():
        first = last = top = bottom = highest = span - round(fraction(held.first) * span)
        if held.low != held.high:
            last, top, bottom = (span - round(fraction(value) * span) for value in (held.last, held.high, held.low))
            highest = top
        if before is not None and held.joined:
            x, y = before
            between = _between(column - x, y, first)
            found += [(x + at, y, span) if fill else (x + at, *_meet(y_before, y, y)) for at, y_before, y in between]
            top, bottom = _meet(between[-1][2] if between else y, top, bottom)
        found.append((column, highest if fill else top, span if fill else bottom))
        before = column, last
    return found


@lru_cache(maxsize=4096)
def _between(width: int, y0: int, y1: int) -> list[tuple[int, int, int]]:
    """The columns between two points, counted from the first, each with the dot before it and its own: a straight line."""
    ys = [y0 + round((y1 - y0) * at / width) for at in range(width)]
    return [(at, ys[at - 1], ys[at]) for at in range(1, width)]


def _meet(last: int, top: int, bottom: int) -> tuple[int, int]:
    """A stroke made long enough to touch, at a corner, the dot `last` in the column before."""
    if last < top:
        return last + 1, bottom
    return top, max(bottom, last - 1)
