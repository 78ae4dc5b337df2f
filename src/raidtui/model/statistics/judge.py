"""Judgement if two sets of rounds differ: only if ranks and means both show it, over many comparisons together.

Ranks (Mann-Whitney, exact: every arrangement of the values is counted, ties included) are not misled by one odd round, but
five rounds against five have no more than 252 arrangements: too few to be corrected for many comparisons. Means (Welch, on
logarithms, so that a ratio is judged) can be corrected, but assume that rounds scatter evenly. A difference has to pass
both tests; noise hardly ever does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from raidtui.model.statistics.samples import holm, mean_interval, welch

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
    """Count the ways in which `size` of the ranks add up to each sum."""
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


ALPHA = 0.05
Verdict = Literal["different", "not told apart", "too few rounds"]


class Judged(NamedTuple):
    """One sample of rounds against the baseline's."""

    verdict: Verdict
    low: float | None = None
    """Lower end of the 95 % interval of the ratio to the baseline; None for fewer than two rounds."""
    high: float | None = None
    rank_p: float | None = None
    """Mann-Whitney's; None where a round was not positive."""
    p: float | None = None
    """Welch's on logarithms, corrected after Holm for all comparisons that were judged together."""


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of the typical value (t on logarithms); None for fewer than two positive values."""
    if len(values) < 2 or min(values) <= 0:
        return None
    found = mean_interval([math.log(value) for value in values])
    return None if found is None else (_exp(found[0]), _exp(found[1]))


def judge(pairs: Sequence[tuple[Sequence[float], Sequence[float]]], family: int = 0) -> list[Judged]:
    """For each (baseline's rounds, these rounds): whether they differ. All pairs are one family of comparisons.

    `family` is the number of comparisons that these were chosen from, if there were more.
    """
    found = [_first_look(base, values) for base, values in pairs]
    asked = [index for index, one in enumerate(found) if one.p is not None and one.verdict != "too few rounds"]
    for index, corrected in zip(asked, holm([found[index].p or 0.0 for index in asked], family), strict=True):
        one = found[index]
        told = corrected < ALPHA and one.rank_p is not None and one.rank_p < ALPHA
        found[index] = one._replace(p=_rounded(corrected), verdict="different" if told else "not told apart")
    return found


def few(n: int, m: int) -> bool:
    """Return True if so many rounds against so many could never show a difference at 5 %, however large it was."""
    return least_p(n, m) >= ALPHA


def _first_look(base: Sequence[float], values: Sequence[float]) -> Judged:
    if not base or not values or min(*base, *values) <= 0:
        return Judged("too few rounds")
    verdict: Verdict = "too few rounds" if few(len(base), len(values)) else "not told apart"
    if len(base) < 2 or len(values) < 2:
        return _NO_SPREAD[verdict]
    found = welch([math.log(value) for value in base], [math.log(value) for value in values])
    if found is None:
        return Judged(verdict)
    return Judged(verdict, _exp(found.low), _exp(found.high), _rounded(mann_whitney(base, values)), found.p)


_NO_SPREAD: dict[Verdict, Judged] = {"too few rounds": Judged("too few rounds"), "not told apart": Judged("not told apart")}


def _exp(value: float) -> float:
    """To six digits: the last ones are the machine's, not the measurement's."""
    return _rounded(math.exp(min(value, 700.0)))


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
