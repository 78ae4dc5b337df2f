"""Extract of a result for comparisons: its cells as points, and the facts that make numbers differ.

An imported table is made into the same, so that a colleague's CSV stands beside a run of today. Thousands of results are
read without series and samples (`LeanResult`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import _lru_cache_wrapper, lru_cache
from typing import Any, TypeVar

import msgspec

from raidtui.model.disk import Disk, Fingerprint
from raidtui.model.host import STORAGE, HostCores, HostCpu, all_seen, storage_cores
from raidtui.model.links import Links
from raidtui.model.mark import Mark
from raidtui.model.measure import DIRECTIONS, Direction, Latency, Summary
from raidtui.model.network import NetTotals, network_speeds, totals_of
from raidtui.model.problem import Problem
from raidtui.model.result import NOT_PRECONDITIONED, RESULT_SCHEMA, Built, Cell, HostPart, Machine, Result, Tuned
from raidtui.model.sweep import Swept
from raidtui.results.facts import (
    AS_BUILT,
    PRECONDITIONING,
    READ_BACK,
    TOOL_FIO,
    Given,
    Server,
    bare_exports,
    fact_text,
    given_of,
    is_nothing,
    leaf,
    local_layouts,
    options_facts,
    server_of,
)

T = TypeVar("T")
_MOVING = ("read", "write", "trim")
_LONGEST_KEPT = 16384
"""Bytes."""


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
    storage_cores: float | None = None
    """Cores that storage took (`model.host.storage_cores`)."""
    networks: dict[str, NetTotals] = {}
    """Network interfaces that moved noticeable data or lost packets, by name."""
    hosts: dict[str, HostCores] = {}
    """Cores of each host, the storage server first, if hosts generated the load or daemons served the layout."""
    daemons: dict[str, int] = {}
    """Number of daemons that were up in the layout's cluster, by kind (`Cell.daemons`)."""
    cell: Cell | None = None
    """The whole cell, for charts and histograms; None where only its numbers are known."""

    @property
    def daemon_cores(self) -> float | None:
        """Cores of the cluster's daemons; None unless all of them ran on hosts that were counted."""
        hosts = self.hosts.values()
        return sum(one.serving for one in hosts) if all_seen(hosts, self.daemons, self.daemons) else None


class Extract(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One result or one imported table."""

    run: str
    """The run, or the table's name."""
    points: tuple[Point, ...] = ()
    scenario: str = ""
    title: str = ""
    host: str = ""
    """Name of the server."""
    started: str = ""
    """Time of the run."""
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
    """Layouts that are ceilings: bare disks, with how they were measured, `each` or `together`, and bare exports and null
    devices, `nothing`. Like `cpus`, `disks`, `network_speeds`, `links`, `local` and `exports`, only where cells are kept
    whole."""
    cpus: int = 0
    disks: tuple[Disk, ...] = ()
    network_speeds: dict[str, float] = {}
    """Bytes per second that network interfaces carry in one direction, where it is known."""
    links: Links | None = None
    """Links to the hosts that loaded exports."""
    local: dict[str, str] = {}
    """Layouts that are the same but for the export, by the exported one."""
    exports: dict[str, str] = {}
    """Layouts with the same export over a device that keeps nothing, by the exported one."""
    machine_id: str = ""
    """Hash of the server's machine-id; empty where it is not known, and in the index."""
    sweeps: dict[str, Swept] = {}
    """Workloads of sweeps, each with its place; empty in results that are older than sweeps."""


class LeanReport(msgspec.Struct, frozen=True, gc=False, rename={"version": "fio version", "raw": "global options"}):
    """Options of a tool's report."""

    version: Any = None
    raw: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def options(self) -> dict[str, str]:
        """Facts like those of `options_facts`. One object for all cells with the same options."""
        return _remembered(_options, self.raw)


class LeanPart(msgspec.Struct, frozen=True, gc=False):
    cores: HostCores | None = None


class LeanCell(msgspec.Struct, frozen=True, gc=False):
    id: str
    layout: str
    workload: str
    round: int
    valid: bool
    reasons: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    part: str = ""
    summary: Summary | None = None
    cpu_cores_used: float | None = None
    write_amplification: float | None = None
    command: tuple[str, ...] = ()
    started: str = ""
    seconds: float = 0.0
    report: LeanReport | str | list[Any] | float | bool | None = None
    host: HostCpu | None = None
    networks: dict[str, NetTotals] = {}
    again: bool = False
    sweep: Swept | None = None
    hosts: dict[str, LeanPart] = {}
    cores: HostCores | None = None
    serving: dict[str, HostCores] = {}
    daemons: dict[str, int] = {}


class LeanTuned(msgspec.Struct, frozen=True, gc=False):
    set: str


class LeanBuilt(msgspec.Struct, frozen=True, gc=False):
    layout: str
    status: str
    read_back: dict[str, Any] = {}
    initial_sync: str = ""
    tuning: dict[str, LeanTuned] = {}
    problem: Problem | None = None
    preconditioned: str = NOT_PRECONDITIONED


class LeanResult(msgspec.Struct, frozen=True, gc=False):
    """Result with only those fields that `extract` reads."""

    schema: str
    run: str
    rehearsal: bool
    complete: bool
    started: str
    scenario: msgspec.Raw
    machine: msgspec.Raw
    exit: int | None = None
    binding: dict[str, tuple[Fingerprint, ...]] = {}
    disks: tuple[Disk, ...] = ()
    layouts: tuple[LeanBuilt, ...] = ()
    cells: tuple[LeanCell, ...] = ()


_DECODER = msgspec.json.Decoder(LeanResult)
_MACHINES = msgspec.json.Decoder(Machine)


@lru_cache(maxsize=128)
def _given(raw: bytes) -> Given:
    return given_of(msgspec.json.decode(raw, type=dict[str, Any]))


@lru_cache(maxsize=128)
def _server(raw: bytes) -> Server:
    return server_of(_MACHINES.decode(raw))


@lru_cache(maxsize=256)
def _options(raw: bytes) -> dict[str, str]:
    return options_facts(_of_a_process(msgspec.json.decode(raw)))


def _of_a_process(options: Any) -> dict[str, Any]:
    """Return the options of a report: of the process, or of the first of the hosts that loaded together."""
    if isinstance(options, list) and options and isinstance(options[0], dict):
        return {name: value for name, value in options[0].items() if name not in ("hostname", "port")}
    return options if isinstance(options, dict) else {}


def _remembered(make: _lru_cache_wrapper[T], raw: msgspec.Raw) -> T:
    """Return the object that was made of the same bytes before, if they are few: a foreign file may hold millions."""
    data = bytes(raw)
    return make(data) if len(data) <= _LONGEST_KEPT else make.__wrapped__(data)


def lean_extract(data: bytes) -> tuple[Extract, int | None]:
    """Return the extract of a result, and how the run ended. Raises ValueError or RecursionError for other data."""
    found = _DECODER.decode(data)
    if found.schema != RESULT_SCHEMA:
        raise ValueError(f"it is of schema {found.schema[:60]!r}, not {RESULT_SCHEMA}")
    # Scenario and server are decoded once for all runs that have the same.
    return _extract(found, _remembered(_given, found.scenario), _remembered(_server, found.machine)), found.exit


def extract(result: Result) -> Extract:
    """Return the extract of a result, with its whole cells."""
    found = _extract(result, given_of(result.scenario), server_of(result.machine))
    machine = result.machine
    speeds = network_speeds(machine.networks, machine.rdma)
    return msgspec.structs.replace(
        found, bare=_bare(result), cpus=machine.cpus, disks=result.disks, network_speeds=speeds,
        links=result.links, local=local_layouts(result.scenario.get("layouts", {})),
        exports=bare_exports(_layouts(result)),
    )


def _extract(result: Result | LeanResult, given: Given, server: Server) -> Extract:
    built: Sequence[Built | LeanBuilt] = result.layouts
    layouts = _in_order(given.layouts, [c.layout for c in result.cells] + [b.layout for b in built])
    loads = _in_order(given.workloads, [c.workload for c in result.cells])
    # A rehearsal is never the same as a measurement.
    how = "true" if result.rehearsal else "false"
    failed = {
        one.layout: one.problem.message if one.problem else "it could not be built"
        for one in reversed(built)
        if one.status == "failed"
    }
    return Extract(
        run=result.run,
        points=tuple(map(point, result.cells)),
        scenario=given.name,
        title=given.title,
        host=server.host,
        started=result.started,
        rehearsal=result.rehearsal,
        complete=result.complete,
        layouts={name: _layout_facts(built, given.layouts.get(name, {}), name) for name in layouts},
        failed=failed,
        workloads={name: f"[{given.workloads.get(name, 'null')}, {how}]" for name in loads},
        facts=_machine_facts(result, server, given),
        machine_id=server.machine_id,
        sweeps={cell.workload: cell.sweep for cell in result.cells if cell.sweep is not None},
    )


def _in_order(given: Iterable[str], found: Sequence[str]) -> list[str]:
    """Return the names that were found, each once, in the order in which the scenario gives them."""
    known = set(found)
    return list(dict.fromkeys([*(name for name in given if name in known), *found]))


def _bare(result: Result) -> dict[str, str]:
    """Return the ceilings among the scenario's own layouts, and those that the plan added."""
    found = {}
    for name, layout in _layouts(result).items():
        options = layout.get("disk") if isinstance(layout, Mapping) and len(layout) == 1 else None
        if isinstance(options, Mapping):
            found[name] = "together" if options.get("mode") == "together" else "each"
        elif is_nothing(layout):
            found[name] = "nothing"
    return found


def _layouts(result: Result) -> dict[str, object]:
    """Return the scenario's own layouts, and those that the plan added."""
    layouts = result.scenario.get("layouts")
    asked: dict[str, object] = {built.layout: built.asked for built in result.layouts}
    return {**asked, **(layouts if isinstance(layouts, Mapping) else {})}


def point(cell: Cell | LeanCell) -> Point:
    """Return one cell as a point."""
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
        _tool_facts(cell.report), cell.again, None, cell.summary.queue_depth if cell.summary is not None else None,
        storage_cores(cell.cpu_cores_used, cell.host, cell.seconds),
        {name: totals_of(use) for name, use in cell.networks.items() if use.noticeable or use.errors or use.drops},
        _host_cores(cell), cell.daemons,
        cell if isinstance(cell, Cell) else None,
    )  # fmt: skip


def _host_cores(cell: Cell | LeanCell) -> dict[str, HostCores]:
    parts: Mapping[str, HostPart | LeanPart] = cell.hosts
    found = {STORAGE: cell.cores, **{host: part.cores for host, part in parts.items()}, **cell.serving}
    return {host: cores for host, cores in found.items() if cores is not None}


def _tool_facts(report: Any) -> dict[str, str]:
    """Return version and options as the tool itself reports them."""
    if isinstance(report, list) and report:
        report = report[0]  # the passes of one cell were all run with the same
    if isinstance(report, dict):
        version = report.get("fio version")
        facts = options_facts(_of_a_process(report.get("global options")))
    else:
        version, facts = getattr(report, "version", None), getattr(report, "options", {})
    return {**facts, TOOL_FIO: fact_text(version).removeprefix("fio-")} if version else facts


def _machine_facts(result: Result | LeanResult, server: Server, given: Given) -> dict[str, str]:
    """Return facts of the server, its tools and its disks, and of how the run was done."""
    facts = {**server.facts, "rehearsal": "yes" if result.rehearsal else "no", **given.policy}
    if states := sorted({built.preconditioned for built in result.layouts if built.status == "built"}):
        facts[PRECONDITIONING] = "; ".join(states)
    if disks := result.disks:
        facts["disks"] = _counted([disk.model or "unknown model" for disk in disks])
        facts["firmware"] = _alike([disk.firmware for disk in disks if disk.firmware])
        facts["scheduler"] = _alike([disk.scheduler for disk in disks if disk.scheduler])
        facts["write cache"] = _alike([disk.write_cache for disk in disks if disk.write_cache])
        facts["link"] = _alike([f"{link.speed_gts} GT/s x{link.width}" for disk in disks if (link := disk.link)])
    else:
        facts["disks"] = _counted(disk.model or "unknown model" for disks in result.binding.values() for disk in disks)
    return {name: value for name, value in facts.items() if value}


def _alike(names: Sequence[str]) -> str:
    """Return one value for disks that have the same, however many they are."""
    return names[0] if len(set(names)) == 1 else _counted(names)


def _counted(names: Iterable[str]) -> str:
    return ", ".join(f"{count} × {name}" for name, count in sorted(Counter(names).items()))


def _layout_facts(layouts: Sequence[Built | LeanBuilt], given: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the options of a layout by place (`md.chunk`): as given, and as kernel and tools read them back."""
    facts = dict(given)
    built = next((one for one in layouts if one.layout == name and one.status == "built"), None)
    if built is None:
        return facts
    for read in built.read_back.values():
        if isinstance(read, dict):
            facts |= {place: fact_text(found) for key, place in READ_BACK.items() if (found := read.get(key)) is not None}
    # Settings of the kernel by the name of their file; those of several devices together.
    tuned: dict[str, set[str]] = {}
    settings: Mapping[str, Tuned | LeanTuned] = built.tuning
    for what, setting in settings.items():
        tuned.setdefault(leaf(what), set()).add(setting.set)
    facts |= {f"{AS_BUILT}{file}": ", ".join(sorted(values)) for file, values in tuned.items()}
    if built.initial_sync:
        facts[f"{AS_BUILT}initial_sync"] = built.initial_sync.split(":")[0].split(" for ")[0]
    return facts
