"""A ranking in words: a line for each layout, and what is said of pairs. The same for a terminal and the screens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from raidtui.base.text import clean, plural
from raidtui.model.result import Ranked, RankedLayout
from raidtui.results.numbers import NOTHING, iops_text, latency_text, mb_s_text


class Place(NamedTuple):
    """One layout."""

    place: str
    """A dash where it has none: too few of its cells are valid."""
    layout: str
    value: str
    """Its typical number, in the ranking's metric."""
    rounds: int
    """That were valid."""
    behind: str
    """The layouts that are told to be worse, by how much, and since when."""


def places(ranked: Ranked) -> Iterator[Place]:
    """The best first."""
    for one in ranked.layouts:
        place = str(one.place) if one.place is not None else NOTHING
        yield Place(place, clean(one.layout), _value(one, ranked), one.rounds, ", ".join(_behind(one, ranked)))


def pairs(ranked: Ranked) -> Iterator[str]:
    """Of which layouts nobody needs to know more, and of which nobody can, in sentences."""
    for told in ranked.told:
        if told.verdict == "close":
            within = f"within {ranked.close_enough_percent:g} % of each other, round {told.round}"
            yield f"{clean(told.better)} and {clean(told.worse)}: {within}"
    for beyond in ranked.beyond:
        rounds = f"not to be told apart in {plural(ranked.most_rounds, 'round')}, as round {beyond.round} showed"
        yield f"{' and '.join(map(clean, beyond.layouts))}: {rounds}"


def _behind(one: RankedLayout, ranked: Ranked) -> Iterator[str]:
    for told in ranked.told:
        if told.verdict == "apart" and told.better == one.layout:
            yield f"{clean(told.worse)} ({told.ratio:.2f}×, round {told.round})"


def _value(one: RankedLayout, ranked: Ranked) -> str:
    if one.value is None:
        return NOTHING
    if ranked.metric == "µs per sync":
        return latency_text(one.value)
    return iops_text(one.value) if ranked.metric == "IOPS" else mb_s_text(one.value * 1e6)
