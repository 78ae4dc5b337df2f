"""What a comparison needs of one result: its cells as points, and the facts that make numbers unlike each other.

An imported table is made into the same, so that a colleague's CSV stands beside a run of today.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from raidtui.model.measure import Direction, Latency, Summary
from raidtui.model.result import Built, Cell, Result
from raidtui.results.facts import layout_facts, machine_facts, workload_facts
from raidtui.results.naming import in_order

if TYPE_CHECKING:
    from raidtui.results.library.lean import LeanBuilt, LeanCell, LeanResult

DIRECTIONS = ("read", "write", "trim", "sync")


class Point(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One cell: one layout under one workload in one round, or one number of a table."""

    id: str
    """Unique within the extract: the cell's id, or the place in the table it was read from."""
    layout: str
    workload: str
    round: int = 1
    part: str = ""
    """The disk, where a layout is measured disk by disk."""
    valid: bool = True
    reasons: tuple[str, ...] = ()
    """Why it is not valid."""
    iops: float | None = None
    """All directions that moved data together; None where it is not known."""
    bytes_per_s: float | None = None
    latency: dict[str, Latency] = {}
    """By direction: `read`, `write`, `trim`, `sync`."""
    cpu_cores_used: float | None = None
    write_amplification: float | None = None
    started: str = ""
    seconds: float = 0.0
    command: tuple[str, ...] = ()
    """What was executed."""
    facts: dict[str, str] = {}
    """That belong to this cell alone, by name: `workload.direct`, `fio version`."""
    cell: Cell | None = None
    """The whole cell, for charts and histograms; None where only its numbers are known."""


class Extract(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One result or one imported table."""

    run: str
    """The run, or the table's name."""
    points: tuple[Point, ...] = ()
    scenario: str = ""
    title: str = ""
    host: str = ""
    started: str = ""
    rehearsal: bool = False
    complete: bool = True
    layouts: dict[str, dict[str, str]] = {}
    """By layout, in order: its options by place, as text: `{"md.chunk": "64KiB"}`. Empty where nothing is known."""
    failed: dict[str, str] = {}
    """By layout: why it could not be built."""
    workloads: dict[str, str] = {}
    """By workload, in order: what tells it from others of its name. Equal texts are the same workload."""
    facts: dict[str, str] = {}
    """What holds for all of its cells, by name: `kernel`, `fio`, `disks`."""
    imported: bool = False
    """A table, not a run of raidtui."""


def extract(result: Result | LeanResult) -> Extract:
    """What a comparison needs of `result`. Its cells are kept whole in the points, where they are whole; not copied."""
    scenario = result.scenario
    built: Sequence[Built | LeanBuilt] = result.layouts
    layouts = in_order(scenario.get("layouts"), [c.layout for c in result.cells] + [b.layout for b in built])
    loads = in_order(scenario.get("workloads"), [c.workload for c in result.cells])
    failed = {
        one.layout: one.problem.message if one.problem else "it could not be built"
        for one in reversed(built)
        if one.status == "failed"
    }
    return Extract(
        run=result.run,
        points=tuple(point(cell) for cell in result.cells),
        scenario=str(scenario.get("name", "")),
        title=str(scenario.get("title", "")),
        host=result.machine.host,
        started=result.started,
        rehearsal=result.rehearsal,
        complete=result.complete,
        layouts={name: layout_facts(result, name) for name in layouts},
        failed=failed,
        workloads={name: _definition(_section(scenario, "workloads").get(name), result.rehearsal) for name in loads},
        facts=machine_facts(result),
    )


def slim(found: Extract) -> Extract:
    """Without whole cells: small enough to keep ten thousand of them."""
    points = tuple(msgspec.structs.replace(one, cell=None) for one in found.points)
    return msgspec.structs.replace(found, points=points)


def point(cell: Cell | LeanCell) -> Point:
    """One cell as a point."""
    moved = directions(cell.summary)
    latency = {
        name: direction.latency
        for name in DIRECTIONS
        if cell.summary is not None and (direction := getattr(cell.summary, name)) is not None and direction.ios
    }
    return Point(
        cell.id, cell.layout, cell.workload, cell.round, cell.part, cell.valid, cell.reasons,
        sum(d.iops for d in moved) if moved else None, sum(d.bytes_per_s for d in moved) if moved else None,
        latency, cell.cpu_cores_used, cell.write_amplification, cell.started, cell.seconds, cell.command,
        workload_facts(cell), cell if isinstance(cell, Cell) else None,
    )  # fmt: skip


def directions(summary: Summary | None) -> tuple[Direction, ...]:
    """What moved data: reads, writes and trims, but not syncs."""
    if summary is None:
        return ()
    return tuple(d for d in (summary.read, summary.write, summary.trim) if d is not None and d.ios)


def bins(points: Sequence[Point], direction: str) -> list[dict[int, int]]:
    """The latency histograms of these cells as fio counted them: operations by the middle of their bin in ns."""
    found = []
    for one in points:
        report = one.cell.report if one.cell is not None else None
        for job in report.get("jobs", ()) if isinstance(report, dict) else ():
            part = job.get(direction, {}) if isinstance(job, dict) else {}
            spread = part.get("lat_ns" if direction == "sync" else "clat_ns") if isinstance(part, dict) else None
            given = spread.get("bins") if isinstance(spread, dict) else None
            if isinstance(given, dict) and given:
                found.append(_counted(given))
    return found


def _counted(given: Mapping[Any, Any]) -> dict[int, int]:
    """Bins of a report that anybody may have written: what is no number is no bin."""
    try:
        return {int(bin_): int(count) for bin_, count in given.items()}
    except (TypeError, ValueError):
        return {}


def _definition(given: object, rehearsal: bool) -> str:
    """What was run, as text: equal for equal workloads. A rehearsal is never the same as a measurement."""
    return json.dumps([given, rehearsal], sort_keys=True, default=str)


def _section(scenario: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = scenario.get(name)
    return section if isinstance(section, Mapping) else {}
