"""Sequential ranking of layouts: after every round it tells which differ, so that measuring can end with a clear answer.

Every look at the numbers is one more chance to be wrong. The error that is allowed is shared beforehand: look `k` (after
round `k`, from the second on) may spend 1 ÷ (k (k - 1)) of it: less than all of it together, however many rounds there are.
Within a look it is corrected for all pairs after Holm, whose steps hold over the looks too (W. Maurer, F. Bretz, Stat.
Biopharm. Res. 5 (2013) 311-320). No rank test of two or three rounds could be that sure, so means of logarithms are judged,
twice: by the scatter of the two layouts (Welch), and by that of all layouts together, lest two rounds that are alike by
chance pass for quiet ones. The more doubtful of the two counts.

Rounds that would not help are not worth measuring either: two layouts are given up on where they would not be told apart by
the last round that is allowed, even if they were somewhat further apart, or closer, than it seems. That says nothing false.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean, variance
from typing import Literal, NamedTuple

import msgspec

from raidtui.model.statistics.samples import holm, two_sided_p

FIRST_LOOK = 2
"""Rounds that a scatter needs at least."""
GIVE_UP_FROM = 3
"""Rounds from which on a scatter is known well enough to give up on a pair."""
LEAST_SCATTER = 0.001
"""No storage is taken to repeat itself better than to one in a thousand: equal rounds are luck, or a limit that was set."""

Values = Mapping[str, Mapping[int, float | None]]
"""Measured values by layout and round, above 0, more is better; None if the round is invalid."""


class Asked(NamedTuple):
    """Question that a ranking answers."""

    confidence: float = 0.95
    """Confidence of all statements of one campaign together."""
    question: Literal["best", "order"] = "best"
    close_enough: float = 0.05
    """Layouts that surely differ by less than this share (0.05 is 5 %) need not be told apart."""
    workloads: int = 1
    """Number of workloads ranked in the same campaign: they share the allowed error."""
    rounds: int = 0
    """The most there will be; 0: as many as it takes, and nothing is given up."""


class Told(msgspec.Struct, frozen=True):
    """Decided order of two layouts."""

    better: str
    worse: str
    verdict: Literal["apart", "close"]
    """`close`: the difference is surely smaller than what was said to be close enough."""
    round: int
    """Round after which it was known."""
    ratio: float
    """Better ÷ worse, as it was then."""


class Standing(NamedTuple):
    """A ranking as far as it is known."""

    told: tuple[Told, ...]
    """Decided pairs, in the order of their decision."""
    places: Mapping[str, int]
    """1 + how many layouts are told to be better; best first. Layouts that are not told apart can share a place."""
    open: frozenset[str]
    """Layouts that need another round."""
    out: frozenset[str]
    """Layouts without a place: two rounds were tried, or more, and fewer than half of them are valid."""
    beyond: Mapping[tuple[str, str], int]
    """Pairs that matter and that the rounds there are would not tell apart, and after which round that was known."""

    @property
    def answered(self) -> bool:
        return bool(self.places) and not self.open and not self.beyond


def spent_at(look: int) -> float:
    """The share of the error that is allowed which this look may spend."""
    return 1 / (look * (look - 1)) if look >= FIRST_LOOK else 0.0


def standing(values: Values, asked: Asked) -> Standing:
    """The ranking after the rounds in `values`, as it comes about when they are looked at one after the other."""
    logs = {name: {round_: _log(value) for round_, value in rounds.items()} for name, rounds in values.items()}
    fold = _Fold(logs, asked)
    for look in range(FIRST_LOOK, max((round_ for rounds in logs.values() for round_ in rounds), default=0) + 1):
        fold.look(look)
    return fold.standing()


class _Fold:
    """Takes looks in order. What was told stays told."""

    def __init__(self, logs: Mapping[str, Mapping[int, float | None]], asked: Asked) -> None:
        self._logs, self._asked = logs, asked
        self._alpha = (1 - asked.confidence) / asked.workloads
        self._told: dict[frozenset[str], Told] = {}
        self._beyond: dict[frozenset[str], int] = {}

    def look(self, look: int) -> None:
        """Judge every pair that is not decided and that this round says something new of."""
        known = {name: _until(rounds, look) for name, rounds in self._logs.items()}
        of_all = _scatter_of(list(known.values()))
        pairs = {(a, b): held for a, b in combinations(known, 2) if frozenset((a, b)) not in self._told
                 and (held := _held(known[a], known[b], look, of_all)) is not None}  # fmt: skip
        level = self._alpha * spent_at(look)
        all_pairs = math.comb(len(known), 2)
        apart = sum(told.verdict == "apart" for told in self._told.values())
        # A pair that is not judged now keeps its share of the error all the same.
        unjudged = [1.0] * (all_pairs - apart - len(pairs))
        corrected = holm([held.p(held.difference) for held in pairs.values()] + unjudged)
        margin = math.log1p(self._asked.close_enough)
        for (names, held), p in zip(pairs.items(), corrected, strict=False):
            to_spare = margin - abs(held.difference)
            if p < level:
                self._tell(names, held, "apart", look)
            elif to_spare > 0 and held.p(to_spare) * all_pairs < level:
                self._tell(names, held, "close", look)
            elif self._hopeless(held, look, all_pairs - apart, all_pairs):
                self._beyond.setdefault(frozenset(names), look)
            else:
                self._beyond.pop(frozenset(names), None)

    def standing(self) -> Standing:
        out = frozenset(name for name, rounds in self._logs.items() if _given_up(list(rounds.values())))
        ranked = [name for name in self._logs if name not in out]
        worse = [told.worse for told in self._told.values() if told.verdict == "apart" and told.better not in out]
        places = {name: 1 + worse.count(name) for name in ranked}
        ordered = sorted(ranked, key=lambda name: (places[name], -self._mean(name)))
        left = [pair for pair in self._that_matter(ordered, places) if frozenset(pair) not in self._told]
        return Standing(
            tuple(self._told.values()),
            {name: places[name] for name in ordered},
            frozenset(name for pair in left if frozenset(pair) not in self._beyond for name in pair),
            out,
            {pair: self._beyond[frozenset(pair)] for pair in left if frozenset(pair) in self._beyond},
        )

    def _that_matter(self, ordered: Sequence[str], places: Mapping[str, int]) -> list[tuple[str, str]]:
        if self._asked.question == "order":
            return list(combinations(ordered, 2))
        # Whoever is told to be worse than any other is not the best. (Three may be told in a circle, though hardly ever.)
        first = [name for name in ordered if places[name] == places[ordered[0]]]
        return [(first[0], name) for name in first[1:]]

    def _hopeless(self, held: _Held, look: int, apart_of: int, close_of: int) -> bool:
        """Return True if the two would still be undecided in the last round, even if the difference were off by its
        standard error.
        """
        last = self._asked.rounds
        if look < GIVE_UP_FROM or last <= look:
            return False
        level = self._alpha * spent_at(last)
        then = held.after(last - look)
        size, off = abs(held.difference), held.error
        to_spare = math.log1p(self._asked.close_enough) - max(0.0, size - off)
        near = to_spare > 0 and then.p(to_spare) * close_of < level
        return not near and then.p(size + off) * apart_of >= level

    def _tell(self, names: Sequence[str], held: _Held, verdict: Literal["apart", "close"], look: int) -> None:
        better, worse = names if held.difference >= 0 else reversed(names)
        ratio = float(f"{math.exp(abs(held.difference)):.6g}")
        self._told[frozenset(names)] = Told(better, worse, verdict, look, ratio)

    def _mean(self, name: str) -> float:
        valid = [value for value in self._logs[name].values() if value is not None]
        return fmean(valid) if valid else -math.inf


class _Scatter(NamedTuple):
    """Variance of one round, and how well it is known."""

    variance: float
    freedom: float

    def p(self, difference: float, rounds: int) -> float:
        """Two-sided, of a difference of two means."""
        return two_sided_p(difference / math.sqrt(2 * self.variance / rounds), self.freedom)


class _Held(NamedTuple):
    """Two layouts, over the rounds that both have: what moved between rounds moved both."""

    difference: float
    rounds: int
    of_all: _Scatter
    own: _Scatter

    @property
    def error(self) -> float:
        """The standard error of the difference, as far as it is known."""
        return math.sqrt(2 * min(self.of_all.variance, self.own.variance) / self.rounds)

    def p(self, difference: float) -> float:
        """Return the probability of means that differ by this much by chance."""
        return max(self.of_all.p(difference, self.rounds), self.own.p(difference, self.rounds))

    def after(self, more: int) -> _Held:
        """Return what is held after more rounds, if the scatter is the smaller one of the two."""
        rounds = self.rounds + more
        least = min(self.of_all.variance, self.own.variance)
        growth = (rounds - 1) / (self.rounds - 1)
        of_all, own = (_Scatter(least, scatter.freedom * growth) for scatter in (self.of_all, self.own))
        return _Held(self.difference, rounds, of_all, own)


def _held(a: Mapping[int, float], b: Mapping[int, float], look: int, of_all: _Scatter | None) -> _Held | None:
    """Return what two layouts have in common; None if this look is not new for both, or the scatter is unknown."""
    both = [round_ for round_ in a if round_ in b]
    if of_all is None or look not in both or len(both) < FIRST_LOOK:
        return None
    ours, theirs = [a[round_] for round_ in both], [b[round_] for round_ in both]
    of_a, of_b = max(variance(ours), LEAST_SCATTER**2), max(variance(theirs), LEAST_SCATTER**2)
    freedom = (of_a + of_b) ** 2 / ((of_a**2 + of_b**2) / (len(both) - 1))
    return _Held(fmean(ours) - fmean(theirs), len(both), of_all, _Scatter((of_a + of_b) / 2, freedom))


def _scatter_of(layouts: Sequence[Mapping[int, float]]) -> _Scatter | None:
    """Return the scatter of all layouts together, each about its own mean; None if none has two rounds."""
    several = [list(rounds.values()) for rounds in layouts if len(rounds) >= FIRST_LOOK]
    freedom = sum(len(values) - 1 for values in several)
    if not freedom:
        return None
    squares = sum(variance(values) * (len(values) - 1) for values in several)
    return _Scatter(max(squares / freedom, LEAST_SCATTER**2), freedom)


def _until(rounds: Mapping[int, float | None], look: int) -> dict[int, float]:
    return {round_: value for round_, value in sorted(rounds.items()) if value is not None and round_ <= look}


def _given_up(tried: Sequence[float | None]) -> bool:
    return len(tried) >= FIRST_LOOK and 2 * sum(value is not None for value in tried) < len(tried)


def _log(value: float | None) -> float | None:
    return math.log(value) if value is not None and value > 0 else None
