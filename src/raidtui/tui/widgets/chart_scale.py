"""Axes of charts: round maxima, decades, times, and numbers in a few cells. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

WINDOWS_S: tuple[float | None, ...] = (30.0, 60.0, 300.0, 900.0, None)
"""Time that a chart shows; None for all."""

_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)


class Scale(NamedTuple):
    """The values of a chart's lowest and highest line of dots."""

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
        """The value at a fraction of the height."""
        if self.log:
            return float(10 ** (math.log10(self.low) + fraction * self.decades))
        return self.low + fraction * (self.top - self.low)

    @property
    def decades(self) -> float:
        """Return the labels from low to top of a logarithmic scale."""
        return math.log10(self.top) - math.log10(self.low)

    def marks(self, lines: int) -> list[float]:
        """Fractions of the height that have a number on the axis: halves, quarters or decades, as there are lines."""
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
    """The next of 1, 2, 5, 10, 20, … that is at least `highest`: scales that change rarely."""
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
        return begin_s, begin_s + _round_span(max(until_s, focus_s or until_s) - begin_s)
    step = max(1.0, window_s / 12)
    end = begin_s + max(window_s, math.ceil((until_s - begin_s) / step) * step)
    if focus_s is not None and not end - window_s <= focus_s <= end:
        end = begin_s + max(window_s, math.ceil((focus_s - begin_s + window_s / 2) / step) * step)
    return end - window_s, end


def _round_span(seconds: float) -> float:
    for span in (30, 60, 120, 300, 600, 900, 1800):
        if seconds <= span:
            return float(span)
    return math.ceil(seconds / 1800) * 1800.0


def time_ticks(start_s: float, end_s: float, width: int, origin_s: float) -> list[tuple[int, str]]:
    """Cell and text of each label below a chart of `width` cells; times are counted from `origin_s`."""
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


def short_us(value_us: float) -> str:
    """A latency given in µs: `85µs`, `1.2ms`, `3s`."""
    if not math.isfinite(value_us):
        return "–"
    if value_us < 999.5:
        return f"{_three_digits(value_us)}µs"
    if value_us < 999_500:
        return f"{_three_digits(value_us / 1000)}ms"
    return f"{_three_digits(value_us / 1e6)}s"


def _three_digits(size: float) -> str:
    text = f"{size:.0f}" if size >= 99.95 else f"{size:.1f}" if size >= 9.995 else f"{size:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
