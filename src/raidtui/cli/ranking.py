"""What a campaign that was asked for a ranking knows, as a short table for each workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from raidtui.base.text import clean, plural
from raidtui.cli.screen import indented, table, text
from raidtui.front.phrases import ranking_line
from raidtui.model.result import Ranked, RankedLayout
from raidtui.results.numbers import NOTHING, iops_text, latency_text, mb_s_text

if TYPE_CHECKING:
    from rich.console import Console


def show_rankings(rankings: Sequence[Ranked], out: Console) -> None:
    """Print all of them, and nothing where none was asked for."""
    for ranked in rankings:
        out.print()
        out.print(text(ranking_line(ranked), "" if ranked.answered else "bold yellow"))
        listing = table("PLACE", "LAYOUT", ranked.metric, "ROUNDS", "BETTER THAN", right=("PLACE", ranked.metric, "ROUNDS"))
        for one in ranked.layouts:
            place = str(one.place) if one.place is not None else NOTHING
            behind = ", ".join(_behind(one, ranked))
            listing.add_row(place, text(one.layout), _value(one, ranked), str(one.rounds), text(behind))
        out.print(listing)
        for told in ranked.told:
            if told.verdict == "close":
                within = f"within {ranked.close_enough_percent:g} % of each other, round {told.round}"
                out.print(indented(f"{clean(told.better)} and {clean(told.worse)}: {within}", 2))
        for beyond in ranked.beyond:
            rounds = f"not to be told apart in {plural(ranked.most_rounds, 'round')}, as round {beyond.round} showed"
            out.print(indented(f"{' and '.join(map(clean, beyond.layouts))}: {rounds}", 2))


def _behind(one: RankedLayout, ranked: Ranked) -> Iterator[str]:
    """The layouts that are told to be worse, by how much, and since when."""
    for told in ranked.told:
        if told.verdict == "apart" and told.better == one.layout:
            yield f"{clean(told.worse)} ({told.ratio:.2f}×, round {told.round})"


def _value(one: RankedLayout, ranked: Ranked) -> str:
    if one.value is None:
        return NOTHING
    if ranked.metric == "µs per sync":
        return latency_text(one.value)
    return iops_text(one.value) if ranked.metric == "IOPS" else mb_s_text(one.value * 1e6)
