"""Student's t for a handful of values: its probabilities, intervals of a mean, and Welch's test of two samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean, variance
from typing import NamedTuple

CONFIDENCE = 0.95
_TINY = 1e-300


class Welch(NamedTuple):
    """Difference of two means (`b - a`) with its 95 % interval and the two-sided p."""

    difference: float
    low: float
    high: float
    p: float


def two_sided_p(t: float, freedom: float) -> float:
    """Return the two-sided probability of a value at least as far from 0 as `t`."""
    if math.isinf(t):
        return 0.0
    return _beta(freedom / (freedom + t * t), freedom / 2, 0.5)


@lru_cache(maxsize=1024)
def quantile(freedom: float, confidence: float = CONFIDENCE) -> float:
    """The t within which `confidence` of all values lie: 2.776 for 4 degrees of freedom at 0.95."""
    low, high = 0.0, 1.0
    while two_sided_p(high, freedom) > 1 - confidence:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided_p(middle, freedom) > 1 - confidence else (low, middle)
    return (low + high) / 2


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Return the confidence interval of the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    reach = quantile(len(values) - 1, confidence) * math.sqrt(variance(values) / len(values))
    return fmean(values) - reach, fmean(values) + reach


def welch(a: Sequence[float], b: Sequence[float]) -> Welch | None:
    """Welch's test, which takes samples of unlike spread and size; None for fewer than two values in one.

    B. L. Welch, Biometrika 34 (1947) 28-35.
    """
    if len(a) < 2 or len(b) < 2:
        return None
    difference = fmean(b) - fmean(a)
    of_a, of_b = variance(a) / len(a), variance(b) / len(b)
    error = math.sqrt(of_a + of_b)
    if error <= 1e-12 * (1 + abs(difference)):
        return Welch(difference, difference, difference, 1.0 if abs(difference) <= 1e-9 else 0.0)
    freedom = (of_a + of_b) ** 2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    # To three digits, so that few quantiles are ever worked out.
    reach = quantile(float(f"{freedom:.3g}")) * error
    return Welch(difference, difference - reach, difference + reach, two_sided_p(difference / error, freedom))


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function: its continued fraction (DLMF 8.17.22), by Lentz's method."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    fraction, c, d = 1.0, 1.0, 0.0
    for step in range(400):
        half = step // 2
        if step == 0:
            term = 1.0
        elif step % 2:
            term = -(a + half) * (a + b + half) * x / ((a + step - 1) * (a + step))
        else:
            term = half * (b - half) * x / ((a + step - 1) * (a + step))
        d = 1 / _away(1 + term * d)
        c = _away(1 + term / c)
        fraction *= c * d
        if step and abs(1 - c * d) < 1e-14:
            break
    return front * (fraction - 1)


def _away(value: float) -> float:
    """Never 0."""
    return value if abs(value) > _TINY else _TINY
