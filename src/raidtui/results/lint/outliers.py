"""One of several like disks that is unlike the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from raidtui.model.table import Figure, Finding, Table
from raidtui.results.lint.cells import base, number, shown, where

FEWEST: Final = 4
LEAST_SHARE: Final = 0.10
"""Of the median: nearer than this nobody would exchange a disk."""
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
        spread = _TO_SIGMA * median(abs(value - centre) for value in middles)
        for figure, value, interval in zip(group, middles, values, strict=True):
            apart = max(interval.low - centre, centre - interval.high, 0.0)
            cell = (figure.layout, figure.workload, figure.round, figure.direction)
            if centre <= 0 or cell in said or apart < LEAST_SHARE * centre or apart < LEAST_DEVIATIONS * spread:
                continue
            said.add(cell)
            computed = centre * figure.value / value if value else 0.0
            slipped = any(abs(value / centre / wrong - 1) < LEAST_SHARE / 2 for wrong in _THOUSANDS)
            words = "a factor of 1000 was lost" if slipped else f"that is {(value / centre - 1) * 100:+.0f} %"
            yield Finding("unit-slip" if slipped else "outlier", where(table, figure),
                          f"{shown(figure)}, where the median of {len(group)} like ones is {number(computed)} "
                          f"{figure.unit}: {words}.", figure.value, float(f"{computed:.6g}"))  # fmt: skip


def _groups(table: Table) -> Iterator[Sequence[Figure]]:
    """Rates of like things under one workload, bandwidths first."""
    found: dict[tuple[str, str, str, int, str], list[Figure]] = {}
    for metric in ("bandwidth", "iops"):
        for figure in table.figures:
            subject = table.layouts.get(figure.layout)
            if figure.metric == metric and subject is not None and subject.like:
                key = (subject.like, figure.workload, metric, figure.round, figure.direction)
                found.setdefault(key, []).append(figure)
    return (group for group in found.values() if len({figure.layout for figure in group}) >= FEWEST)


CHECK = check
