"""What a campaign that was asked for a ranking knows, as a short table for each workload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from raidtui.cli.screen import indented, table, text
from raidtui.front.phrases import ranking_line
from raidtui.front.standings import pairs, places
from raidtui.model.result import Ranked

if TYPE_CHECKING:
    from rich.console import Console


def show_rankings(rankings: Sequence[Ranked], out: Console) -> None:
    """Print all of them, and nothing where none was asked for."""
    for ranked in rankings:
        out.print()
        out.print(text(ranking_line(ranked), "" if ranked.answered else "bold yellow"))
        listing = table("PLACE", "LAYOUT", ranked.metric, "ROUNDS", "BETTER THAN", right=("PLACE", ranked.metric, "ROUNDS"))
        for one in places(ranked):
            listing.add_row(one.place, text(one.layout), one.value, str(one.rounds), text(one.behind))
        out.print(listing)
        for sentence in pairs(ranked):
            out.print(indented(sentence, 2))
