"""Read the text of a scenario file and check it against the layers and workload engines of this engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from raidtui.engine.compose.hosts import host_problems
from raidtui.load.catalog import engines
from raidtui.load.engine import Engine
from raidtui.model.convert import decode
from raidtui.model.jsonio import MAX_SCENARIO_BYTES, read_json
from raidtui.model.plan import Options, TargetKind
from raidtui.model.problem import Problem, ProblemError, Refusal, fail
from raidtui.model.refusals import UNKNOWN_NAME, WORKLOAD_TARGET
from raidtui.model.result import RESULT_SCHEMA, Result, without_cells
from raidtui.model.scenario import Load, Node, Role, RoleRef, Scenario
from raidtui.model.scenario_reader import Catalog, Sketch, read_sketch
from raidtui.model.statistics.ranking import FIRST_LOOK
from raidtui.stack.catalog import all_layers
from raidtui.stack.links import RDMA_TRANSPORTS
from raidtui.stack.tuning.plan import problems_of

NO_DEVICE_BELOW: Final = Refusal(
    "no-device-below",
    "No block device below the layer",
    "A filesystem or a ZFS dataset is a directory with files, and an image that a workload opens by librbd is no device; "
    "no other layer can stand on it.",
    "Put a layer there that makes a block device, such as md, lvm or a zpool with a volume.",
)
NEVER_MET: Final = Refusal(
    "never-met",
    "The workload has no layout",
    "The policy's `only` limits layouts to some workloads, and no layout is left for this workload.",
    "Add the workload to `only`, or remove it.",
)
RANKING_GROUPED: Final = Refusal(
    "ranking-grouped",
    "Ranking with grouped rounds",
    "A ranking looks at the numbers after each round and leaves out cells that no longer matter; with grouped "
    "rounds all rounds of a layout are over before the next layout is measured.",
    'Set "order": "interleaved" in the policy, or remove the ranking.',
)
RANKING_ROUNDS: Final = Refusal(
    "ranking-rounds",
    "Too few rounds for a ranking",
    "The uncertainty of a number is known only from the spread of its rounds. A ranking ends early when the order "
    "is clear; the policy's rounds are the upper limit.",
    'For example: "rounds": 12.',
)
RANKING_SLICE: Final = Refusal(
    "ranking-slice",
    "The ranking's slice is too short for a workload",
    "With a ranking, each cell is measured for the length of its slice instead of the workload's own runtime.",
    "Make the slice longer.",
)

RESET_IMPOSSIBLE: Final = Refusal(
    "reset-impossible",
    "The layout cannot be rolled back or rewound",
    "The policy asks for a rollback or a rewind before each cell. Only the volume or dataset of a ZFS pool can be rolled "
    "back, and only a ZFS pool can be rewound, both only if it is measured itself: not below another layer.",
    'Leave "reset" out of the policy, or measure such layouts in a scenario of their own.',
)

KEPT_NOTHING: Final = Refusal(
    "kept-nothing",
    "The device below keeps nothing",
    "A null device forgets what is written to it. A layer with metadata, or files, cannot stand on it; an export can.",
    'Export it: {"nvmeof": {"on": {"null": {"size": "100GiB"}}}}, or put the layer on disks.',
)

_MAX_DOCUMENT_BYTES: Final = 2 * MAX_SCENARIO_BYTES
"""A result without its cells is a scenario, its disks and its server."""
_MEET: Final = "Name it in the policy's `only`, or take it out."


@cache
def catalog() -> Catalog:
    """Return the kinds of layers and workloads that this engine knows."""
    layers = all_layers()
    return Catalog(
        layers={kind: layer.spec for kind, layer in layers.items()},
        inputs={kind: layer.inputs for kind, layer in layers.items()},
        check_layer=layer_problems,
        check_layout=lambda layout: [*problems_of(layout, layers), *_sharing_problems(layout)],
        workloads={kind: engine.spec for kind, engine in engines().items()},
        check_workload=lambda load: engines()[load.kind].check(load.spec, load.place),
        gone={kind: why for layer in layers.values() for kind, why in layer.replaces().items()},
        sharing={kind for kind, layer in layers.items() if layer.together is not None},
        called={name: text for layer in layers.values() for name, text in layer.also_called.items()},
    )


@dataclass(frozen=True)
class Document:
    """A scenario or result file, read as far as possible: plan and preview are made from it."""

    sketch: Sketch
    earlier: Mapping[str, tuple[str, ...]]
    """Role → disk ids of the run that a result file is of; a wish only, for the same server."""

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario without problems. Raises ProblemError with every problem, each naming its place."""
        scenario = self.sketch.whole()
        checks = (_alone, _not_reset, _crossing_problems, _ranking_problems, host_problems)
        # The workloads of a sweep have the same place, and mostly the same problems.
        if problems := dict.fromkeys(problem for check in checks for problem in check(scenario)):
            raise ProblemError(*problems)
        return scenario


def open_document(text: str) -> Document:
    """Read a scenario or result file. Raises ProblemError if it is not JSON, too large, or a damaged result."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_SCENARIO_BYTES:
        data = without_cells(data)
    value = read_json(data, max_bytes=_MAX_DOCUMENT_BYTES)
    if isinstance(value, dict) and value.get("schema") == RESULT_SCHEMA:
        result = decode(Result, value)
        earlier = {role: tuple(p.id for p in prints) for role, prints in result.binding.items()}
        return Document(read_sketch(result.scenario, catalog(), "$.scenario"), earlier)
    if len(data) > MAX_SCENARIO_BYTES:
        read_json(data)  # raises: too large for a scenario
    return Document(read_sketch(value, catalog()), {})


def read_document(text: str) -> Document:
    """Read a scenario or result file without problems. Raises ProblemError with every problem, each naming its place."""
    document = open_document(text)
    _ = document.scenario
    return document


def _alone(scenario: Scenario) -> Iterator[Problem]:
    """Layouts and workloads that nothing would be measured with."""
    meets = scenario.policy.meets
    for name, node in scenario.layouts.items():
        if not any(meets(name, workload) for workload in scenario.workloads):
            yield Problem(NEVER_MET.code, f"layout {name} is measured with no workload", node.place, _MEET, exit=2)
    for name, load in scenario.workloads.items():
        if not any(meets(layout, name) for layout in scenario.layouts):
            what = f"sweep {load.sweep.name}" if load.sweep else f"workload {name}"
            yield Problem(NEVER_MET.code, f"{what} is run on no layout", load.place, _MEET, exit=2)


def _not_reset(scenario: Scenario) -> Iterator[Problem]:
    """Layouts that cannot be brought back to what they were, where the policy asks for it."""
    reset = scenario.policy.reset
    words = {"rollback": "ZFS volume or dataset on top to be rolled back", "rewind": "ZFS pool on top to be rewound"}
    for name, node in scenario.layouts.items() if reset != "none" else ():
        if reset not in all_layers()[node.kind].resets:
            yield RESET_IMPOSSIBLE.problem(f"layout {name} has no {words[reset]}", place=node.place)


def _ranking_problems(scenario: Scenario) -> Iterator[Problem]:
    """A ranking looks at whole rounds, and needs several; its workloads must be honest in slices too."""
    policy = scenario.policy
    if policy.ranking is None:
        return
    place = "$.policy.ranking"
    if policy.order == "grouped":
        text = "a ranking compares layouts round by round, and grouped rounds measure one layout after the other"
        yield Problem(RANKING_GROUPED.code, text, place, 'Set "order": "interleaved", or take the ranking out.', exit=2)
    if policy.rounds < FIRST_LOOK:
        text = f"a ranking needs {FIRST_LOOK} rounds or more to look at, and the policy allows {policy.rounds}"
        yield RANKING_ROUNDS.problem(text, place="$.policy.rounds", remedy='Set the upper limit: "rounds": 12.')
    for load in scenario.workloads.values():
        engine = engines()[load.kind]
        known = engine.check(load.spec, load.place)
        cut = engine.check(engine.sliced(load.spec, policy.ranking.slice.seconds), load.place)
        yield from (
            Problem(RANKING_SLICE.code, f"in a slice of {policy.ranking.slice.text}: {problem.message}", f"{place}.slice",
                    f"Make the slice longer, or see {problem.place}.", exit=2)
            for problem in cut if not known
        )  # fmt: skip


def _crossing_problems(scenario: Scenario) -> Iterator[Problem]:
    """Find workloads that cannot load the targets of their layouts; one problem per workload."""
    kinds = {name: all_layers()[node.kind].target_kind(node.spec) for name, node in scenario.layouts.items()}
    for workload, load in scenario.workloads.items():
        engine = engines()[load.kind]
        met = {name: kind for name, kind in kinds.items() if scenario.policy.meets(name, workload)}
        for kind in dict.fromkeys(met.values()):
            layouts = [name for name, found in met.items() if found == kind]
            yield from kind_problems(engine, kind, load.place, ", ".join(layouts[:4]) + (", …" if layouts[4:] else ""))
        ways = dict.fromkeys(how for name in met if (how := reductions(scenario.layouts[name])))
        yield from (problem for how in ways for problem in engine.check_reduced(load.spec, load.place, how))


def reductions(layout: Node) -> tuple[str, ...]:
    """Return how the layers of a layout reduce written data: `compresses`, `deduplicates`."""
    return tuple(dict.fromkeys(how for node in layout.walk() for how in all_layers()[node.kind].reduces(node.spec)))


def stacking(layout: Node) -> tuple[str, ...]:
    """Return the warnings of the layers about what is below them."""
    kinds = {
        node.place: {source.kind for sources in node.inputs.values() for source in sources if isinstance(source, Node)}
        for node in layout.walk()
    }
    said = (text for node in layout.walk() for text in all_layers()[node.kind].cautions(node.spec, kinds[node.place]))
    return tuple(dict.fromkeys((*said, *_on_one_disk(layout))))


def _on_one_disk(layout: Node) -> Iterator[str]:
    """Warn of layers with several members on the same disk: a role is below two of them only by partitions."""
    for node in layout.walk():
        for sources in node.inputs.values():
            below = [role for source in sources if isinstance(source, Node) for role in source.roles()]
            if roles := sorted({f"@{role}" for role in below if below.count(role) > 1}):
                yield (
                    f"Members of the {node.kind} are partitions of the same disk (disks of {', '.join(roles)}): they share "
                    "its speed, and all of them fail with it."
                )


def silent(loads: Mapping[str, Load]) -> list[str]:
    """The workloads that do not say whether what they write compresses or repeats."""
    return [name for name, load in loads.items() if engines()[load.kind].stated(load.spec) != load.spec]


def kind_problems(engine: Engine, kind: TargetKind, place: str, layouts: str) -> list[Problem]:
    """Return the reason why a workload cannot load this kind of target."""
    if kind in engine.takes:
        return []
    needs = {"block": "a block device", "directory": "files in a directory", "image": "an image that the tool opens itself"}
    wanted = " or ".join(needs[one] for one in engine.takes)
    text = f"{engine.kind} needs {wanted}, and what is measured of {layouts} is {needs[kind]}"
    apart = "say in the policy which layouts meet `only` which workloads"
    remedy = f"Put a filesystem on top of those layouts, or {apart}."
    if "directory" not in engine.takes:
        remedy = f"{apart[0].upper()}{apart[1:]}."
    return [Problem(WORKLOAD_TARGET.code, text, place, remedy, exit=2)]


def layer_problems(node: Node, roles: Mapping[str, Role]) -> list[Problem]:
    """Return the reasons why Linux would not build this layer on what is below it."""
    text = "what is measured of a {} is {} here: a {} needs a block device"
    made = {"directory": "files", "image": "an image that the workload opens itself", "": "all that it offers"}
    layer, below = all_layers()[node.kind], list(itertools.chain.from_iterable(node.inputs.values()))
    return [
        *layer.check(node.spec, counts_of(node, roles), node.place),
        *(
            KEPT_NOTHING.problem(f"a {source.kind} keeps nothing of what a {node.kind} writes to it", place=source.place)
            for source in below
            if isinstance(source, Node) and all_layers()[source.kind].keeps_nothing and not layer.exports
        ),
        *(
            NO_DEVICE_BELOW.problem(text.format(source.kind, made[_offers(source)], node.kind), place=source.place,
                                    remedy=NO_DEVICE_BELOW.way_out)
            for source in below
            if isinstance(source, Node) and source.sound and _offers(source) != "block"
        ),
    ]


def _sharing_problems(layout: Node) -> Iterator[Problem]:
    """Return the reasons why layers cannot share the disks below them."""
    for kind in dict.fromkeys(node.kind for node in layout.walk()):
        found = [(node.spec, node.place) for node in layout.walk() if node.kind == kind]
        yield from all_layers()[kind].refuse_together(found)


def _offers(node: Node) -> str:
    """A layer that can be either is below another one only as a block device."""
    layer = all_layers()[node.kind]
    kind = layer.target_kind(node.spec)
    return layer.offers if kind == "block" else kind


def keeps_nothing(layout: Node) -> bool:
    """Return True if what is written to the layout is lost: whatever is read, it was not written before."""
    return any(all_layers()[node.kind].keeps_nothing for node in layout.walk())


def over_rdma(layout: Node) -> bool:
    """Return True if the layout is exported over RDMA."""
    return any(all_layers()[node.kind].exports and node.spec.transport in RDMA_TRANSPORTS for node in layout.walk())


def counts_of(node: Node, roles: Mapping[str, Role]) -> dict[str, int]:
    """Return the number of devices that go into each input of a layer."""
    return {name: sum(devices_of(source, roles) for source in sources) for name, sources in node.inputs.items()}


def devices_of(source: RoleRef | Node, roles: Mapping[str, Role]) -> int:
    """Return the number of devices that a role or a layer is for the layer above."""
    if isinstance(source, RoleRef):
        return roles[source.role].count
    return all_layers()[source.kind].devices(source.spec, counts_of(source, roles)) if source.spec is not None else 1


def chosen(scenario: Scenario, options: Options) -> tuple[list[str], list[str]]:
    """Names of the layouts and workloads that the options leave. Raises ProblemError for a name that is not there.

    The name of a sweep stands for all of its workloads.
    """
    sweeps = {name: load.sweep.name for name, load in scenario.workloads.items() if load.sweep is not None}
    for what, wanted, known in (
        ("layout", options.layouts, scenario.layouts.keys()),
        ("workload", options.workloads, dict.fromkeys((*scenario.workloads, *sweeps.values())).keys()),
    ):
        if unknown := [name for name in wanted if name not in known]:
            raise fail(UNKNOWN_NAME, f"there is no {what} {unknown[0]!r} in scenario {scenario.name}",
                       remedy=f"Known: {', '.join(known)}.")  # fmt: skip
    taken = set(options.workloads)
    workloads = [n for n in scenario.workloads if not taken or n in taken or sweeps.get(n) in taken]
    layouts = [n for n in scenario.layouts if not options.layouts or n in options.layouts]
    layouts = [n for n in layouts if any(scenario.policy.meets(n, workload) for workload in workloads)]
    if not layouts:
        raise fail(NEVER_MET, "the layouts that were chosen are not measured with the workloads that were chosen",
                   place="$.policy.only", remedy="Choose others: the policy's `only` says which meet.")  # fmt: skip
    return layouts, [n for n in workloads if any(scenario.policy.meets(layout, n) for layout in layouts)]
