"""Facts on which a number depends besides the intended ones, with names that two cells can share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from raidtui.model.network import network_fact, rdma_fact
from raidtui.model.result import Machine
from raidtui.model.scenario import Ranking
from raidtui.model.sweep import expanded

AS_BUILT = "as built: "

READ_BACK = {name: f"{AS_BUILT}{name}" for name in (
    "level", "chunk_bytes", "layout", "consistency", "bitmap", "journal_mode", "raid_disks", "metadata",
    "initial_sync", "volblocksize", "recordsize", "compression", "ashift", "sync", "stripe_bytes", "stripes",
    "cache_mode", "block_bytes",
)}  # fmt: skip
"""Facts from kernel and tools about a layer that influence numbers, without names and identities."""

_OF_THE_RUN = frozenset((
    "filename", "name", "runtime", "size", "thread", "percentile_list", "group_reporting", "clat_percentiles",
    "exitall_on_error", "allow_file_create", "allow_mounted_write", "status-interval", "directory",
    "pool", "rbdname", "clientname", "image", "conf", "etcd",
))  # fmt: skip
"""Options of fio that concern files and reports, not the workload."""

EXPORTS = frozenset({"nvmeof", "iscsi"})
"""Layers behind which a network is."""
_NOTHING = "null"
"""Layer that keeps nothing of what is written to it."""
_POLICY = {"prefill": True, "order": "interleaved", "cooldown": "0s", "caches": "warm", "reset": "none"}
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
    workloads = expanded(workloads)
    return Given(
        str(scenario.get("name", "")),
        str(scenario.get("title", "")),
        {name: flat(layout) for name, layout in layouts.items()},
        {name: _DEFINITION.encode(_as_run(workload, policy)) for name, workload in workloads.items()},
        {
            "steady state": "asked for" if policy.get("steady") is True else "not asked for",
            **{f"policy {name}": fact_text(policy.get(name, left_out)) for name, left_out in _POLICY.items()},
        },
    )


def _as_run(workload: Any, policy: Mapping[str, Any]) -> Any:
    """Cells of a ranking are slices: not the same as the whole workload, nor as slices of another length."""
    ranking = policy.get("ranking")
    if not isinstance(ranking, Mapping):
        return workload
    return {"workload": workload, "slice": ranking.get("slice", Ranking().slice.text)}


class Server(NamedTuple):
    """Facts of the server in a result."""

    host: str
    facts: dict[str, str]
    machine_id: str = ""


def server_of(machine: Machine) -> Server:
    """Return the facts of a server and its tools; unknown ones are empty."""
    return Server(machine.host, {
        "server": machine.host,
        "kernel": machine.kernel,
        "distribution": machine.distribution,
        "cpu": f"{machine.cpus} × {machine.cpu_model}" if machine.cpu_model else "",
        "memory": f"{machine.memory_bytes / 2**30:.0f} GiB" if machine.memory_bytes else "",
        "NUMA nodes": str(machine.numa_nodes),
        "governor": machine.governor or "",
        "network": network_fact(machine.networks),
        "RDMA": rdma_fact(machine.rdma),
        "mitigations": ", ".join(f"{name}: {state}" for name, state in sorted(machine.mitigations.items())),
        "rehearsal": "",
        **{f"tool {name}": version for name, version in sorted(machine.tools.items())},
    }, machine.machine_id)  # fmt: skip


def leaf(name: str) -> str:
    """`chunk` of `md.chunk`, `scheduler` of `SERIAL queue/scheduler`."""
    return re.split(r"[./ ]", name)[-1]


def options_facts(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the fio options that change the measurement, without those of files and reports."""
    return {f"fio {key}": fact_text(value) for key, value in options.items() if key not in _OF_THE_RUN}


def flat(value: object, place: str = "") -> dict[str, str]:
    """Return options by place, with those of the layers below."""
    if isinstance(value, dict):
        parts = [(f"{place}.{key}" if place else str(key), below) for key, below in value.items()]
    elif isinstance(value, list):
        parts = [(f"{place}[{index}]", below) for index, below in enumerate(value)]
    else:
        return {place: fact_text(value)}
    return {name: found for part, below in parts for name, found in flat(below, part).items()}


def _section(scenario: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = scenario.get(name)
    return section if isinstance(section, Mapping) else {}


def fact_text(value: Any) -> str:
    """Return an option's value as text, so that values of different files can be compared."""
    if value.__class__ is str:
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def is_nothing(layout: object) -> bool:
    """Return True if a layout, as a scenario has it, keeps nothing: a null device, or an export of such devices."""
    if isinstance(layout, list):
        return bool(layout) and all(map(is_nothing, layout))
    if (export := _export_of(layout)) is not None:
        return is_nothing(export[1].get("on"))
    return isinstance(layout, Mapping) and list(layout) == [_NOTHING]


def bare_exports(layouts: Mapping[str, object]) -> dict[str, str]:
    """Return the first layout with the same export over a device that keeps nothing, by the exported layout.

    Options are compared, not the number of exported devices.
    """
    exports = {name: found for name, layout in layouts.items() if (found := _export_of(layout)) is not None}
    own = {name: (kind, {option: value for option, value in options.items() if option != "on"})
           for name, (kind, options) in exports.items()}  # fmt: skip
    nothing = [name for name in exports if is_nothing(layouts[name])]
    same = {name: [bare for bare in nothing if own[bare] == own[name]] for name in exports if name not in nothing}
    return {name: bare[0] for name, bare in same.items() if bare}


def local_layouts(layouts: object) -> dict[str, str]:
    """Return the layouts that are the same but for the export, by the exported one; `layouts`: as a scenario has them."""
    if not isinstance(layouts, Mapping):
        return {}
    inner = {name: export[1].get("on") for name, layout in layouts.items() if (export := _export_of(layout)) is not None}
    return {name: other for name, below in inner.items() for other, given in layouts.items() if given == below}


def _export_of(layout: object) -> tuple[str, Mapping[str, object]] | None:
    """Return kind and options of the export on top of a layout; None if there is none."""
    if isinstance(layout, Mapping) and len(layout) == 1:
        ((kind, options),) = layout.items()
        if kind in EXPORTS and isinstance(options, Mapping):
            return str(kind), options
    return None
