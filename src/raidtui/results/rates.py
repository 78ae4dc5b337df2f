"""Cells by their name and rate: which row they are in, and whether operations or bytes per second say more of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from raidtui.model.measure import Direction, Summary, in_bulk
from raidtui.model.result import Cell
from raidtui.results.numbers import Unit

if TYPE_CHECKING:
    from raidtui.results.extract import Point


def directions(summary: Summary | None) -> tuple[Direction, ...]:
    """What moved data (`Summary.moved`); nothing where nothing was measured."""
    return summary.moved if summary is not None else ()


def label_of(cell: Cell) -> str:
    """The row a cell belongs to: its layout, and the disk where the layout is measured disk by disk."""
    label = f"{cell.layout} {cell.part}" if cell.part else cell.layout
    return again_label(label) if cell.again else label


def again_label(label: str) -> str:
    """What a row is called where its layout is measured against itself."""
    return f"{label} again"


def unit_of(cells: Sequence[Cell]) -> Unit:
    """IOPS, or MB/s where the mean operation moved at least 256 KiB."""
    ios = sum(direction.ios for cell in cells for direction in directions(cell.summary))
    moved = sum(direction.bytes for cell in cells for direction in directions(cell.summary))
    return "MB/s" if in_bulk(ios, moved) else "IOPS"


def rate(cell: Cell, unit: Unit) -> float | None:
    """Operations or bytes per second of a cell, all directions together; None where nothing was measured."""
    found = directions(cell.summary)
    if not found:
        return None
    return sum(d.iops if unit == "IOPS" else d.bytes_per_s for d in found)


def rate_of(point: Point, unit: Unit) -> float | None:
    """The same of a point."""
    return point.iops if unit == "IOPS" else point.bytes_per_s if unit == "MB/s" else point.percent


def units_of(rows: Iterable[Mapping[str, Sequence[Point]]], workloads: Sequence[str]) -> tuple[Unit, ...]:
    """As `unit_of` for each workload of a table, whose rows are points by workload.

    Where only one of the two rates is known it is shown in that one, where only percentages are in percent.
    """
    sums = {name: [0.0, 0.0, 0, 0, 0] for name in workloads}
    for row in rows:
        for name, points in row.items():
            of = sums[name]
            for point in points:
                iops, moved = point.iops, point.bytes_per_s
                if iops is not None and moved is not None:
                    of[0] += iops
                    of[1] += moved
                of[2] += iops is not None
                of[3] += moved is not None
                of[4] += point.percent is not None
    return tuple(_unit(*sums[name]) for name in workloads)


def _unit(iops: float, bytes_per_s: float, with_iops: float, with_bytes: float, with_percent: float) -> Unit:
    if with_percent and not with_iops and not with_bytes:
        return "%"
    if with_iops != with_bytes:
        return "IOPS" if with_iops > with_bytes else "MB/s"
    return "MB/s" if in_bulk(iops, bytes_per_s) else "IOPS"
