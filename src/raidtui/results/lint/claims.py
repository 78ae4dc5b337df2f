"""Sentences that say how little two things differ, against their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raidtui.model.table import Claim, Figure, Finding, Table
from raidtui.results.lint.cells import base, layout_label, shown, where
from raidtui.results.published import Interval


def check(table: Table) -> Iterator[Finding]:
    """`claim-broken`, one for each number that is farther from its reference than the claim allows."""
    by_layout: dict[str, list[Figure]] = {}
    for figure in table.figures if table.claims else ():
        if figure.metric in ("bandwidth", "iops"):
            by_layout.setdefault(figure.layout, []).append(figure)
    for claim in table.claims:
        for reference, layout in claim.pairs:
            for one, other in _pairs(by_layout.get(reference, ()), by_layout.get(layout, ())):
                if (finding := _broken(table, claim, one, other)) is not None:
                    yield finding


def _pairs(references: Sequence[Figure], measured: Sequence[Figure]) -> Iterator[tuple[Figure, Figure]]:
    """Numbers of the same kind of both, one metric for each cell."""
    said: set[tuple[str, int, str]] = set()
    for metric in ("bandwidth", "iops"):
        own = {(f.workload, f.round, f.direction): f for f in references if f.metric == metric}
        for figure in measured:
            key = (figure.workload, figure.round, figure.direction)
            if figure.metric == metric and key in own and key not in said:
                said.add(key)
                yield own[key], figure


def _broken(table: Table, claim: Claim, one: Figure, other: Figure) -> Finding | None:
    quotient = base(other).over(base(one))
    if quotient is None:
        return None
    allowed = claim.within_percent
    change = Interval((quotient.low - 1) * 100, (quotient.high - 1) * 100)
    nearest = 0.0 if change.low <= 0 <= change.high else min(abs(change.low), abs(change.high))
    if nearest <= allowed:
        return None
    middle = (change.low + change.high) / 2
    return Finding(
        "claim-broken", where(table, other),
        f"{shown(other)} differ by {middle:+.1f} % from {layout_label(table, one.layout)} ({shown(one)}); the claim is "
        f"“{claim.sentence}”{f' ({claim.place})' if claim.place else ''}.", f"within {allowed:g} %", round(middle, 2),
    )  # fmt: skip


CHECK = check
