"""The Mann-Whitney test on ranks, exact: every arrangement of the values is counted, ties included."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

EXACT_TO = 60
"""Values in both samples together up to which arrangements are counted; above, ranks are near enough to normal."""


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p: how likely ranks this far apart are where both samples come from one source. 1.0 without values.

    H. B. Mann, D. R. Whitney, Ann. Math. Statist. 18 (1947) 50-60; with ties, the permutation distribution of midranks.
    """
    if not a or not b:
        return 1.0
    doubled = _doubled_ranks([*a, *b])
    if len(doubled) > EXACT_TO:
        return _normal_p(doubled, len(a))
    of_a = sum(doubled[: len(a)])
    counts = _sums(tuple(sorted(doubled)), len(a))
    below = sum(count for total, count in counts.items() if total <= of_a)
    above = sum(count for total, count in counts.items() if total >= of_a)
    return min(1.0, 2 * min(below, above) / math.comb(len(doubled), len(a)))


@lru_cache(maxsize=256)
def least_p(n: int, m: int) -> float:
    """The smallest two-sided p that `n` values against `m` can ever give."""
    return min(1.0, 2 / math.comb(n + m, n)) if n and m else 1.0


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the midrank of every value: whole numbers, ties included."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in range(start, end + 1):
            ranks[order[place]] = start + end + 2
        start = end + 1
    return ranks


@lru_cache(maxsize=256)
def _sums(ranks: tuple[int, ...], size: int) -> dict[int, int]:
    """In how many ways `size` of the ranks add up to each sum."""
    ways: list[dict[int, int]] = [{} for _ in range(size + 1)]
    ways[0][0] = 1
    for rank in ranks:
        for taken in range(size, 0, -1):
            more = ways[taken]
            for total, count in ways[taken - 1].items():
                more[total + rank] = more.get(total + rank, 0) + count
    return ways[size]


def _normal_p(doubled: Sequence[int], n: int) -> float:
    """The normal approximation, corrected for ties and for continuity."""
    total = len(doubled)
    m = total - n
    u = sum(doubled[:n]) / 2 - n * (n + 1) / 2
    ties = sum(count**3 - count for count in (doubled.count(rank) for rank in set(doubled)))
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    z = max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))
