"""Check of percentages and of claims about differences against the numbers that they are based on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from raidtui.foreign.lint.figures import (
    base,
    factor,
    found,
    layout_label,
    layout_of_percentages,
    number,
    shown,
    where,
    workload_label,
)
from raidtui.foreign.published import Interval, interval, tolerance
from raidtui.model import findings
from raidtui.model.table import Claim, Figure, Finding, Metric, Table

TOLERANCE: Final = 1.0
"""Percentage points."""
SAME: Final = 0.005
"""Two baselines that are this close are one."""
MOST: Final = 8
"""Numbers of one layout and workload that a share is compared with."""
MOST_EXPLAINED: Final = 200
_METRICS: Final[tuple[Metric, ...]] = ("bandwidth", "iops", "latency")


class Raw(NamedTuple):
    """The numbers that a percentage may be of: the layout's, the baseline's, and the percentage that they give."""

    own: Figure
    reference: Figure
    percent: Interval

    @property
    def as_published(self) -> float:
        """Ratio of the numbers themselves."""
        return 100 * self.own.value * factor(self.own.unit) / (self.reference.value * factor(self.reference.unit))


def check_percents(table: Table) -> Iterator[Finding]:
    """`percent-mismatch` for every share that follows from no measured pair of numbers."""
    index = _Index(table)
    shares = [(figure, index.raws(figure)) for figure in _shares(table)]
    family: dict[tuple[str, str], list[tuple[Figure, list[Raw]]]] = {}
    for figure, raws in shares:
        relatives = family.setdefault((figure.of, workload_label(table, figure.workload)), [])
        if len(relatives) < MOST_EXPLAINED:
            relatives.append((figure, raws[:MOST]))
    explained = 0
    for figure, raws in shares:
        if raws and all(raw.percent.gap(interval(figure)) > TOLERANCE for raw in raws):
            computed = raws[0].as_published
            sentence = (
                f"{shown(raws[0].own)} are {computed:,.2f} % of {layout_label(table, figure.of)} "
                f"({shown(raws[0].reference)}), not {shown(figure)}"
            )
            explained += 1
            relatives = family[figure.of, workload_label(table, figure.workload)]
            hint = _hint(table, index, figure, raws[0], relatives) if explained <= MOST_EXPLAINED else ""
            kind = f"percentages of {layout_label(table, figure.of)} do not follow from the numbers"
            yield found(findings.PERCENT_MISMATCH, table, figure, f"{sentence}{hint}.", round(computed, 2), kind)


def _shares(table: Table) -> list[Figure]:
    """Return the percentages with their baselines; a missing one is the layout that has 100 % everywhere."""
    shares, of = [figure for figure in table.figures if figure.metric == "share"], layout_of_percentages(table.figures)
    return [figure if figure.of else replace(figure, of=of) for figure in shares if figure.of or of]


def _hint(table: Table, index: _Index, figure: Figure, raw: Raw, relatives: Sequence[tuple[Figure, Sequence[Raw]]]) -> str:
    """Return a hint to the baseline from which a percentage follows: another layout's number, or one that other percentages
    share.
    """
    implied = base(raw.own).over(interval(figure).times(0.01))
    if implied is None:
        return ""
    for other in index.beside(raw.own):
        if other.layout != figure.layout and _same(base(other), implied):
            return f"; it follows from {layout_label(table, other.layout)} ({shown(other)}) as 100 %"
    scale = factor(raw.own.unit)
    count = len({f.layout for f, raws in relatives if f is not figure and _follows_too(f, raws, raw, implied)})
    words = "one more" if count == 1 else f"{count} more"
    baseline = f"{number(implied.middle / scale)} {raw.own.unit}"
    return f"; it follows from another baseline of about {baseline}, as do {words} under this workload" if count else ""


def _follows_too(share: Figure, raws: Sequence[Raw], raw: Raw, implied: Interval) -> bool:
    """Return True if another share follows from the implied baseline, and not from the published one."""
    if any(_same(base(one.reference), implied) for one in raws):
        return False
    alike = (base(one.own).over(interval(share).times(0.01)) for one in raws if one.own.metric == raw.own.metric)
    return any(of is not None and _same(of, implied) for of in alike)


def _same(one: Interval, other: Interval) -> bool:
    return one.gap(other) <= SAME * other.low * 0.5


class _Index:
    """Figures by layout and by the label of their workload: one workload may have been run by two commands."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._by: dict[tuple[str, str, str], list[Figure]] = {}
        self._raws: dict[tuple[str, str, str, str], list[Raw]] = {}
        self._workload: dict[tuple[str, str], list[Figure]] = {}
        for figure in table.figures:
            if figure.metric in _METRICS:
                label = workload_label(table, figure.workload)
                self._by.setdefault((figure.layout, label, figure.metric), []).append(figure)
                self._workload.setdefault((label, figure.metric), []).append(figure)

    def raws(self, share: Figure) -> list[Raw]:
        """The pairs that it may follow from: where some stand in its own line, these."""
        label = workload_label(self._table, share.workload)
        key = (share.layout, share.of, label, share.direction)
        if key not in self._raws:
            self._raws[key] = self._found(share, label)
        return [raw for raw in self._raws[key] if share.place and raw.own.place == share.place] or self._raws[key]

    def _found(self, share: Figure, label: str) -> list[Raw]:
        pairs = (
            (own, reference)
            for metric in _METRICS
            for own in self._matching(share, share.layout, label, metric)
            for reference in self._matching(share, share.of, label, metric)
            if (own.direction, own.statistic) == (reference.direction, reference.statistic)
        )
        quotients = ((own, reference, base(own).over(base(reference))) for own, reference in pairs)
        return [Raw(own, reference, one.times(100)) for own, reference, one in quotients if one is not None]

    def beside(self, own: Figure) -> Sequence[Figure]:
        """Figures of all layouts with the same workload and metric."""
        return self._workload.get((workload_label(self._table, own.workload), own.metric), ())

    def _matching(self, share: Figure, layout: str, label: str, metric: str) -> list[Figure]:
        figures = self._by.get((layout, label, metric), [])[:MOST]
        return [f for f in figures if not share.direction or f.direction == share.direction]


_RATES: Final = ("bandwidth", "iops")
_LATENCY: Final = re.compile(r"latenc|response time|задержк|latenz", re.IGNORECASE)
"""Claims are about rates unless they say otherwise."""
_ALLOWED: Final = {
    "": "within {:g} %", "less": "at most {:g} % less", "more": "at most {:g} % more",
}  # fmt: skip


def check_claims(table: Table) -> Iterator[Finding]:
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
    middle = change.middle
    told = f"{shown(other)} differ by {middle:+.1f} % from {layout_label(table, one.layout)} ({shown(one)})"
    quoted = f"“{claim.sentence}”{f' ({claim.place})' if claim.place else ''}"
    return Finding(
        findings.CLAIM_BROKEN.code, where(table, other), f"{told}; the claim is {quoted}.",
        _ALLOWED[only].format(allowed), round(middle, 2), f"differences break the claim {quoted}", f"{told}.",
    )  # fmt: skip
