"""Steady state as SNIA's Performance Test Specification 2.0.2 defines it: five rounds that neither scatter nor drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

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
    """By variable: that window, or the last one. Its `average` is what is reported."""

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
