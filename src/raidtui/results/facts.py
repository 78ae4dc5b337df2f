"""Facts on which a number depends besides the intended ones, with names that two cells can share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from raidtui.model.result import Cell, Machine, Result, Tuned
from raidtui.model.scenario import Ranking

if TYPE_CHECKING:
    from raidtui.results.library.extracts import LeanCell, LeanResult, LeanTuned

AS_BUILT = "as built: "

_READ_BACK = {name: f"{AS_BUILT}{name}" for name in (
    "level", "chunk_bytes", "layout", "consistency", "bitmap", "journal_mode", "raid_disks", "metadata",
    "initial_sync", "volblocksize", "recordsize", "compression", "ashift", "sync", "stripe_bytes", "stripes",
    "cache_mode", "block_bytes",
)}  # fmt: skip
"""Facts from kernel and tools about a layer that influence numbers, without names and identities."""

_OF_THE_RUN = frozenset((
    "filename", "name", "runtime", "size", "thread", "percentile_list", "group_reporting", "clat_percentiles",
    "exitall_on_error", "allow_file_create", "allow_mounted_write", "status-interval", "directory",
))  # fmt: skip
"""Options of fio that concern files and reports, not the workload."""

_POLICY = {"prefill": True, "order": "interleaved", "cooldown": "0s", "caches": "warm"}
"""Options of the policy that influence numbers, with their defaults."""

_DEFINITION = json.JSONEncoder(sort_keys=True, default=str)
TOOL_FIO = "tool fio"
PRECONDITIONING = "preconditioning"
"""Fact about the data that the disks were written with before."""


class Given(NamedTuple):
    """Facts of a scenario."""

    name: str
    title: str
    layouts: dict[str, dict[str, str]]
    """Options of every layout by their place (`md.chunk`), in the scenario's order."""
    workloads: dict[str, str]
    """Text of a workload: equal for equal workloads."""
    policy: dict[str, str]


def given_of(scenario: Mapping[str, Any]) -> Given:
    """Read a scenario of unknown origin; missing parts are empty."""
    layouts, workloads, policy = (_section(scenario, name) for name in ("layouts", "workloads", "policy"))
    return Given(
        str(scenario.get("name", "")),
        str(scenario.get("title", "")),
        {name: _flat(layout) for name, layout in layouts.items()},
        {name: _DEFINITION.encode(_as_run(workload, policy)) for name, workload in workloads.items()},
        {
            "steady state": "asked for" if policy.get("steady") is True else "not asked for",
            **{f"policy {name}": _text(policy.get(name, left_out)) for name, left_out in _POLICY.items()},
        },
    )


def _as_run(workload: Any, policy: Mapping[str, Any]) -> Any:
    """Cells of a ranking are slices: not the same as the whole workload, nor as slices of another length."""
    ranking = policy.get("ranking")
    if not isinstance(ranking, Mapping):
        return workload
    return {"workload": workload, "slice": ranking.get("slice", Ranking().slice.text)}


class Server(NamedTuple):
    """Return the facts of the server in a result."""

    host: str
    facts: dict[str, str]


def server_of(machine: Machine) -> Server:
    """The server and its tools; what is not known is empty."""
    return Server(machine.host, {
        "server": machine.host,
        "kernel": machine.kernel,
        "distribution": machine.distribution,
        "cpu": f"{machine.cpus} × {machine.cpu_model}" if machine.cpu_model else "",
        "memory": f"{machine.memory_bytes / 2**30:.0f} GiB" if machine.memory_bytes else "",
        "NUMA nodes": str(machine.numa_nodes),
        "governor": machine.governor or "",
        "mitigations": ", ".join(f"{name}: {state}" for name, state in sorted(machine.mitigations.items())),
        "rehearsal": "",
        **{f"tool {name}": version for name, version in sorted(machine.tools.items())},
    })  # fmt: skip


def machine_facts(result: Result | LeanResult, server: Server, given: Given) -> dict[str, str]:
    """The server, its tools and its disks, and how the run was done."""
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


def layout_facts(result: Result | LeanResult, given: Given, layout: str) -> dict[str, str]:
    """Options of a layout by their place (`md.chunk`), as given, and where they were left out as the kernel reads them."""
    facts = dict(given.layouts.get(layout, {}))
    for built in result.layouts:
        if built.layout != layout or built.status != "built":
            continue
        for read in built.read_back.values():
            if isinstance(read, dict):
                facts |= {place: _text(found) for key, place in _READ_BACK.items() if (found := read.get(key)) is not None}
        facts |= _tuned(built.tuning)
        if built.initial_sync:
            facts[f"{AS_BUILT}initial_sync"] = built.initial_sync.split(":")[0].split(" for ")[0]
        break
    return facts


def _tuned(tuning: Mapping[str, Tuned | LeanTuned]) -> dict[str, str]:
    """Settings of the kernel by the name of their file; those of several devices together."""
    values: dict[str, set[str]] = {}
    for what, tuned in tuning.items():
        values.setdefault(leaf(what), set()).add(tuned.set)
    return {f"{AS_BUILT}{name}": ", ".join(sorted(found)) for name, found in values.items()}


def leaf(name: str) -> str:
    """`chunk` of `md.chunk`, `scheduler` of `SERIAL queue/scheduler`."""
    return re.split(r"[./ ]", name)[-1]


def workload_facts(cell: Cell | LeanCell) -> dict[str, str]:
    """Options reported by the tool itself."""
    report = cell.report
    if isinstance(report, list) and report:
        report = report[0]  # the passes of one cell were all run with the same
    if isinstance(report, dict):
        version, options = report.get("fio version"), report.get("global options")
        facts = options_facts(options) if isinstance(options, dict) else {}
    else:
        version, facts = getattr(report, "version", None), getattr(report, "options", {})
    return {**facts, TOOL_FIO: _text(version).removeprefix("fio-")} if version else facts


def options_facts(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the fio options that change the measurement, without those of files and reports."""
    return {f"fio {key}": _text(value) for key, value in options.items() if key not in _OF_THE_RUN}


def _flat(value: object, place: str = "") -> dict[str, str]:
    """Options by place, and below a layer that stands on others theirs."""
    found: dict[str, str] = {}
    if isinstance(value, dict):
        parts = [(f"{place}.{key}" if place else str(key), below) for key, below in value.items()]
    elif isinstance(value, list):
        parts = [(f"{place}[{index}]", below) for index, below in enumerate(value)]
    else:
        return {place: _text(value)}
    for name, below in parts:
        if isinstance(below, (dict, list)):
            found |= _flat(below, name)
        else:
            found[name] = _text(below)
    return found


def _section(scenario: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = scenario.get(name)
    return section if isinstance(section, Mapping) else {}


def _text(value: Any) -> str:
    if value.__class__ is str:
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _alike(names: Sequence[str]) -> str:
    """One value for disks that have the same, however many they are."""
    return names[0] if len(set(names)) == 1 else _counted(names)


def _counted(names: Iterable[str]) -> str:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{count} × {name}" for name, count in sorted(counts.items()))
