"""Layouts × workloads of one result or several: the median over rounds, its share of the baseline, and what to believe."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, combinations
from math import log, log1p
from statistics import median

import msgspec

from raidtui.model.measure import Latency
from raidtui.model.result import Cell, Result
from raidtui.results.extract import Extract, Point, extract
from raidtui.results.extract import directions as directions
from raidtui.results.facts import Confounder, confounders, given_options
from raidtui.results.latency import merged_latency
from raidtui.results.naming import layout_names, notes_on, workload_names
from raidtui.results.numbers import Unit
from raidtui.results.statistics.centre import geometric_mean
from raidtui.results.statistics.judge import Judged, interval, judge
from raidtui.results.statistics.noise import noise_floor

BULK_BYTES = 256 << 10
"""From this block size on a workload is about throughput: MB/s says more than IOPS."""

_MANY = 500
"""Results."""


class Entry(msgspec.Struct, frozen=True, gc=False):
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
    interval_low: float | None = None
    """Where the typical round lies with 95 % confidence; None for fewer than two valid rounds."""
    interval_high: float | None = None
    verdict: str = ""
    """Against the baseline: `different`, `not told apart` or `too few rounds`; empty where there is no share."""
    share_low: float | None = None
    """Where the share of the baseline lies with 95 % confidence."""
    share_high: float | None = None
    rank_p: float | None = None
    """Mann-Whitney's p of the rounds, exact."""
    p: float | None = None
    """Welch's p on logarithms, corrected (Holm) for all comparisons of the table."""
    latency: dict[str, Latency] = {}
    """By direction, over all valid rounds: percentiles of the merged histograms, never averages of percentiles."""
    points: tuple[Point, ...] = ()
    """The cells, in the order in which they were measured."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """One layout, or one disk of a layout that is measured disk by disk."""

    label: str
    entries: tuple[Entry | None, ...]
    """By workload, in the comparison's order; None where nothing was measured."""
    failed: str = ""
    """Why the layout could not be built."""
    source: int = 1
    """Number of the result that it is from, counted from 1."""
    geometric_mean: float | None = None
    """Of the shares of the baseline; None for the baseline itself and without shares."""
    shares: int = 0
    """How many workloads are in that mean."""
    confounders: tuple[Confounder, ...] = ()
    """What differs from the baseline beside what was meant to."""


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
    noise_floors: tuple[float | None, ...] = ()
    """By workload: how far layouts of one and the same definition in one run were apart (0.02 is 2 %); None without any."""
    same: tuple[tuple[str, str], ...] = ()
    """Those pairs."""


class _Draft:
    """A row in the making: its points by workload, and what of them counts."""

    __slots__ = ("label", "layout", "medians", "part", "points", "source", "values")

    def __init__(self, label: str, source: int, layout: str, part: str, points: Mapping[str, Sequence[Point]]) -> None:
        self.label, self.source, self.layout, self.part, self.points = label, source, layout, part, points
        self.values: dict[str, list[float]] = {}
        """Rates of valid cells, by workload; only where there are any."""
        self.medians: dict[str, float] = {}

    def count(self, units: Mapping[str, Unit]) -> None:
        """Find the values, once units are known."""
        for name, points in self.points.items():
            if values := _values(points, units[name]):
                self.values[name], self.medians[name] = values, median(values)


def compare(result: Result, baseline: str = "") -> Comparison:
    """The cells of a result as a table. `baseline` is a row's label; by default the first row with a valid number."""
    return compare_many((result,), baseline)


def compare_many(
    results: Sequence[Result | Extract], baseline: str = "", meant: frozenset[str] = frozenset()
) -> Comparison:
    """The cells of several results as one table. A layout that several have is told apart by the result's number.

    Workloads of one name are one column only where they are the same workload, run the same way. `meant` names facts that
    were meant to differ.
    """
    extracts = [extract(one) if isinstance(one, Result) else one for one in results]
    with _uncollected(len(extracts) > _MANY):
        return _compared(extracts, baseline, meant)


@contextmanager
def _uncollected(many: bool) -> Iterator[None]:
    """Of thousands of results nothing becomes garbage on the way; looking for it would take as long as the comparison."""
    if not many or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _compared(extracts: Sequence[Extract], baseline: str, meant: frozenset[str]) -> Comparison:
    layouts, loads = layout_names(extracts), workload_names(extracts)
    drafts = [draft for number, one in enumerate(extracts, 1)
              for draft in _drafts(number, one, layouts[number - 1], loads[number - 1])]  # fmt: skip
    workloads = tuple(dict.fromkeys(name for names in loads for name in names.values()))
    units = _units(drafts, workloads)
    table = _Table(extracts, drafts, workloads, units, _reference(drafts, baseline), meant)
    pairs, floors = table.noise()
    return Comparison(workloads, units, tuple(table.rows(pairs, floors)), table.reference.label if table.reference else "",
                      tuple(map(_source, extracts)), tuple(notes_on(extracts)), tuple(floors.values()),
                      tuple((a.label, b.label) for a, b in pairs))  # fmt: skip


class _Table:
    """Rows in the making, and what they are held against."""

    def __init__(
        self, extracts: Sequence[Extract], drafts: Sequence[_Draft], workloads: tuple[str, ...], units: tuple[Unit, ...],
        reference: _Draft | None, meant: frozenset[str],
    ) -> None:  # fmt: skip
        self._extracts, self._drafts, self._meant = extracts, drafts, meant
        self._columns = list(zip(workloads, units, strict=True))
        for draft in drafts:
            draft.count(dict(self._columns))
        self.reference = reference

    def noise(self) -> tuple[list[tuple[_Draft, _Draft]], dict[str, float | None]]:
        """Rows of one definition in one run, and by workload how far they were apart."""
        groups: dict[tuple[int, str, frozenset[tuple[str, str]]], list[_Draft]] = {}
        for draft in self._drafts:
            options = given_options(self._extracts[draft.source - 1].layouts[draft.layout])
            if options and not self._extracts[draft.source - 1].imported:
                groups.setdefault((draft.source, draft.part, options), []).append(draft)
        pairs = [pair for group in groups.values() for pair in combinations(group, 2)]
        floors = {}
        for name, _ in self._columns:
            both = [(a.medians[name], b.medians[name]) for a, b in pairs if name in a.medians and name in b.medians]
            floors[name] = noise_floor(both)
        return pairs, floors

    def rows(self, pairs: Sequence[tuple[_Draft, _Draft]], floors: Mapping[str, float | None]) -> Iterator[Row]:
        """All rows; verdicts are given to all of them together."""
        judged = self._judged()
        same = {(a.label, b.label) for a, b in pairs} | {(b.label, a.label) for a, b in pairs}
        for draft in self._drafts:
            entries = []
            for name, _ in self._columns:
                base = self._base(draft, name)
                word = judged.get((draft.label, name))
                entry = _entry(draft, name, base, word) if name in draft.points else None
                if (floor := floors[name]) is not None and entry is not None and self.reference is not None:
                    entry = entry if (draft.label, self.reference.label) in same else _above(entry, floor)
                entries.append(entry)
            shares = [e.of_baseline for e in entries if e is not None and e.of_baseline is not None]
            one = self._extracts[draft.source - 1]
            yield Row(draft.label, tuple(entries), one.failed.get(draft.layout, ""), draft.source,
                      geometric_mean(shares), len(shares), self._confounders(draft))  # fmt: skip

    def _base(self, draft: _Draft, name: str) -> float | None:
        return None if self.reference is None or draft is self.reference else self.reference.medians.get(name)

    def _judged(self) -> dict[tuple[str, str], Judged]:
        """By row and workload. Every comparison of the table is of one family."""
        keys, pairs = [], []
        base = self.reference.values if self.reference is not None else {}
        for draft in self._drafts:
            for name, values in draft.values.items() if draft is not self.reference else ():
                if name in base:
                    keys.append((draft.label, name))
                    pairs.append((base[name], values))
        return dict(zip(keys, judge(pairs), strict=True))

    def _confounders(self, draft: _Draft) -> tuple[Confounder, ...]:
        reference = self.reference
        if reference is None or draft is reference:
            return ()
        one, base = self._extracts[draft.source - 1], self._extracts[reference.source - 1]
        found = list(confounders(one.facts if one is not base else {}, base.facts, one.layouts[draft.layout],
                                 base.layouts[reference.layout], self._meant))  # fmt: skip
        known = {confounder.fact for confounder in found}
        for name, points in draft.points.items():
            of_base = reference.points.get(name)
            for other in confounders(points[0].facts, of_base[0].facts, {}, {}, self._meant) if of_base else ():
                if other.fact not in known:
                    known.add(other.fact)
                    found.append(other)
        return tuple(found)


def _drafts(number: int, one: Extract, layouts: Mapping[str, str], loads: Mapping[str, str]) -> Iterator[_Draft]:
    by_layout: dict[str, dict[str, dict[str, list[Point]]]] = {}
    for point in one.points:
        rows = by_layout.setdefault(point.layout, {})
        rows.setdefault(point.part, {}).setdefault(loads[point.workload], []).append(point)
    for layout, name in layouts.items():
        for part, points in by_layout.get(layout, {"": {}}).items():
            yield _Draft(f"{name} {part}" if part else name, number, layout, part, points)


def _reference(drafts: Sequence[_Draft], wanted: str) -> _Draft | None:
    """The row that was asked for, else the first one with a valid number."""
    named = (draft for draft in drafts if wanted and draft.label == wanted)
    valid = (draft for draft in drafts if any(point.valid for points in draft.points.values() for point in points))
    return next(chain(named, valid), None)


def _source(one: Extract) -> Source:
    return Source(one.run, one.scenario, one.title, one.host, one.started, one.rehearsal, one.complete,
                  len(one.points), sum(point.valid for point in one.points))  # fmt: skip


def label_of(cell: Cell) -> str:
    """The row a cell belongs to: its layout, and the disk where the layout is measured disk by disk."""
    return f"{cell.layout} {cell.part}" if cell.part else cell.layout


def unit_of(cells: Sequence[Cell]) -> Unit:
    """IOPS, or MB/s where the mean operation moved at least 256 KiB."""
    ios = sum(direction.ios for cell in cells for direction in directions(cell.summary))
    moved = sum(direction.bytes for cell in cells for direction in directions(cell.summary))
    return "MB/s" if ios and moved / ios >= BULK_BYTES else "IOPS"


def rate(cell: Cell, unit: Unit) -> float | None:
    """Operations or bytes per second of a cell, all directions together; None where nothing was measured."""
    found = directions(cell.summary)
    if not found:
        return None
    return sum(d.iops if unit == "IOPS" else d.bytes_per_s for d in found)


def rate_of(point: Point, unit: Unit) -> float | None:
    """The same of a point."""
    return point.iops if unit == "IOPS" else point.bytes_per_s


def _units(drafts: Sequence[_Draft], workloads: Sequence[str]) -> tuple[Unit, ...]:
    """As `unit_of`; a table that knows only one of the two rates is shown in that one."""
    sums = {name: [0.0, 0.0, 0, 0] for name in workloads}
    for draft in drafts:
        for name, points in draft.points.items():
            of = sums[name]
            for point in points:
                iops, moved = point.iops, point.bytes_per_s
                if iops is not None and moved is not None:
                    of[0] += iops
                    of[1] += moved
                of[2] += iops is not None
                of[3] += moved is not None
    return tuple(_unit(*sums[name]) for name in workloads)


def _unit(iops: float, bytes_per_s: float, with_iops: float, with_bytes: float) -> Unit:
    if with_iops != with_bytes:
        return "IOPS" if with_iops > with_bytes else "MB/s"
    return "MB/s" if iops and bytes_per_s / iops >= BULK_BYTES else "IOPS"


def _entry(draft: _Draft, name: str, base: float | None, judged: Judged | None) -> Entry:
    points, values, middle = draft.points[name], draft.values.get(name, []), draft.medians.get(name)
    within = interval(values)
    share = middle / base if middle is not None and base else None
    one = judged if share is not None else None
    return Entry(
        middle, min(values, default=None), max(values, default=None), share,
        sum(point.valid for point in points), len(points),
        _reasons(points),
        within[0] if within else None, within[1] if within else None,
        one.verdict if one else "", one.low if one else None, one.high if one else None,
        one.rank_p if one else None, one.p if one else None,
        merged_latency([point for point in points if point.valid]), tuple(points),
    )  # fmt: skip


def _above(entry: Entry, floor: float) -> Entry:
    """A difference that is no larger than between two measurements of the same is none."""
    share = entry.of_baseline
    if entry.verdict != "different" or not share or abs(log(share)) > log1p(floor):
        return entry
    return msgspec.structs.replace(entry, verdict="not told apart")


def _reasons(points: Sequence[Point]) -> tuple[str, ...]:
    """Why cells are not valid, each reason once."""
    if all(point.valid for point in points):
        return ()
    return tuple(dict.fromkeys(reason for point in points if not point.valid for reason in point.reasons))


def _values(points: Sequence[Point], unit: Unit) -> list[float]:
    return [value for point in points if point.valid and (value := rate_of(point, unit)) is not None]
