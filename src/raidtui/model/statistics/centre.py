"""The middle of numbers and the distance from it: geometric mean, and a z-score that outliers cannot hide from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """The one mean of ratios that does not depend on which side is the baseline; None without positive ratios alone."""
    if not ratios or min(ratios) <= 0:
        return None
    return float(f"{math.exp(fmean(map(math.log, ratios))):.12g}")


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
