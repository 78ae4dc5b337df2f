"""Sentences that say how little two things differ, against their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from raidtui.model.table import Claim, Figure, Finding, Table
from raidtui.results.lint.cells import base, layout_label, shown, where
from raidtui.results.published import Interval
from raidtui.results.tolerance import tolerance

_RATES: Final = ("bandwidth", "iops")
_LATENCY: Final = re.compile(r"latenc|response time|задержк|latenz", re.IGNORECASE)
"""Claims are about rates unless they say otherwise."""
_ALLOWED: Final = {
    "": "within {:g} %", "less": "at most {:g} % less", "more": "at most {:g} % more",
}  # fmt: skip


def check(table: Table) -> Iterator[Finding]:
    """`claim-broken`, one for each number that is farther from its reference than the claim allows."""
    by_layout: dict[str, list[Figure]] = {}
    for figure in table.figures if table.claims else ():
        if figure.metric in (*_RATES, "latency"):
            by_layout.setdefault(figure.layout, []).append(figure)
    for claim in table.claims:
        metrics = ("latency",) if _LATENCY.search(claim.sentence) else _RATES
        for reference, layout in claim.pairs:
            for one, other in _pairs(by_layout.get(reference, ()), by_layout.get(layout, ()), metrics):
                if (finding := _broken(table, claim, one, other)) is not None:
                    yield finding


def _pairs(
    references: Sequence[Figure], measured: Sequence[Figure], metrics: Sequence[str]
) -> Iterator[tuple[Figure, Figure]]:
    """Numbers of the same kind of both, one metric for each cell."""
    said: set[tuple[str, int, str, str]] = set()
    for metric in metrics:
        own = {(f.workload, f.round, f.direction, f.statistic): f for f in references if f.metric == metric}
        for figure in measured:
            key = (figure.workload, figure.round, figure.direction, figure.statistic)
            if figure.metric == metric and key in own and key not in said:
                said.add(key)
                yield own[key], figure


def _broken(table: Table, claim: Claim, one: Figure, other: Figure) -> Finding | None:
    quotient = base(other).over(base(one))
    if quotient is None:
        return None
    allowed = claim.within_percent
    change = Interval((quotient.low - 1) * 100, (quotient.high - 1) * 100)
    below, above = max(0.0, -change.high), max(0.0, change.low)
    said = tolerance(claim.sentence)
    only = said.only if said is not None else ""
    if max(0.0 if only == "more" else below, 0.0 if only == "less" else above) <= allowed:
        return None
    middle = (change.low + change.high) / 2
    return Finding(
        "claim-broken", where(table, other),
        f"{shown(other)} differ by {middle:+.1f} % from {layout_label(table, one.layout)} ({shown(one)}); the claim is "
        f"“{claim.sentence}”{f' ({claim.place})' if claim.place else ''}.",
        _ALLOWED[only].format(allowed), round(middle, 2),
    )  # fmt: skip


CHECK = check
