"""Steady state as SNIA's Performance Test Specification 2.0.2 defines it, and lasting changes of level in a series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Final, NamedTuple

WINDOW = 5
MOST_ROUNDS = 25
MAX_RANGE = 0.20
MAX_EXCURSION = 0.10


class Window(NamedTuple):
    """One tracking variable over the rounds of a window."""

    average: float
    range: float
    """Largest value - smallest value."""
    slope: float
    """Slope of the line fitted by least squares, per round."""
    excursion: float
    """Rise or fall of that line from the first round of the window to the last."""

    @property
    def steady(self) -> bool:
        """Range below 20 % and excursion below 10 % of the average."""
        return self.average > 0 and self.range < MAX_RANGE * self.average and self.excursion < MAX_EXCURSION * self.average


class Steadiness(NamedTuple):
    """First steady window of all tracking variables, if there is one."""

    round: int | None
    """The last round of the first steady window, counted from 1; None where steady state was not reached."""
    windows: Mapping[str, Window]
    """Steady window of each variable, or the last one. Its `average` is the reported value."""

    @property
    def reached(self) -> bool:
        return self.round is not None


def window_of(values: Sequence[float]) -> Window:
    """The last five values (or fewer, as there are). Raises ValueError without any."""
    last = list(values[-WINDOW:])
    if not last:
        raise ValueError("there are no rounds")
    average, middle = fmean(last), (len(last) - 1) / 2
    weight = sum((place - middle) ** 2 for place in range(len(last)))
    slope = sum((place - middle) * value for place, value in enumerate(last)) / weight if weight else 0.0
    return Window(average, max(last) - min(last), slope, abs(slope) * (len(last) - 1))


def steadiness(variables: Mapping[str, Sequence[float]], most: int = MOST_ROUNDS) -> Steadiness:
    """Look for the first window in which all variables are steady; each has one value per round, in order."""
    rounds = min(most, *map(len, variables.values())) if variables else 0
    for end in range(WINDOW, rounds + 1):
        windows = {name: window_of(values[:end]) for name, values in variables.items()}
        if all(window.steady for window in windows.values()):
            return Steadiness(end, windows)
    return Steadiness(None, {name: window_of(values[:rounds]) for name, values in variables.items() if rounds})


FEWEST_VALUES: Final = 12
MOST_POINTS: Final = 120
LEAST_CHANGE: Final = 0.2
"""Least difference between the medians of the first and the last third, as a share of the first."""
LEAST_APART: Final = 0.8
"""Cliff's delta of the values before and after (N. Cliff, Dominance statistics, 1993): 1 is no overlap at all."""
_EDGE: Final = 3
"""Fewer values at the beginning or end are a moment, not a level."""


class Change(NamedTuple):
    """A series that left its level for good."""

    at: int
    """Index of the first value of the new level."""
    before: float
    after: float
    """Medians on both sides."""


def lasting_change(values: Sequence[float]) -> Change | None:
    """The one place that divides the series best, where both parts differ clearly and the difference lasts to the end.

    Division by least absolute deviations from the medians on both sides: single outliers move nothing. None for fewer than
    twelve values.
    """
    if len(values) < FEWEST_VALUES:
        return None
    third = len(values) // 3
    first, last = median(values[:third]), median(values[-third:])
    if first <= 0 or abs(last / first - 1) <= LEAST_CHANGE:
        return None
    width = -(-len(values) // MOST_POINTS)
    points = [median(values[at : at + width]) for at in range(0, len(values), width)]
    index = width * min(range(_EDGE, len(points) - _EDGE + 1), key=lambda at: _spread(points[:at]) + _spread(points[at:]))
    before, after = median(values[:index]), median(values[index:])
    if before <= 0 or abs(after / before - 1) <= LEAST_CHANGE:
        return None
    if abs(cliffs_delta(points[: index // width], points[index // width :])) < LEAST_APART:
        return None
    return Change(index, before, after)


def cliffs_delta(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the effect size of `b` against `a` over all pairs: 1 if all values of `b` are higher, -1 if all are lower."""
    return sum((y > x) - (y < x) for x in a for y in b) / (len(a) * len(b)) if a and b else 0.0


def _spread(values: Sequence[float]) -> float:
    middle = median(values)
    return sum(abs(value - middle) for value in values)
