"""Imported tables in a comparison: workloads under the names of measured ones, shares without rates, results as tables."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from raidtui.base.text import named
from raidtui.foreign.captions import OWN_RUN, publication
from raidtui.foreign.fio_reports import asked_of
from raidtui.foreign.labels import Said, read_command, read_label
from raidtui.foreign.lint.figures import factor, layout_label
from raidtui.model.measure import Direction, Latency
from raidtui.model.result import Cell, Result
from raidtui.model.table import TABLE_SCHEMA, Asked, Figure, Subject, Table
from raidtui.results.extract import Extract, Point
from raidtui.results.rates import label_of

_TOTAL: Final = ""
_FIELDS: Final = {"mean": "mean_us", "p50": "p50_us", "p99": "p99_us", "p99.9": "p999_us", "max": "max_us"}
_Meaning = tuple[str, bool | None, int, int, int, bool, float | None]
_Measured = dict[_Meaning, dict[str, str]]
"""Definitions of workloads that ask for the same, by name."""


def extract_of(table: Table) -> Extract:
    """Rates; of workloads that have none, the percentages, where all of them are of one layout."""
    cells: dict[tuple[str, str, int], list[Figure]] = {}
    for figure in table.figures:
        if figure.metric in ("iops", "bandwidth", "latency", "amount", "time"):
            cells.setdefault((figure.layout, figure.workload, figure.round), []).append(figure)
    points = [_point(table, key, figures) for key, figures in cells.items()]
    known = [point for point in points if point.iops is not None or point.bytes_per_s is not None]
    shares, notes = relative(table, {point.workload for point in known})
    known += shares
    compared = {point.workload for point in known} | {f.workload for f in table.figures if f.metric == "share"}
    if without := [name for name in dict.fromkeys(f.workload for f in table.figures) if name not in compared]:
        notes.append(f"{named(without, 6)}: no rates; they are not compared")
    return Extract(
        run=table.name, points=tuple(known), scenario=table.name, title=table.title or table.source, host=table.host,
        started=table.date, layouts={key: {} for key in table.layouts},
        workloads={key: f"{table.name}: {key}" for key in dict.fromkeys(point.workload for point in known)},
        facts={"server": table.host} if table.host else {}, imported=True,
        notes=(*publication(table), *table.notes, *notes),
    )  # fmt: skip


def aligned(extracts: Sequence[Extract], tables: Mapping[int, Table]) -> list[Extract]:
    """A table's workload that asks for the same as a measured one gets its name and stands in its column.

    `tables` are by their index in `extracts`. What was run counts, not what it was called; of several measured ones that
    asked for the same, one that is called the same. Eight jobs may also be one on each of eight devices.
    """
    measured: _Measured = {}
    spread: _Measured = {}
    for index, one in enumerate(extracts):
        devices = _devices(one)
        for name, definition in one.workloads.items() if index not in tables else ():
            if (meaning := _measured_meaning(definition)) is not None:
                measured.setdefault(meaning, {}).setdefault(name, definition)
                if (count := devices.get(name)) is not None:
                    spread.setdefault((*meaning[:4], meaning[4] * count, *meaning[5:]), {}).setdefault(name, definition)
    for meaning, found in spread.items():
        measured[meaning] = {**measured.get(meaning, {}), **found}
    for index, table in tables.items():
        for name in _with_rates(extracts[index]):
            if (meaning := _meaning(_done(name, table.workloads[name]))) is not None:
                measured.setdefault(meaning, {name: f"{table.name}: {name}"})
    return [_renamed(one, tables[index], measured) if index in tables else one for index, one in enumerate(extracts)]


def _devices(one: Extract) -> dict[str, int]:
    """Return the number of devices that fio loads at once, by workload; not where it is one, or layouts differ in it."""
    found: dict[str, set[int]] = {}
    for point in one.points:
        found.setdefault(point.workload, set()).add(sum(word.startswith("--name=") for word in point.command))
    return {name: count for name, counts in found.items() if len(counts) == 1 and (count := max(counts)) > 1}


def _renamed(one: Extract, table: Table, measured: _Measured) -> Extract:
    names: dict[str, tuple[str, str]] = {}
    taken = set[_Meaning | None]()
    rates = _with_rates(one)
    for name, definition in one.workloads.items():
        # Percentages are of a layout of their own table, and are not compared with those of others.
        meaning = _meaning(_done(name, table.workloads[name])) if name in rates else None
        same = measured.get(meaning, {}) if meaning is not None else {}
        # Of several that ask for the same, the others were published apart.
        called = name if name in same or meaning in taken else next(iter(same), name)
        taken.add(meaning)
        found = (called, same.get(called, definition))
        # Two workloads of one table stay two: they were published apart.
        names[name] = found if found[0] not in (other for other, _ in names.values()) else (name, definition)
    points = tuple(msgspec.structs.replace(point, workload=names[point.workload][0]) for point in one.points)
    return msgspec.structs.replace(one, points=points, workloads=dict(names.values()))


def _with_rates(one: Extract) -> dict[str, None]:
    """Workloads of which something else than percentages is known, in their order."""
    known = {point.workload for point in one.points if point.percent is None}
    return {name: None for name in one.workloads if name in known}


def _point(table: Table, key: tuple[str, str, int], figures: Sequence[Figure]) -> Point:
    layout, workload, round_ = key
    asked, bandwidth = table.workloads[workload], _rate(figures, "bandwidth")
    if bandwidth is None:
        bandwidth = _rate_of_amount(figures)
    return Point(
        id=figures[0].place or "/".join(map(str, key)), layout=layout, workload=workload, round=round_,
        iops=_rate(figures, "iops"), bytes_per_s=bandwidth, latency=_latencies(asked, figures),
        command=(asked.command,) if asked.command else (),
    )  # fmt: skip


def _rate(figures: Sequence[Figure], metric: str) -> float | None:
    """The first number of the whole, else the sum of the directions' first ones."""
    first: dict[str, float] = {}
    for figure in figures:
        if figure.metric == metric:
            first.setdefault(figure.direction, figure.value * factor(figure.unit))
    if not first:
        return None
    return first[_TOTAL] if _TOTAL in first else sum(first.values())


def _rate_of_amount(figures: Sequence[Figure]) -> float | None:
    """Bytes per second of an amount and its time, where nothing says the rate itself."""
    amount = next((f.value * factor(f.unit) for f in figures if f.metric == "amount" and f.unit != "operations"), None)
    seconds = next((f.value * factor(f.unit) for f in figures if f.metric == "time"), None)
    return amount / seconds if amount is not None and seconds else None


def _latencies(asked: Asked, figures: Iterable[Figure]) -> dict[str, Latency]:
    found: dict[str, dict[str, float]] = {}
    for figure in figures:
        direction = figure.direction or (asked.pattern if asked.pattern in ("read", "write") else "")
        if figure.metric == "latency" and direction and figure.statistic:
            found.setdefault(direction, {}).setdefault(_FIELDS[figure.statistic], figure.value * factor(figure.unit) * 1e6)
    return {direction: Latency(**fields) for direction, fields in found.items()}


def _done(name: str, asked: Asked) -> Said:
    """Return the description of a workload: by the command, else by the stated options, else by the label."""
    said = read_label(asked.label or name)
    said = said._replace(**{f: getattr(asked, f) for f in Said._fields if getattr(asked, f) is not None})
    done = read_command(asked.command) if asked.command else None
    if done is None:
        return said
    return said._replace(**{f: getattr(done, f) for f in Said._fields if getattr(done, f) is not None})


def _meaning(said: Said) -> _Meaning | None:
    """Return the key by which two workloads are the same; None if too little is known."""
    if said.pattern is None or said.block_bytes is None or said.iodepth is None:
        return None
    mixed = said.read_percent if said.pattern == "mixed" else None
    return said.pattern, said.random, said.block_bytes, said.iodepth, said.numjobs or 1, bool(said.fsync), mixed


def _measured_meaning(definition: str) -> _Meaning | None:
    """Return the key of a fio workload in a scenario. A rehearsal never equals a measurement."""
    try:
        given, rehearsal = json.loads(definition)
    except (ValueError, TypeError):
        return None
    options: Any = given.get("fio") if isinstance(given, dict) else None
    if rehearsal or not isinstance(options, dict):
        return None
    asked = asked_of({"iodepth": "1", **{str(name): str(value) for name, value in options.items()}})
    return _meaning(Said(**{field: getattr(asked, field) for field in Said._fields}))


def relative(table: Table, measured: Iterable[str]) -> tuple[list[Point], list[str]]:
    """Points of percentages, and what must be said of them. `measured` are workloads of which rates are known.

    Percentages can be held against each other where they are of the same layout under the same workload; else they are
    left out, and it is said why. Of several numbers of one layout the first counts, of a mix those of its first direction.
    """
    by_workload: dict[str, list[Figure]] = {}
    for figure in table.figures:
        if figure.metric == "share" and figure.workload not in measured:
            by_workload.setdefault(figure.workload, []).append(figure)
    points: list[Point] = []
    notes: dict[str, list[str]] = {}
    for workload, figures in by_workload.items():
        bases = list(dict.fromkeys(figure.of for figure in figures))
        if len(bases) > 1 or not bases[0]:
            notes.setdefault(_why_not(table, bases), []).append(workload)
            continue
        notes.setdefault(f"percentages of {layout_label(table, bases[0])} alone, no rates", []).append(workload)
        points += _points(figures)
    return points, [f"{', '.join(workloads)}: {note}" for note, workloads in notes.items()]


def _points(figures: Sequence[Figure]) -> list[Point]:
    directions = {figure.direction: None for figure in figures}
    direction = "" if "" in directions else next(iter(directions))
    first: dict[tuple[str, int], Figure] = {}
    for figure in figures:
        if figure.direction == direction:
            first.setdefault((figure.layout, figure.round), figure)
    return [
        Point(id=one.place or f"{layout}/{one.workload}/{round_}", layout=layout, workload=one.workload, round=round_,
              percent=one.value)
        for (layout, round_), one in first.items()
    ]  # fmt: skip


def _why_not(table: Table, bases: list[str]) -> str:
    if bases == [""]:
        return "percentages, and nothing says of which layout; they were not compared"
    names = ", ".join(layout_label(table, base) if base else "an unknown one" for base in bases)
    return f"percentages of different layouts ({names}); they were not compared"


def table_of_result(result: Result) -> Table:
    """Rates of every cell that was measured; disks that were measured one by one are alike where their model is."""
    models = {disk.id: disk.model for disk in result.disks}
    layouts, workloads, figures = dict[str, Subject](), dict[str, Asked](), list[Figure]()
    for index, cell in enumerate(result.cells):
        if cell.summary is None:
            continue
        key = label_of(cell)
        layouts.setdefault(key, Subject(like=f"{cell.layout}: {models.get(cell.part, '')}" if cell.part else ""))
        workloads.setdefault(cell.workload, _asked(result, cell))
        flows: tuple[tuple[Literal["read", "write", "trim"], Direction | None], ...] = (
            ("read", cell.summary.read), ("write", cell.summary.write), ("trim", cell.summary.trim),
        )  # fmt: skip
        for name, flow in flows:
            if flow is not None and flow.ios:
                one = Figure(key, cell.workload, "iops", flow.iops, "IOPS", place=f"$.cells[{index}].summary.{name}",
                             direction=name, round=max(1, cell.round))  # fmt: skip
                figures += [one, msgspec.structs.replace(one, metric="bandwidth", value=flow.bytes_per_s, unit="B/s")]
    return Table(
        schema=TABLE_SCHEMA, name=result.run, title=str(result.scenario.get("title", ""))[:400], source=OWN_RUN,
        date=result.started, host=result.machine.host, layouts=layouts, workloads=workloads, figures=tuple(figures),
    )  # fmt: skip


def _asked(result: Result, cell: Cell) -> Asked:
    section = result.scenario.get("workloads")
    given: Any = section.get(cell.workload) if isinstance(section, Mapping) else None
    options = given.get("fio") if isinstance(given, dict) else None
    plain = {str(name): str(value) for name, value in options.items()} if isinstance(options, dict) else {}
    # Options are the command; the name is the label that is held against it. The target's own name says nothing of it.
    block = asked_of(plain).block_bytes if plain else None
    words = [word for word in cell.command if not word.startswith(("--name=", "--filename=", "--directory="))]
    return Asked(block_bytes=block, command=shlex.join(words)[:4000], place="$.cells[].command")
