"""From a document's text to a scenario that this engine can plan: the catalogs of layers and workloads meet the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from raidtui.load.catalog import engines
from raidtui.load.engine import Engine
from raidtui.model.convert import decode
from raidtui.model.jsonio import MAX_RESULT_BYTES, MAX_SCENARIO_BYTES, read_json
from raidtui.model.plan import Options, TargetKind
from raidtui.model.problem import Problem, ProblemError, fail
from raidtui.model.result import RESULT_SCHEMA, Result
from raidtui.model.scenario import Catalog, Node, Role, RoleRef, Scenario, read_scenario
from raidtui.stack.catalog import all_layers
from raidtui.stack.layer import target_kind


@cache
def catalog() -> Catalog:
    """Every kind of layer and workload that this engine knows."""
    layers = all_layers()
    return Catalog(
        layers={kind: layer.spec for kind, layer in layers.items()},
        inputs={kind: layer.inputs for kind, layer in layers.items()},
        workloads={kind: engine.spec for kind, engine in engines().items()},
    )


class Document(msgspec.Struct, frozen=True):
    """A scenario, and the disks it was bound to where it comes from a result."""

    scenario: Scenario
    earlier: Mapping[str, tuple[str, ...]]
    """Role → disk ids of the earlier run; a wish only, for the same server."""


class Given(msgspec.Struct, frozen=True):
    """A document's scenario as plain JSON data, unread, its place in the document, and as in `Document`."""

    value: Any
    place: str
    earlier: Mapping[str, tuple[str, ...]]


def read_document(text: str) -> Document:
    """Read a scenario or a result file. Raises ProblemError with every problem, each naming its place."""
    given = open_document(text)
    return Document(read_whole(given), given.earlier)


def read_whole(given: Given) -> Scenario:
    """Raises ProblemError with every problem, each naming its place."""
    return _checked(read_scenario(given.value, catalog(), given.place))


def open_document(text: str) -> Given:
    """The scenario in a scenario or result file. Raises ProblemError where it is not JSON, too large, or no result."""
    data = text.encode("utf-8", "surrogatepass")
    value = read_json(data, max_bytes=MAX_RESULT_BYTES)
    if isinstance(value, dict) and value.get("schema") == RESULT_SCHEMA:
        result = decode(Result, value)
        earlier = {role: tuple(p.id for p in prints) for role, prints in result.binding.items()}
        return Given(result.scenario, "$.scenario", earlier)
    if len(data) > MAX_SCENARIO_BYTES:
        read_json(data)  # raises: too large for a scenario
    return Given(value, "$", {})


def _checked(scenario: Scenario) -> Scenario:
    """Refuse what no Linux would build and what no workload can measure honestly, before any disk is looked at."""
    problems: list[Problem] = []
    for name, layout in scenario.layouts.items():
        problems += layout_problems(layout, scenario.roles)
        if len(name) > 63:
            problems.append(Problem("schema", "the name is too long", layout.place, exit=2))
    for load in scenario.workloads.values():
        problems += engines()[load.kind].check(load.spec, load.place)
    problems += _crossing_problems(scenario)
    if problems:
        raise ProblemError(*problems)
    return scenario


def _crossing_problems(scenario: Scenario) -> Iterator[Problem]:
    """Every layout is measured with every workload: what one of them cannot load is said once per workload."""
    kinds = {name: target_kind(all_layers()[node.kind], node.spec) for name, node in scenario.layouts.items()}
    for load in scenario.workloads.values():
        engine = engines()[load.kind]
        for kind in dict.fromkeys(kinds.values()):
            layouts = [name for name, found in kinds.items() if found == kind]
            yield from kind_problems(engine, kind, load.place, ", ".join(layouts[:4]) + (", …" if layouts[4:] else ""))


def kind_problems(engine: Engine, kind: TargetKind, place: str, layouts: str) -> list[Problem]:
    """Why a workload cannot load layouts that are measured as this kind of target."""
    if engine.takes in ("both", kind):
        return []
    needs = {"block": "a block device", "directory": "files in a directory"}
    text = f"{engine.kind} needs {needs[engine.takes]}, and what is measured of {layouts} is {needs[kind]}"
    remedy = "Put a filesystem on top of those layouts, or split the scenario: every layout meets every workload."
    if engine.takes == "block":
        remedy = "Split the scenario: every layout meets every workload."
    return [Problem("workload-target", text, place, remedy, exit=2)]


def layout_problems(layout: Node, roles: Mapping[str, Role]) -> list[Problem]:
    """Why Linux would not build this layout."""
    problems: list[Problem] = []
    for node in layout.walk():
        problems += all_layers()[node.kind].check(node.spec, _counts(node, roles), node.place)
        problems += [
            Problem("no-device-below", f"a {source.kind} offers no block device to stand on", node.place, exit=2)
            for sources in node.inputs.values()
            for source in sources
            if isinstance(source, Node) and all_layers()[source.kind].offers != "block"
        ]
    return problems


def _counts(node: Node, roles: Mapping[str, Role]) -> dict[str, int]:
    """How many devices go into each input of a layer."""
    return {
        name: sum(roles[s.role].count if isinstance(s, RoleRef) else 1 for s in sources)
        for name, sources in node.inputs.items()
    }


def chosen(scenario: Scenario, options: Options) -> tuple[list[str], list[str]]:
    """Names of the layouts and workloads that the options leave. Raises ProblemError for a name that is not there."""
    for what, wanted, known in (
        ("layout", options.layouts, scenario.layouts),
        ("workload", options.workloads, scenario.workloads),
    ):
        if unknown := [name for name in wanted if name not in known]:
            raise fail("unknown-name", f"there is no {what} {unknown[0]!r} in scenario {scenario.name}",
                       remedy=f"Known: {', '.join(known)}.")  # fmt: skip
    return (
        [n for n in scenario.layouts if not options.layouts or n in options.layouts],
        [n for n in scenario.workloads if not options.workloads or n in options.workloads],
    )


