"""Layouts × workloads of one result: the median over rounds, its spread, its share of the baseline, and what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from raidtui.model.measure import Direction, Summary
from raidtui.model.result import Cell, Result
from raidtui.results.numbers import Unit

BULK_BYTES = 256 << 10
"""From this block size on a workload is about throughput: MB/s says more than IOPS."""


class Entry(msgspec.Struct, frozen=True):
    """One layout under one workload, over all rounds. Invalid cells are counted but never enter a number."""

    median: float | None
    """Operations or bytes per second, by the workload's unit; None without a valid cell."""
    low: float | None
    high: float | None
    of_baseline: float | None
    """Share of the baseline's median (1.0 is equal); None for the baseline itself and without one."""
    valid: int
    cells: int
    reasons: tuple[str, ...]
    """Why cells are invalid, each once."""


class Row(msgspec.Struct, frozen=True):
    """One layout, or one disk of a layout that is measured disk by disk."""

    label: str
    entries: tuple[Entry | None, ...]
    """By workload, in the comparison's order; None where nothing was measured."""
    failed: str = ""
    """Why the layout could not be built."""


class Comparison(msgspec.Struct, frozen=True):
    workloads: tuple[str, ...]
    units: tuple[Unit, ...]
    rows: tuple[Row, ...]
    baseline: str
    """Label of the row that shares refer to, or empty."""


def compare(result: Result, baseline: str = "") -> Comparison:
    """The cells of a result as a table. `baseline` is a row's label; by default the first row with a valid number."""
    workloads = _in_order(result.scenario.get("workloads"), [cell.workload for cell in result.cells])
    units = tuple(unit_of([c for c in result.cells if c.workload == name]) for name in workloads)
    labels = _row_labels(result)
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in result.cells:
        groups.setdefault((label_of(cell), cell.workload), []).append(cell)
    reference = baseline if baseline in labels else next(
        (label for label in labels if any(c.valid for (row, _), cells in groups.items() if row == label for c in cells)), ""
    )  # fmt: skip
    rows = []
    for label in labels:
        entries = []
        for name, unit in zip(workloads, units, strict=True):
            base = None if label == reference else _median(groups.get((reference, name), ()), unit)
            cells = groups.get((label, name))
            entries.append(_entry(cells, unit, base) if cells else None)
        rows.append(Row(label, tuple(entries), _failure(result, label)))
    return Comparison(tuple(workloads), units, tuple(rows), reference)


def label_of(cell: Cell) -> str:
    """The row a cell belongs to: its layout, and the disk where the layout is measured disk by disk."""
    return f"{cell.layout} {cell.part}" if cell.part else cell.layout


def unit_of(cells: Sequence[Cell]) -> Unit:
    """IOPS, or MB/s where the mean operation moved at least 256 KiB."""
    ios = sum(direction.ios for cell in cells for direction in directions(cell.summary))
    moved = sum(direction.bytes for cell in cells for direction in directions(cell.summary))
    return "MB/s" if ios and moved / ios >= BULK_BYTES else "IOPS"


def directions(summary: Summary | None) -> tuple[Direction, ...]:
    """What moved data: reads, writes and trims, but not syncs."""
    if summary is None:
        return ()
    return tuple(d for d in (summary.read, summary.write, summary.trim) if d is not None and d.ios)


def rate(cell: Cell, unit: Unit) -> float | None:
    """Operations or bytes per second of a cell, all directions together; None where nothing was measured."""
    found = directions(cell.summary)
    if not found:
        return None
    return sum(d.iops if unit == "IOPS" else d.bytes_per_s for d in found)


def _entry(cells: Sequence[Cell], unit: Unit, base: float | None) -> Entry:
    values = _values(cells, unit)
    middle = median(values) if values else None
    return Entry(
        median=middle,
        low=min(values, default=None),
        high=max(values, default=None),
        of_baseline=middle / base if middle is not None and base else None,
        valid=sum(cell.valid for cell in cells),
        cells=len(cells),
        reasons=tuple(dict.fromkeys(reason for cell in cells if not cell.valid for reason in cell.reasons)),
    )


def _values(cells: Sequence[Cell], unit: Unit) -> list[float]:
    return [value for cell in cells if cell.valid and (value := rate(cell, unit)) is not None]


def _median(cells: Sequence[Cell], unit: Unit) -> float | None:
    values = _values(cells, unit)
    return median(values) if values else None


def _in_order(section: object, found: Sequence[str]) -> list[str]:
    """Names that were found, in the order in which the scenario gives them."""
    given = [name for name in section if name in found] if isinstance(section, dict) else []
    return list(dict.fromkeys([*given, *found]))


def _row_labels(result: Result) -> list[str]:
    layouts = _in_order(
        result.scenario.get("layouts"),
        [cell.layout for cell in result.cells] + [built.layout for built in result.layouts],
    )
    labels: list[str] = []
    for layout in layouts:
        labels += dict.fromkeys(label_of(c) for c in result.cells if c.layout == layout)
        if not any(c.layout == layout for c in result.cells):
            labels.append(layout)
    return labels


def _failure(result: Result, label: str) -> str:
    for built in result.layouts:
        if built.layout == label and built.status == "failed":
            return built.problem.message if built.problem else "it could not be built"
    return ""
