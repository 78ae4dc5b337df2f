"""Bare disks and bare exports that a plan measures beside its layouts, so that each stands under a ceiling of the same run.

Pure. Their names begin with `@`, which no layout of a scenario can: `@data:each`, `@data:all`, `@first+@second:all`, and
`@nvmeof-tcp`, `@nvmeof-tcp-2`: the export of a layout over a device that keeps nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from raidtui.engine.compose.reading import devices_of, keeps_nothing, kind_problems
from raidtui.engine.compose.write_amplification import data_roles
from raidtui.load.catalog import engines
from raidtui.model.convert import Operand, decode
from raidtui.model.problem import Problem
from raidtui.model.scenario import Load, Node, RoleRef, Scenario
from raidtui.stack import null
from raidtui.stack.catalog import all_layers
from raidtui.stack.disk import DiskSpec
from raidtui.stack.layer import Part

_KIND: Final = "disk"
Way = Literal["each", "together"]
_WORDS: Final[Mapping[Way, str]] = {"each": "each", "together": "all"}


class Bare(NamedTuple):
    """One layout that is added: the disks of some roles, one by one or all at once, or an export."""

    name: str
    node: Node
    given: dict[str, Any]
    """The layout as a scenario would write it."""
    workloads: tuple[str, ...]


class Ceilings(NamedTuple):
    """Layouts to add for the ceilings, and warnings about those that cannot be added."""

    layouts: tuple[Bare, ...] = ()
    warnings: tuple[str, ...] = ()


def ceilings(
    scenario: Scenario, layouts: Sequence[str], workloads: Sequence[str], parts: Mapping[str, tuple[Part, ...]]
) -> Ceilings:
    """For the chosen layouts and workloads of a scenario whose policy asks for them; `parts`: disks by role."""
    if not scenario.policy.ceilings:
        return Ceilings()
    wanted: dict[tuple[str, ...], list[str]] = {}
    for name in layouts:
        node = scenario.layouts[name]
        roles = tuple(sorted(data_roles(node, scenario.roles)))
        if node.kind != _KIND and roles:
            wanted.setdefault(roles, []).append(name)
    found, warnings = list(_exports(scenario, layouts, workloads, parts)), dict[str, None]()
    for roles, under in wanted.items():
        able = []
        for load in _met(scenario, under, workloads):
            if why := _unable(scenario.workloads[load], [part for role in roles for part in parts[role]]):
                warnings[f"No ceiling is measured for {load}: {why}."] = None
            else:
                able.append(load)
        several = sum(len(parts[role]) for role in roles) > 1
        for way in ("each", "together") if several else ("each",):
            there = _there(scenario, layouts, roles, way)
            if left := tuple(load for load in able if load not in there):
                found.append(_bare(roles, way, left))
    return Ceilings(tuple(found), tuple(warnings))


def _exports(
    scenario: Scenario, layouts: Sequence[str], workloads: Sequence[str], parts: Mapping[str, tuple[Part, ...]]
) -> Iterator[Bare]:
    """Yield each export of the layouts once, over devices that keep nothing, as large as all disks of the data."""
    wanted: dict[str, tuple[Node, list[str]]] = {}
    for name in layouts:
        node = scenario.layouts[name]
        if not all_layers()[node.kind].exports or keeps_nothing(node):
            continue
        size = sum(part.size_bytes for role in data_roles(node, scenario.roles) for part in parts[role])
        export = _over_nothing(node, devices_of(node, scenario.roles), size)
        alike = json.dumps([node.kind, {**export.given, "on": len(export.inputs["on"])}], sort_keys=True)
        wanted.setdefault(alike, (export, []))[1].append(name)
    names: Counter[str] = Counter()
    for export, under in wanted.values():
        protocol = f"@{export.kind}-{export.spec.transport}"
        names[protocol] += 1
        name = protocol if names[protocol] == 1 else f"{protocol}-{names[protocol]}"
        node = export._replace(place=f"$.layouts.{name}.{export.kind}")
        yield Bare(name, node, {export.kind: export.given}, _met(scenario, under, workloads))


def _met(scenario: Scenario, layouts: Sequence[str], workloads: Sequence[str]) -> tuple[str, ...]:
    """Return the workloads that one of these layouts is measured with, in order."""
    return tuple(load for load in workloads if any(scenario.policy.meets(name, load) for name in layouts))


def _over_nothing(node: Node, devices: int, size_bytes: int) -> Node:
    """Return the export with this many devices below that keep nothing."""
    kind = null.LAYER.kind
    raw = {kind: {"size": f"{max(1, size_bytes // null.MIB)}MiB"}}
    on = raw if devices == 1 else [raw] * devices
    given = {**node.given, "on": on}
    below = Node(kind, decode(null.NullSpec, raw[kind]), {}, f"{node.place}.on.{kind}", raw[kind])
    return node._replace(spec=decode(type(node.spec), given), inputs={"on": (below,) * devices}, given=given)


def _unable(load: Load, disks: Sequence[Part]) -> str:
    """Return the reason why this workload cannot run on these bare disks; empty if it can."""
    engine, size_bytes = engines()[load.kind], min(disk.size_bytes for disk in disks)
    pattern, sector = engine.pattern(load.spec), max(disk.logical_sector_bytes for disk in disks)
    if wrong := pattern.under_sector(sector):
        return f"it has {wrong}, and the bare disks have sectors of {sector} bytes"
    problems: list[Problem] = kind_problems(engine, "block", load.place, "bare disks")
    problems = problems or engine.check_target(load.spec, load.place, size_bytes, kind="block")
    return problems[0].message if problems else ""


def _there(scenario: Scenario, layouts: Sequence[str], roles: tuple[str, ...], way: Way) -> set[str]:
    """The workloads that the scenario measures these bare disks with by itself."""
    return {
        load
        for name in layouts
        if (node := scenario.layouts[name]).kind == _KIND
        and node.spec.mode == way
        and tuple(sorted(node.own_roles())) == roles
        for load in scenario.workloads
        if scenario.policy.meets(name, load)
    }


def _bare(roles: tuple[str, ...], way: Way, workloads: tuple[str, ...]) -> Bare:
    name = "+".join(f"@{role}" for role in roles) + f":{_WORDS[way]}"
    on = [f"@{role}" for role in roles] if len(roles) > 1 else f"@{roles[0]}"
    node = Node(_KIND, DiskSpec(on=Operand(on), mode=way), {"on": tuple(map(RoleRef, roles))}, f"$.layouts.{name}.{_KIND}")
    return Bare(name, node, {_KIND: {"on": on, "mode": way}}, workloads)
