"""One of several like disks that is unlike the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from raidtui.model.table import Figure, Finding, Metric, Table
from raidtui.results.likes import likes
from raidtui.results.lint.cells import base, number, shown, where

FEWEST: Final = 3
LEAST_SHARE: Final = 0.10
"""Of the median: nearer than this nobody would exchange a disk."""
LEAST_OF_FEW: Final = 0.25
"""The same of three: two that are equal by accident say little of how far such disks lie apart."""
_METRICS: Final[tuple[Metric, ...]] = ("bandwidth", "iops", "latency")
_STEADY: Final = ("", "mean", "p50")
"""The far end of latencies differs from disk to disk, and from run to run."""
LEAST_DEVIATIONS: Final = 6.0
_TO_SIGMA: Final = 1.4826
_THOUSANDS: Final = (1000.0, 1024.0, 1 / 1000, 1 / 1024)


def check(table: Table) -> Iterator[Finding]:
    """`outlier`, once for each cell; `unit-slip` where the number is off by a factor of 1000."""
    said: set[tuple[str, str, int, str]] = set()
    for group in _groups(table):
        values = [base(figure) for figure in group]
        middles = [(value.low + value.high) / 2 for value in values]
        centre = median(middles)
        # Numbers of few digits are equal where what was measured is not.
        rounding = max((value.high - value.low) / 2 for value in values)
        spread = max(rounding, _TO_SIGMA * median(abs(value - centre) for value in middles))
        least = LEAST_SHARE if len(group) > FEWEST and group[0].metric != "latency" else LEAST_OF_FEW
        for figure, value, interval in zip(group, middles, values, strict=True):
            apart = max(interval.low - centre, centre - interval.high, 0.0)
            cell = (figure.layout, figure.workload, figure.round, figure.direction)
            if centre <= 0 or cell in said or apart < least * centre or apart < LEAST_DEVIATIONS * spread:
                continue
            said.add(cell)
            computed = centre * figure.value / value if value else 0.0
            slipped = any(abs(value / centre / wrong - 1) < LEAST_SHARE / 2 for wrong in _THOUSANDS)
            words = "a factor of 1000 was lost" if slipped else f"that is {(value / centre - 1) * 100:+.0f} %"
            yield Finding("unit-slip" if slipped else "outlier", where(table, figure),
                          f"{shown(figure)}, where the median of {len(group)} like ones is {number(computed)} "
                          f"{figure.unit}: {words}.", figure.value, float(f"{computed:.6g}"))  # fmt: skip


def _groups(table: Table) -> Iterator[Sequence[Figure]]:
    """What like things did under one workload, bandwidths first."""
    found: dict[tuple[str, str, str, int, str, str], list[Figure]] = {}
    like = _likes(table)
    for metric in _METRICS:
        for figure in table.figures:
            if figure.metric == metric and figure.statistic in _STEADY and figure.layout in like:
                key = (like[figure.layout], figure.workload, metric, figure.round, figure.direction, figure.statistic)
                found.setdefault(key, []).append(figure)
    return (group for group in found.values() if len({figure.layout for figure in group}) >= FEWEST)


def _likes(table: Table) -> Mapping[str, str]:
    """Of each layout that says it; where none does, by their names. A tool names every disk of a server, of any kind."""
    said = {key: subject.like for key, subject in table.layouts.items() if subject.like}
    return said or ({} if table.kind == "printed" else likes(table.layouts))


CHECK = check
