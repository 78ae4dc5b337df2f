"""Plots in cells of the terminal: axes with round maxima, decades and times, and series as dots. Pure functions."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import floor
from typing import NamedTuple

WINDOWS_S: tuple[float | None, ...] = (30.0, 60.0, 300.0, 900.0, None)
"""Time that a chart shows; None for all."""
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)


class Scale(NamedTuple):
    """Values of a chart's lowest and highest line of dots."""

    low: float
    top: float
    log: bool = False

    def fraction(self, value: float) -> float:
        """Return the position of a value between low (0) and top (1)."""
        if self.log:
            if value <= self.low:
                return 0.0
            return min(1.0, (math.log10(value) - math.log10(self.low)) / self.decades)
        return min(1.0, max(0.0, (value - self.low) / (self.top - self.low)))

    def at(self, fraction: float) -> float:
        """Return the value at a fraction of the height."""
        if self.log:
            return float(10 ** (math.log10(self.low) + fraction * self.decades))
        return self.low + fraction * (self.top - self.low)

    @property
    def decades(self) -> float:
        """Decades from low to top of a logarithmic scale."""
        return math.log10(self.top) - math.log10(self.low)

    def marks(self, lines: int) -> list[float]:
        """Return the fractions of the height with a number on the axis: halves, quarters or decades, by the lines."""
        parts = round(self.decades) if self.log else 4 if lines >= 13 else 2
        while parts > 1 and lines < 2 * parts + 1:
            parts = parts // 2 if parts % 2 == 0 else 1
        return [part / parts for part in range(parts + 1)]


def scale_for(values: Iterable[float], log: bool = False) -> Scale:
    """Return a scale from 0 to a round number above all values; with `log`, whole decades around those above 0."""
    found = [value for value in values if math.isfinite(value)]
    if not log:
        return Scale(0.0, round_top(max(found, default=0.0)))
    above = [value for value in found if value > 0]
    if not above:
        return Scale(1.0, 10.0, True)
    low = min(max(math.floor(math.log10(min(above))), -300), 300)
    top = min(max(low + 1, math.ceil(math.log10(max(above)))), 308)
    return Scale(10.0**low, 10.0**top, True)


def round_top(highest: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, … that is at least `highest`, so that the scale changes rarely."""
    if not 0 < highest < 1e300:
        return 1.0
    decade = 10.0 ** math.floor(math.log10(highest))
    return next(step * decade for step in (1.0, 2.0, 5.0, 10.0, 20.0) if step * decade >= highest)


def window_for(
    begin_s: float, until_s: float, window_s: float | None, focus_s: float | None = None, ended: bool = False
) -> tuple[float, float]:
    """First and last second of what is shown.

    It moves on in steps of a twelfth and grows in round lengths, so that most of the picture stays as it is from one
    second to the next. A `focus_s` is always in it. Where all has `ended`, everything is that and no more.
    """
    if window_s is None and ended and until_s > begin_s:
        return begin_s, until_s
    if window_s is None:
        span_s = max(until_s, focus_s or until_s) - begin_s
        longer = math.ceil(span_s / 1800) * 1800
        return begin_s, begin_s + next((span for span in (30, 60, 120, 300, 600, 900, 1800) if span_s <= span), longer)
    step = max(1.0, window_s / 12)
    end = begin_s + max(window_s, math.ceil((until_s - begin_s) / step) * step)
    if focus_s is not None and not end - window_s <= focus_s <= end:
        end = begin_s + max(window_s, math.ceil((focus_s - begin_s + window_s / 2) / step) * step)
    return end - window_s, end


def time_ticks(start_s: float, end_s: float, width: int, origin_s: float) -> list[tuple[int, str]]:
    """Return cell and text of each label below a chart of `width` cells; times are counted from `origin_s`."""
    span = end_s - start_s
    if span <= 0 or width < 4:
        return []
    step = next((step for step in _STEPS_S if width * step / span >= 10), 86400)
    first = math.ceil((start_s - origin_s) / step)
    ticks = []
    for index in range(first, first + width):
        at = origin_s + index * step
        if at > end_s:
            break
        text = clock_text(index * step)
        cell = min(width - 1, int((at - start_s) / span * width))
        cell = min(cell, width - len(text))
        if cell >= 0:
            ticks.append((cell, text))
    return ticks


def clock_text(seconds: float) -> str:
    """`0:05`, `12:30`, `1:02:03`."""
    sign, whole = "-" if seconds <= -0.5 else "", round(abs(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{sign}{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{sign}{rest // 60}:{rest % 60:02d}"


def window_text(window_s: float | None) -> str:
    """`30 s`, `5 min`, `all`."""
    if window_s is None:
        return "all"
    return f"{window_s:g} s" if window_s < 60 else f"{window_s / 60:g} min"


def short_number(value: float) -> str:
    """Return a number in at most five cells with three significant digits: `0`, `0.25`, `999`, `12.3k`, `340k`, `1.5M`."""
    if not math.isfinite(value):
        return "–"
    size, sign = abs(value), "-" if value < 0 else ""
    for suffix in ("", "k", "M", "G", "T", "P"):
        if size < 999.5 or suffix == "P":
            return sign + _three_digits(size) + suffix
        size /= 1000
    return ""


def _three_digits(size: float) -> str:
    text = f"{size:.0f}" if size >= 99.95 else f"{size:.1f}" if size >= 9.995 else f"{size:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


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
    """Return the column of `count` that a second falls into; negative before `start_s`."""
    return min(count - 1, floor((at_s - start_s) * (count / (end_s - start_s))))


def bins(points: Sequence[Point], start_s: float, end_s: float, count: int, first: int = 0) -> dict[int, Bin]:
    """Return the points of `start_s` to `end_s`, in order of time, by the column of `count` they fall into.

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
    """Return the first point of the last column before column `first`."""
    index = bisect_left(points, first, begin, key=lambda point: column(point[0]))
    if index == begin:
        return begin
    return bisect_left(points, column(points[index - 1][0]), begin, key=lambda point: column(point[0]))


def plot(
    series: Sequence[Sequence[Point]], width: int, height: int, start_s: float, end_s: float, scale: Scale, *,
    braille: bool = True, first_cell: int = 0
) -> Plot:  # fmt: skip
    """Draw all series in `width` × `height` cells. Where lines cross, the first series is in front.

    What is before `first_cell` need not be right: it saves drawing it.
    """
    across, down = dots_of(braille)
    masks = [bytearray(width) for _ in range(height)]
    owners = [bytearray(width) for _ in range(height)]
    for index in reversed(range(len(series))):
        columns = bins(series[index], start_s, end_s, width * across, first_cell * across)
        for column, top, bottom in strokes(columns, height * down, scale):
            x = column // across
            for y, bits in touched(top, bottom, column % across, down):
                masks[y][x] |= bits
                owners[y][x] = index + 1
    cells, signs = (masks, _BRAILLE_SIGNS) if braille else (owners, _ASCII_SIGNS)
    return Plot([row.decode("latin-1").translate(signs) for row in cells], list(map(bytes, owners)))


@lru_cache(maxsize=4096)
def touched(top: int, bottom: int, across: int, down: int) -> list[tuple[int, int]]:
    """Return the lines that a stroke goes through, each with its dots there, of `down` in a cell."""
    bits: dict[int, int] = {}
    for dot in range(top, bottom + 1):
        bits[dot // down] = bits.get(dot // down, 0) | _BITS[across][dot % down]
    return list(bits.items())


def strokes(columns: dict[int, Bin], dots: int, scale: Scale) -> list[tuple[int, int, int]]:
    """Return the vertical strokes (column, top dot, bottom dot) that make the line; dot 0 is the topmost."""
    found: list[tuple[int, int, int]] = []
    span, fraction = dots - 1, scale.fraction
    before: tuple[int, int] | None = None
    for column, held in columns.items():
        first = last = top = bottom = span - round(fraction(held.first) * span)
        if held.low != held.high:
            last, top, bottom = (span - round(fraction(value) * span) for value in (held.last, held.high, held.low))
        if before is not None and held.joined:
            x, y = before
            between = _between(column - x, y, first)
            found += [(x + at, *_meet(y_before, y, y)) for at, y_before, y in between]
            top, bottom = _meet(between[-1][2] if between else y, top, bottom)
        found.append((column, top, bottom))
        before = column, last
    return found


@lru_cache(maxsize=4096)
def _between(width: int, y0: int, y1: int) -> list[tuple[int, int, int]]:
    """Return the columns of a straight line between two points: number, dot before, own dot."""
    ys = [y0 + round((y1 - y0) * at / width) for at in range(width)]
    return [(at, ys[at - 1], ys[at]) for at in range(1, width)]


def _meet(last: int, top: int, bottom: int) -> tuple[int, int]:
    """Lengthen a stroke until it touches, at a corner, the dot `last` in the column before."""
    if last < top:
        return last + 1, bottom
    return top, max(bottom, last - 1)
