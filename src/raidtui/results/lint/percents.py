"""Percentages against the numbers that they are of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from raidtui.model.table import Figure, Finding, Metric, Table
from raidtui.results.lint.cells import base, factor, layout_label, number, shown, where, workload_label
from raidtui.results.published import Interval, interval

TOLERANCE: Final = 1.0
"""Percentage points."""
SAME: Final = 0.005
"""Two baselines that are this close are one."""
_METRICS: Final[tuple[Metric, ...]] = ("bandwidth", "iops", "latency")


class Raw(NamedTuple):
    """The numbers that a percentage may be of: the layout's, the baseline's, and the percentage that they give."""

    own: Figure
    reference: Figure
    percent: Interval


def check(table: Table) -> Iterator[Finding]:
    """`percent-mismatch` for every share that follows from no measured pair of numbers."""
    index = _Index(table)
    shares = [(figure, index.raws(figure)) for figure in table.figures if figure.metric == "share" and figure.of]
    for figure, raws in shares:
        if raws and all(raw.percent.gap(interval(figure)) > TOLERANCE for raw in raws):
            computed = (raws[0].percent.low + raws[0].percent.high) / 2
            sentence = (
                f"{shown(raws[0].own)} are {computed:,.2f} % of {layout_label(table, figure.of)} "
                f"({shown(raws[0].reference)}), not {shown(figure)}"
            )
            hint = _hint(table, index, figure, raws[0], shares)
            yield Finding("percent-mismatch", where(table, figure), f"{sentence}{hint}.", figure.value, round(computed, 2))


def _hint(table: Table, index: _Index, figure: Figure, raw: Raw, shares: Sequence[tuple[Figure, Sequence[Raw]]]) -> str:
    """Which other baseline it follows from: another layout's number, or one that other percentages share."""
    implied = base(raw.own).over(interval(figure).times(0.01))
    if implied is None:
        return ""
    for other in index.beside(raw.own):
        if other.layout != figure.layout and _same(base(other), implied):
            return f"; it follows from {layout_label(table, other.layout)} ({shown(other)}) as 100 %"
    scale = factor(raw.own.unit)
    label = workload_label(table, figure.workload)
    found = [
        f for f, raws in shares
        if f is not figure and f.of == figure.of and workload_label(table, f.workload) == label
        and any((of := base(r.own).over(interval(f).times(0.01))) and r.own.metric == raw.own.metric and _same(of, implied)
                for r in raws)
        and not any(_same(base(r.reference), implied) for r in raws)
    ]  # fmt: skip
    if not found:
        return ""
    middle = (implied.low + implied.high) / 2 / scale
    count = len({f.layout for f in found})
    words = "one more" if count == 1 else f"{count} more"
    return f"; it follows from another baseline of about {number(middle)} {raw.own.unit}, as do {words} under this workload"


def _same(one: Interval, other: Interval) -> bool:
    return one.gap(other) <= SAME * other.low * 0.5


class _Index:
    """Figures by layout and by the label of their workload: one workload may have been run by two commands."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._by: dict[tuple[str, str, str], list[Figure]] = {}
        self._workload: dict[tuple[str, str], list[Figure]] = {}
        for figure in table.figures:
            if figure.metric in _METRICS:
                label = workload_label(table, figure.workload)
                self._by.setdefault((figure.layout, label, figure.metric), []).append(figure)
                self._workload.setdefault((label, figure.metric), []).append(figure)

    def raws(self, share: Figure) -> list[Raw]:
        """The pairs that it may follow from."""
        label = workload_label(self._table, share.workload)
        found: list[Raw] = []
        for metric in _METRICS:
            for own in self._matching(share, share.layout, label, metric):
                for reference in self._matching(share, share.of, label, metric):
                    quotient = base(own).over(base(reference))
                    if (
                        quotient is not None
                        and own.direction == reference.direction
                        and own.statistic == reference.statistic
                    ):
                        found.append(Raw(own, reference, quotient.times(100)))
        return found

    def beside(self, own: Figure) -> Sequence[Figure]:
        """The same number of every layout."""
        return self._workload.get((workload_label(self._table, own.workload), own.metric), ())

    def _matching(self, share: Figure, layout: str, label: str, metric: str) -> list[Figure]:
        found = self._by.get((layout, label, metric), [])
        return [f for f in found if not share.direction or f.direction == share.direction]


CHECK = check
