"""What the checks share: figures by cell, the words for a place and for a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from raidtui.model.table import RATE_UNITS, SIZE_UNITS, TIME_UNITS, Figure, Metric, Table, Unit
from raidtui.results.labels import read_command, read_label
from raidtui.results.published import Interval, decimals, interval

SLACK = 0.01
"""What measuring itself may add between two counts of one cell: averages of samples beside whole sums."""


MOST_OF_A_CELL = 200


class CellKey(NamedTuple):
    """One layout under one workload in one round, and one direction of it where that was told apart."""

    layout: str
    workload: str
    round: int
    direction: str


def by_cell(table: Table) -> dict[CellKey, list[Figure]]:
    """The figures of each cell, in the table's order; of a cell without end, the first ones."""
    found: dict[CellKey, list[Figure]] = {}
    for figure in table.figures:
        cell = found.setdefault(CellKey(figure.layout, figure.workload, figure.round, figure.direction), [])
        if len(cell) < MOST_OF_A_CELL:
            cell.append(figure)
    return found


def of_metric(figures: Sequence[Figure], metric: Metric) -> Iterator[Figure]:
    return (figure for figure in figures if figure.metric == metric)


def base(figure: Figure) -> Interval:
    """In bytes, bytes per second, seconds or operations per second."""
    return interval(figure).times(factor(figure.unit))


def factor(unit: Unit) -> float:
    """From this unit to bytes, bytes per second or seconds; 1 for what is counted."""
    known: Mapping[str, float] = {**RATE_UNITS, **SIZE_UNITS, **TIME_UNITS}
    return known.get(unit, 1.0)


def block_sizes(table: Table, workload: str) -> tuple[int, ...]:
    """Bytes that one operation may move: as it is said, by the command, and where neither is known by the label.

    Where they differ, that is another finding; numbers that follow from one of them are right.
    """
    asked = table.workloads.get(workload)
    if asked is None:
        return ()
    done = read_command(asked.command) if asked.command else None
    ran = None if done is None else done.block_bytes
    known = [size for size in (asked.block_bytes, ran) if size]
    if not known and (done is None or "bs" not in asked.command):
        known = [size for size in (read_label(asked.label or workload).block_bytes,) if size]
    return tuple(dict.fromkeys(known))


def where(table: Table, figure: Figure) -> str:
    """`mdadm-local-raid0, randwrite 4k (file.txt:263)`."""
    place = f" ({figure.place})" if figure.place else ""
    again = f", round {figure.round}" if figure.round > 1 else ""
    return f"{layout_label(table, figure.layout)}, {workload_label(table, figure.workload)}{again}{place}"


def layout_label(table: Table, key: str) -> str:
    subject = table.layouts.get(key)
    return subject.label if subject is not None and subject.label else key


def workload_label(table: Table, key: str) -> str:
    asked = table.workloads.get(key)
    return asked.label if asked is not None and asked.label else key


def number(value: float) -> str:
    """Four digits that count, as plain text: `20,130`, `261.6`, `0.1541`."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.4g}"


def shown(figure: Figure) -> str:
    """The number as it was published, with its unit."""
    unit = "" if figure.unit == "operations" else f" {figure.unit}"
    # 7.1e2 % was written as 7.1x.
    text = f"{figure.value:g}" if figure.unit == "%" and "e" in figure.text else figure.text
    return f"{text or number(figure.value)}{unit}"


def decimals_step(figures: Sequence[Figure]) -> float:
    """The coarsest of 1000, 500, 100 … that all of these numbers are multiples of, and never finer than their digits."""
    finest = 10.0 ** -max((decimals(figure) for figure in figures), default=0)
    for exponent in range(3, -7, -1):
        for step in (10.0**exponent, 5 * 10.0 ** (exponent - 1)):
            if step < finest:
                return finest
            if all(_multiple(figure.value, step) for figure in figures):
                return step
    return finest


def _multiple(value: float, step: float) -> bool:
    ratio = value / step
    return abs(ratio - round(ratio)) < 1e-6
