"""Detection of a lasting change of level in a series."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

FEWEST: Final = 12
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
    if len(values) < FEWEST:
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
