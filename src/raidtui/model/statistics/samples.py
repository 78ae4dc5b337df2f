"""Statistics of a few numbers: middle, scatter, Student's t, noise floor, histograms, many comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from statistics import fmean, median, variance
from typing import NamedTuple


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """The one mean of ratios that does not depend on which side is the baseline; None without positive ratios alone."""
    if not ratios or min(ratios) <= 0:
        return None
    return float(f"{math.exp(fmean(map(math.log, ratios))):.12g}")


def typical(values: Sequence[float]) -> float:
    """The typical round of one or more: the geometric mean, or the median where one is 0 or less.

    The estimator that intervals and verdicts are about: t on logarithms gives the interval of the geometric mean, and the
    ratio of two of them is what Welch's test judges (P. J. Fleming, J. J. Wallace, Commun. ACM 29 (1986) 218-221; D. G.
    Altman, J. M. Bland, BMJ 312 (1996) 1079). An interval of the median needs six rounds for 95 %.
    """
    if len(values) == 1:
        return values[0]
    return geometric_mean(values) or median(values)


def robust_z(values: Sequence[float]) -> list[float]:
    """Return the distance of each value from the median, in standard deviations estimated by the median absolute deviation.

    Above 3.5 is an outlier (B. Iglewicz, D. C. Hoaglin, How to Detect and Handle Outliers, 1993). Where more than half of
    the values are equal, the mean of the distances but the largest stands in for their median: with the largest, no one of
    four could ever be an outlier. Infinite where all but one are equal.
    """
    if not values:
        return []
    middle = median(values)
    distances = [abs(value - middle) for value in values]
    scale = median(distances) / 0.6745
    if not scale and len(distances) > 1:
        scale = fmean(sorted(distances)[:-1]) * 1.253314
    return [(value - middle) / scale if scale else math.copysign(math.inf, value - middle) if value != middle else 0.0
            for value in values]  # fmt: skip


_ODD_Z = 3.5
_ODD_RATIO = 1.25


def odd_one(values: Sequence[float]) -> int | None:
    """Index of the one value that is unlike all others; None for fewer than three, if there is none, or several.

    An outlier (`robust_z`) that is also a quarter above or below the median, so that steady rounds are not searched for
    differences of a percent.
    """
    if len(values) < 3 or min(values) <= 0:
        return None
    middle = median(values)
    far = [at for at, (value, z) in enumerate(zip(values, robust_z(values), strict=True))
           if abs(z) > _ODD_Z and max(value / middle, middle / value) > _ODD_RATIO]  # fmt: skip
    return far[0] if len(far) == 1 else None


_MANY_PAIRS = 20


def noise_floor(pairs: Iterable[tuple[float, float]]) -> float | None:
    """A share (0.02 is 2 %) that A/A pairs, the same thing measured twice, did not exceed; None without pairs.

    Of twenty pairs or more, one in twenty may be further apart.
    """
    apart = sorted(abs(math.log(b / a)) for a, b in pairs if a > 0 and b > 0)
    if not apart:
        return None
    place = len(apart) - 1 if len(apart) < _MANY_PAIRS else math.ceil(0.95 * len(apart)) - 1
    return math.expm1(apart[place])


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
    """Return the value, or a tiny one in place of 0."""
    return value if abs(value) > _TINY else _TINY


def holm(p_values: Sequence[float], family: int = 0) -> list[float]:
    """The p values, corrected: those below 0.05 are right together in 95 % of cases. S. Holm, Scand. J. Stat. 6 (1979).

    `family` is the number of comparisons that these were chosen from, if there were more: the others count as p = 1.
    """
    many = max(family, len(p_values))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    found = [1.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, p_values[index] * (many - place)))
        found[index] = largest
    return found


def merged(histograms: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """One histogram with the counts of all, in the order of its bins."""
    total: dict[int, int] = {}
    for histogram in histograms:
        for bin_, count in histogram.items():
            total[bin_] = total.get(bin_, 0) + count
    return {bin_: total[bin_] for bin_ in sorted(total) if total[bin_] > 0}


def percentiles(histogram: Mapping[int, int], wanted: Sequence[float]) -> list[float | None]:
    """The bin below or in which each share (0.99) of the counts lies; None where too few were counted to say so.

    A share is known from 1 ÷ (1 - share) counts on: one operation in a hundred is seen in no fewer than a hundred.
    """
    bins = sorted(histogram)
    counts = list(accumulate(histogram[bin_] for bin_ in bins))
    total = counts[-1] if counts else 0
    return [_at(bins, counts, share) if total and total * (1 - share) >= 0.999 else None for share in wanted]


def _at(bins: Sequence[int], counts: Sequence[int], share: float) -> float:
    needed = share * counts[-1] - 1e-9
    return float(next(bin_ for bin_, count in zip(bins, counts, strict=True) if count >= needed))
