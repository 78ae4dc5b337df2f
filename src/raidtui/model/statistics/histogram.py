"""Latency histograms: percentiles of several rounds come from their merged counts, never from averaged percentiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate


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
