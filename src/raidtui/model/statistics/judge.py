"""Do two sets of rounds differ? Said only where ranks and means both say so, and of many comparisons together.

Ranks (Mann-Whitney, exact) cannot be fooled by one odd round, but five rounds against five have no more than 252
arrangements: too few to be corrected for many comparisons. Means (Welch, on logarithms, so that a ratio is judged) can be
corrected, but trust that rounds scatter evenly. A difference has to pass both; noise passes hardly ever.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from raidtui.model.statistics.many import holm
from raidtui.model.statistics.ranks import least_p, mann_whitney
from raidtui.model.statistics.student import mean_interval, welch

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


def judge(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[Judged]:
    """For each (baseline's rounds, these rounds): whether they differ. All pairs are one family of comparisons."""
    found = [_first_look(base, values) for base, values in pairs]
    asked = [index for index, one in enumerate(found) if one.p is not None and one.verdict != "too few rounds"]
    for index, corrected in zip(asked, holm([found[index].p or 0.0 for index in asked]), strict=True):
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
