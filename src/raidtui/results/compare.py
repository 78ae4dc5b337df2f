"""Layouts × workloads of one result or several: the median over rounds, its spread, its share of the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from statistics import median
from typing import NamedTuple

import msgspec

from raidtui.model.measure import Direction, Summary
from raidtui.model.result import Cell, Result
from raidtui.results.naming import layout_names, notes_on, workload_names
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
    source: int = 1
    """Number of the result that it is from, counted from 1."""


class Source(msgspec.Struct, frozen=True):
    """One of the results that are compared."""

    run: str
    scenario: str
    title: str
    host: str
    started: str
    rehearsal: bool
    complete: bool
    cells: int
    valid: int


class Comparison(msgspec.Struct, frozen=True):
    workloads: tuple[str, ...]
    units: tuple[Unit, ...]
    rows: tuple[Row, ...]
    baseline: str
    """Label of the row that shares refer to, or empty."""
    sources: tuple[Source, ...] = ()
    """The results, in the order in which they were given."""
    notes: tuple[str, ...] = ()
    """What a reader must know before believing the shares: a rehearsal, different servers."""


class _Draft(NamedTuple):
    """A row in the making: its cells by workload."""

    label: str
    source: int
    failed: str
    cells: Mapping[str, Sequence[Cell]]


def compare(result: Result, baseline: str = "") -> Comparison:
    """The cells of a result as a table. `baseline` is a row's label; by default the first row with a valid number."""
    return compare_many((result,), baseline)


def compare_many(results: Sequence[Result], baseline: str = "") -> Comparison:
    """The cells of several results as one table. A layout that several have is told apart by the result's number.

    Workloads of one name are one column only where they are the same workload, run the same way.
    """
    layouts, loads = layout_names(results), workload_names(results)
    drafts = [draft for number, result in enumerate(results, 1)
              for draft in _drafts(number, result, layouts[number - 1], loads[number - 1])]  # fmt: skip
    workloads = tuple(dict.fromkeys(name for names in loads for name in names.values()))
    units = tuple(unit_of([c for draft in drafts for c in draft.cells.get(name, ())]) for name in workloads)
    reference = _reference(drafts, baseline)
    columns = list(zip(workloads, units, strict=True))
    rows = []
    for draft in drafts:
        entries = []
        for name, unit in columns:
            base = _median(reference.cells.get(name, ()), unit) if reference and draft is not reference else None
            entries.append(_entry(draft.cells[name], unit, base) if name in draft.cells else None)
        rows.append(Row(draft.label, tuple(entries), draft.failed, draft.source))
    return Comparison(workloads, units, tuple(rows), reference.label if reference else "",
                      tuple(map(_source, results)), tuple(notes_on(results)))  # fmt: skip


def _drafts(number: int, result: Result, layouts: Mapping[str, str], loads: Mapping[str, str]) -> Iterator[_Draft]:
    for layout, name in layouts.items():
        rows: dict[str, dict[str, list[Cell]]] = {}
        for cell in result.cells:
            if cell.layout == layout:
                label = f"{name} {cell.part}" if cell.part else name
                rows.setdefault(label, {}).setdefault(loads[cell.workload], []).append(cell)
        for label, cells in (rows or {name: {}}).items():
            yield _Draft(label, number, _failure(result, layout), cells)


def _reference(drafts: Sequence[_Draft], wanted: str) -> _Draft | None:
    """The row that was asked for, else the first one with a valid number."""
    named = (draft for draft in drafts if wanted and draft.label == wanted)
    valid = (draft for draft in drafts if any(cell.valid for cells in draft.cells.values() for cell in cells))
    return next(chain(named, valid), None)


def _source(result: Result) -> Source:
    scenario = result.scenario
    return Source(
        result.run, str(scenario.get("name", "")), str(scenario.get("title", "")), result.machine.host, result.started,
        result.rehearsal, result.complete, len(result.cells), sum(cell.valid for cell in result.cells),
    )  # fmt: skip


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


def _failure(result: Result, layout: str) -> str:
    """Why the layout could not be built; empty where it could."""
    for built in result.layouts:
        if built.layout == layout and built.status == "failed":
            return built.problem.message if built.problem else "it could not be built"
    return ""
