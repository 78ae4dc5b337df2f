"""Check for copied cells and for outliers: equal numbers that chance does not explain, and one disk unlike the others."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import median
from typing import Final

from raidtui.foreign.lint.figures import (
    STEP,
    CellKey,
    base,
    block_sizes,
    by_cell,
    cell_of,
    decimals_step,
    found,
    is_multiple,
    layout_label,
    likes,
    number,
    rounded,
    shown,
    where,
    workload_label,
)
from raidtui.foreign.published import decimals
from raidtui.model import findings
from raidtui.model.table import TIME_UNITS, Figure, Finding, Metric, Table

CHANCE: Final = 0.006
"""Expected accidents among all pairs of a table, above which equal numbers are no finding."""
NARROWEST: Final = 0.001
SAME_LIMIT: Final = 0.1
"""Probability that two layouts reach one limit and are then within 0.2 % of each other."""
LIMIT_WIDTH: Final = 0.002
LIMIT_CHANCE: Final = 0.004
MOST_EQUAL: Final = 20
"""A number that stands more often than this was not copied so often."""
DIGITS: Final = 5
"""Significant digits from which two equal numbers beside different companions are suspicious."""
MANY: Final = 3
"""A number that stands so often under one workload is a limit that was reached, not a copy …"""
FINEST: Final = 1e-6
"""… unless it has more digits than any limit has."""

_DECADES: Final = tuple(10.0**n for n in range(-6, 16))
_COPIED: Final = "numbers stand at another place, too: one of the two was copied"


def check_repeats(table: Table) -> Iterator[Finding]:
    """Find `repeated-value` at the later of two cells. Numbers printed by a tool were not copied."""
    if table.kind == "printed":
        return
    cells = by_cell(table)
    for metric in ("iops", "bandwidth", "latency"):
        figures = [f for f in table.figures if f.metric == metric and f.value > 0 and not f.rough and not _binned(f)]
        peers = _Peers(table, figures)
        said: set[int] = set()
        for one, other in _equal_pairs(figures):
            if id(other) in said or cell_of(one) == cell_of(other):
                continue
            if _contradicted(table, cells, one, other) or peers.improbable(one, other):
                said.add(id(other))
                told = f"{shown(other)} stands also at {where(table, one)}"
                yield found(findings.REPEATED_VALUE, table, other, f"{told}: one of the two was copied.",
                            f"equal to {where(table, one)}", _COPIED, f"{told}.")  # fmt: skip


def _binned(figure: Figure) -> bool:
    """Return True for a percentile as fio reports it: the middle of one of its bins, so that equal values are common.

    Of nanoseconds, before fio 3 of microseconds; 64 bins for each power of two (fio's stat.h, FIO_IO_U_PLAT_BITS).
    """
    if figure.metric != "latency" or not figure.statistic.startswith("p"):
        return False
    ns = TIME_UNITS[figure.unit] * 1e9
    half_ns = 0.5 * 10.0 ** -decimals(figure) * ns
    return any(abs(_middle(figure.value * ns / unit) * unit - figure.value * ns) <= half_ns for unit in (1.0, 1000.0))


def _middle(value: float) -> float:
    """Return the width of the bin of a value."""
    width = 2.0 ** max(0, math.frexp(value)[1] - 7)
    return (value // width + 0.5) * width if width > 1 else round(value)


def _equal_pairs(figures: Sequence[Figure]) -> Iterator[tuple[Figure, Figure]]:
    """Pairs of equal numbers of one unit, also where one was published with a digit more. The earlier comes first."""
    by_value: dict[tuple[str, float], list[Figure]] = {}
    for figure in figures:
        by_value.setdefault((figure.unit, round(figure.value, 2)), []).append(figure)
    for group in by_value.values():
        if len(group) <= MOST_EQUAL:
            yield from (pair for pair in combinations(group, 2) if _equal(*pair))


def _equal(one: Figure, other: Figure) -> bool:
    places = min(decimals(one), decimals(other))
    return one.value == other.value or (
        decimals(one) != decimals(other) and round(one.value, places) == round(other.value, places)
    )


def _contradicted(table: Table, cells: dict[CellKey, list[Figure]], one: Figure, other: Figure) -> bool:
    """Return True if other figures beside the two numbers differ."""
    blocks = [block_sizes(table, figure.workload) for figure in (one, other)]
    if _digits(one) < DIGITS or one.metric == "latency" or len(blocks[0]) != 1 or blocks[0] != blocks[1]:
        return False  # equal operations mean equal bandwidth for one block size alone
    wanted = "bandwidth" if one.metric == "iops" else "iops"
    beside = [next((f for f in cells[cell_of(figure)] if f.metric == wanted), None) for figure in (one, other)]
    first, second = beside
    if first is None or second is None or first.unit != second.unit:
        return False
    step = 10.0 ** -min(decimals(first), decimals(second))
    apart = abs(first.value - second.value)
    # A companion of more digits than the number itself tells nothing: it may differ where the number was rounded.
    return apart > step and _digits(one) > _digits(first) and apart / first.value > 0.0005


class _Peers:
    """Numbers of one metric: how fine they are, and how far apart they usually lie."""

    def __init__(self, table: Table, figures: Sequence[Figure]) -> None:
        self._table = table
        self._steps = _steps(figures)
        self._rows: dict[tuple[str, str], list[Figure]] = {}
        self._columns: dict[tuple[str, str], list[Figure]] = {}
        self._all: dict[str, list[Figure]] = {}
        for figure in figures:
            self._all.setdefault(figure.unit, []).append(figure)
            self._columns.setdefault((figure.unit, figure.layout), []).append(figure)
            self._rows.setdefault((figure.unit, workload_label(table, figure.workload)), []).append(figure)

    def improbable(self, one: Figure, other: Figure) -> bool:
        """Return True if two numbers of this resolution would hardly be equal by chance in a table of this size."""
        rows = [workload_label(self._table, figure.workload) for figure in (one, other)]
        fine = max(self._steps[one.unit, _decade(one.value)], _coarser(one, other)) <= FINEST * one.value
        if rows[0] == rows[1]:
            peers = self._rows[one.unit, rows[0]]
            restated = layout_label(self._table, one.layout) == layout_label(self._table, other.layout)
            many = not fine and sum(f.value == one.value for f in peers) >= MANY
            if many or (restated and one.round == other.round):
                return False
        else:
            # Whoever copies takes a cell beside it: of the same workload, or of the same layout.
            peers = self._columns[one.unit, one.layout] if one.layout == other.layout else self._all[one.unit]
        # Where all run into one limit, equal digits prove nothing.
        beside = [f for row in set(rows) for f in self._rows[one.unit, row] if f is not one and f is not other]
        if beside and not fine and all(abs(f.value - one.value) <= NARROWEST * one.value for f in beside):
            return False
        # GB/s with two digits that were multiplied with 1024 are no finer than that.
        slipped = STEP if one.value >= 1000 and is_multiple(one.value) else 0.0
        step = max(self._steps[one.unit, _decade(one.value)], slipped, _coarser(one, other))
        if SAME_LIMIT * step / (one.value * LIMIT_WIDTH) > LIMIT_CHANCE:
            return False
        pairs = len(peers) * (len(peers) - 1) / 2
        if pairs * step / one.value > CHANCE:
            return False
        apart = [abs(f.value - one.value) / one.value for f in peers if f is not one and f is not other]
        width = min(1.0, max(NARROWEST, median(apart))) if apart else 1.0
        return pairs * step / (one.value * width) <= CHANCE


def _steps(figures: Sequence[Figure]) -> dict[tuple[str, int], float]:
    """Return the resolution of the numbers of each unit and size: their common divisor, never finer than their digits."""
    groups: dict[tuple[str, int], list[Figure]] = {}
    for figure in figures:
        groups.setdefault((figure.unit, _decade(figure.value)), []).append(figure)
    return {
        (unit, decade): min(decimals_step(group), 10.0 ** (decade - 2)) if len({f.value for f in group}) >= 4
        else max(10.0 ** -max(map(decimals, group)), min(10.0 ** (decade - 4), 0.1))
        for (unit, decade), group in groups.items()
    }  # fmt: skip


def _coarser(one: Figure, other: Figure) -> float:
    return max(_own_step(figure.value) for figure in (one, other))


def _own_step(value: float) -> float:
    """Return the value of the last significant digit: 100,000 and 31.00 may be rounder than the numbers beside them."""
    digits = f"{value:.10g}"
    if "e" in digits:
        return value
    whole, _, fraction = digits.partition(".")
    return float(10.0 ** (-len(fraction) if fraction else len(whole) - len(whole.rstrip("0"))))


def _decade(value: float) -> int:
    return bisect_left(_DECADES, value * (1 + 1e-12)) - 7


def _digits(figure: Figure) -> int:
    """Digits that count, zeros at the end left out."""
    return len(f"{figure.value:.10g}".partition("e")[0].replace(".", "").lstrip("0").rstrip("0"))


FEWEST: Final = 3
LEAST_SHARE: Final = 0.10
"""Smallest difference from the median for which a disk would be exchanged."""
LEAST_OF_FEW: Final = 0.25
"""Smallest difference for three disks: two that are equal by accident tell little about the usual spread."""
_METRICS: Final[tuple[Metric, ...]] = ("bandwidth", "iops", "latency")
_STEADY: Final = ("", "mean", "p50")
"""The far end of latencies differs from disk to disk, and from run to run."""
LEAST_DEVIATIONS: Final = 6.0
_TO_SIGMA: Final = 1.4826
_THOUSANDS: Final = (1000.0, 1024.0, 1 / 1000, 1 / 1024)


def check_outliers(table: Table) -> Iterator[Finding]:
    """`outlier`, once for each cell; `unit-slip` where the number is off by a factor of 1000."""
    said: set[CellKey] = set()
    for group in _groups(table):
        values = [base(figure) for figure in group]
        middles = [value.middle for value in values]
        centre = median(middles)
        # Numbers of few digits are equal where what was measured is not.
        rounding = max((value.high - value.low) / 2 for value in values)
        spread = max(rounding, _TO_SIGMA * median(abs(value - centre) for value in middles))
        least = LEAST_SHARE if len(group) > FEWEST and group[0].metric != "latency" else LEAST_OF_FEW
        for figure, value, interval in zip(group, middles, values, strict=True):
            apart = max(interval.low - centre, centre - interval.high, 0.0)
            cell = cell_of(figure)
            if centre <= 0 or cell in said or apart < least * centre or apart < LEAST_DEVIATIONS * spread:
                continue
            said.add(cell)
            computed = centre * figure.value / value if value else 0.0
            slipped = any(abs(value / centre / wrong - 1) < LEAST_SHARE / 2 for wrong in _THOUSANDS)
            words = "a factor of 1000 was lost" if slipped else f"that is {(value / centre - 1) * 100:+.0f} %"
            middle = f"the median of {len(group)} like ones is {number(computed)} {figure.unit}"
            code = findings.UNIT_SLIP if slipped else findings.OUTLIER
            kind = "numbers of like disks lost a factor of 1000" if slipped else "numbers are far from those of like disks"
            yield found(code, table, figure, f"{shown(figure)}, where {middle}: {words}.", rounded(computed), kind)


def _groups(table: Table) -> Iterator[Sequence[Figure]]:
    """Return the figures of like disks under one workload, bandwidths first."""
    groups: dict[tuple[str, str, str, int, str, str], list[Figure]] = {}
    # A printed list names all disks of a server, of any kind.
    said = {key: subject.like for key, subject in table.layouts.items() if subject.like}
    like = said or ({} if table.kind == "printed" else likes(table.layouts))
    for metric in _METRICS:
        for figure in table.figures:
            if figure.metric == metric and figure.statistic in _STEADY and figure.layout in like:
                key = (like[figure.layout], figure.workload, metric, figure.round, figure.direction, figure.statistic)
                groups.setdefault(key, []).append(figure)
    return (group for group in groups.values() if len({figure.layout for figure in group}) >= FEWEST)
