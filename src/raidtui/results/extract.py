"""Extract of a result for comparisons: its cells as points, and the facts that make numbers differ.

An imported table is made into the same, so that a colleague's CSV stands beside a run of today.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from raidtui.model.disk import Disk
from raidtui.model.mark import Mark
from raidtui.model.measure import Direction, Latency
from raidtui.model.pooling import DIRECTIONS as DIRECTIONS
from raidtui.model.result import Built, Cell, Result
from raidtui.model.statistics.samples import merged
from raidtui.results.facts import given_of, layout_facts, machine_facts, server_of, workload_facts
from raidtui.results.naming import in_order

if TYPE_CHECKING:
    from raidtui.results.library.extracts import LeanBuilt, LeanCell, LeanResult

_MOVING = ("read", "write", "trim")


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
    """Reasons why the cell is not valid."""
    marks: tuple[Mark, ...] = ()
    """Everything that must be known of its numbers; empty where it is older than marks."""
    iops: float | None = None
    """All directions that moved data together; None where it is not known."""
    bytes_per_s: float | None = None
    latency: dict[str, Latency] = {}
    """Latency by direction: `read`, `write`, `trim`, `sync`."""
    cpu_cores_used: float | None = None
    write_amplification: float | None = None
    started: str = ""
    seconds: float = 0.0
    command: tuple[str, ...] = ()
    """Executed command."""
    facts: dict[str, str] = {}
    """Facts of this cell alone, by name: `workload.direct`, `fio version`."""
    again: bool = False
    """Measured on the second building of a layout that is measured against itself: no round of the layout's own."""
    percent: float | None = None
    """Share of the layout that a table calls 100 % without giving its rate; never beside a rate."""
    queue_depth: int | None = None
    """Queue depth of each job, found by a search for a latency (`Summary.queue_depth`)."""
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
    """Options of the layouts by place, as text: `{"md.chunk": "64KiB"}`. Empty if unknown."""
    failed: dict[str, str] = {}
    """Reasons why layouts could not be built."""
    workloads: dict[str, str] = {}
    """Definitions of the workloads, in order. Equal texts are the same workload, run the same way."""
    facts: dict[str, str] = {}
    """Facts of all of its cells, by name: `kernel`, `fio`, `disks`."""
    imported: bool = False
    """A table, not a run of raidtui."""
    notes: tuple[str, ...] = ()
    """Notes for the reader of a table."""
    bare: dict[str, str] = {}
    """Layouts that are bare disks, each with how they were measured: `each` or `together`. As the two that follow, only
    where cells are kept whole."""
    cpus: int = 0
    """Name of the server."""
    disks: tuple[Disk, ...] = ()
    """Time of the run."""


def extract(result: Result | LeanResult) -> Extract:
    """Return the extract of a result. The cells stay in the points without a copy, if the result has them completely."""
    given = given_of(result.scenario) if isinstance(result, Result) else result.given
    server = server_of(result.machine) if isinstance(result, Result) else result.server
    built: Sequence[Built | LeanBuilt] = result.layouts
    layouts = in_order(given.layouts, [c.layout for c in result.cells] + [b.layout for b in built])
    loads = in_order(given.workloads, [c.workload for c in result.cells])
    # A rehearsal is never the same as a measurement.
    how = "true" if result.rehearsal else "false"
    failed = {
        one.layout: one.problem.message if one.problem else "it could not be built"
        for one in reversed(built)
        if one.status == "failed"
    }
    return Extract(
        run=result.run,
        points=tuple(point(cell) for cell in result.cells),
        scenario=given.name,
        title=given.title,
        host=server.host,
        started=result.started,
        rehearsal=result.rehearsal,
        complete=result.complete,
        layouts={name: layout_facts(result, given, name) for name in layouts},
        failed=failed,
        workloads={name: f"[{given.workloads.get(name, 'null')}, {how}]" for name in loads},
        facts=machine_facts(result, server, given),
        bare=_bare(result) if isinstance(result, Result) else {},
        cpus=result.machine.cpus if isinstance(result, Result) else 0,
        disks=result.disks if isinstance(result, Result) else (),
    )


def slim(found: Extract) -> Extract:
    """Without whole cells: small enough to keep ten thousand of them."""
    points = tuple(msgspec.structs.replace(one, cell=None) for one in found.points)
    return msgspec.structs.replace(found, points=points, bare={}, cpus=0, disks=())


def _bare(result: Result) -> dict[str, str]:
    """Bare disks among the scenario's own layouts, and those that the plan added."""
    layouts = result.scenario.get("layouts")
    asked = {built.layout: built.asked for built in result.layouts}
    found = {}
    for name, layout in {**asked, **(layouts if isinstance(layouts, Mapping) else {})}.items():
        options = layout.get("disk") if isinstance(layout, Mapping) and len(layout) == 1 else None
        if isinstance(options, Mapping):
            found[str(name)] = "together" if options.get("mode") == "together" else "each"
    return found


def point(cell: Cell | LeanCell) -> Point:
    """One cell as a point."""
    iops: float | None = None
    bytes_per_s: float | None = None
    latency = {}
    for name in DIRECTIONS if cell.summary is not None else ():
        direction: Direction | None = getattr(cell.summary, name)
        if direction is not None and direction.ios:
            latency[name] = direction.latency
            if name in _MOVING:
                iops = direction.iops + (iops or 0)
                bytes_per_s = direction.bytes_per_s + (bytes_per_s or 0)
    return Point(
        cell.id, cell.layout, cell.workload, cell.round, cell.part, cell.valid, cell.reasons, cell.marks, iops, bytes_per_s,
        latency, cell.cpu_cores_used, cell.write_amplification, cell.started, cell.seconds, cell.command,
        workload_facts(cell), cell.again, None, cell.summary.queue_depth if cell.summary is not None else None,
        cell if isinstance(cell, Cell) else None,
    )  # fmt: skip


def bins(points: Sequence[Point], direction: str) -> list[dict[int, int]]:
    """The latency histograms of these cells as fio counted them: operations by the middle of their bin in ns.

    One for each cell that has them whole; a cell with several reports (a window of passes) has them merged. A cell
    without a latency of its syncs has none of them, whatever its tool printed.
    """
    found = []
    for one in points:
        report = one.cell.report if one.cell is not None and not _untimed(one, direction) else None
        parts = [_of_report(each, direction) for each in (report if isinstance(report, list) else [report])]
        if parts and all(parts):
            found.append(parts[0] if len(parts) == 1 else merged(parts))
    return found


def _untimed(one: Point, direction: str) -> bool:
    return direction == "sync" and one.latency.get("sync", Latency()).mean_us is None


def _of_report(report: Any, direction: str) -> dict[int, int]:
    """Empty where one of its jobs has none."""
    found = []
    for job in report.get("jobs", ()) if isinstance(report, dict) else ():
        part = job.get(direction, {}) if isinstance(job, dict) else {}
        spread = part.get("lat_ns" if direction == "sync" else "clat_ns") if isinstance(part, dict) else None
        given = spread.get("bins") if isinstance(spread, dict) else None
        found.append(_counted(given) if isinstance(given, dict) else {})
    if len(found) == 1:
        return found[0]
    return merged(found) if all(found) else {}


def _counted(given: Mapping[Any, Any]) -> dict[int, int]:
    """Return the bins of a report of unknown origin: entries that are no numbers are ignored."""
    try:
        return {int(bin_): int(count) for bin_, count in given.items()}
    except (TypeError, ValueError):
        return {}
