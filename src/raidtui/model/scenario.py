"""A scenario: roles, layouts, workloads and policy. Names no device, runs no code.

The kinds of layers and workloads are not known here: the reader is handed a catalog of their option types, so that a new
layer or workload engine is one new file elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from raidtui.model import hints, refusals
from raidtui.model.convert import Operand, decode
from raidtui.model.problem import Problem, ProblemError, Refusal, fail
from raidtui.model.roles import Role, Where, read_role
from raidtui.model.scenario_words import NAME_PATTERN, NAME_WORDS, ROLE_NAME, ROLE_PATTERN, SCHEMA
from raidtui.model.units import Duration

ROLE_TWICE: Final = Refusal(
    "role-twice",
    "Role used twice",
    "A layout names a role twice, but a disk can be in one place only.",
    "Split the role in two.",
)
PRECONDITION_NOT_ZERO: Final = Refusal(
    "precondition-not-zero",
    "Preconditioning contradicts skipping the initial sync",
    "The initial sync may be skipped only if all members were proven zero, and preconditioning fills them with data.",
    "Set the policy's `initial_sync` to `wait`, or `precondition` to `none`.",
)

AMOUNT_PATTERN: Final = r"^(none|(?!0(\.0+)?x)[0-9](\.[0-9]{1,2})?x)(?!\n)$"
"""A multiple of a disk's capacity, below ten."""
MAX_LAYOUTS: Final = 200
MAX_WORKLOADS: Final = 200
MAX_NESTING: Final = 8

_AMOUNT: Final = 'It is "none", or how often, up to 9.99 times, with an x.'
Name = Annotated[str, Meta(pattern=NAME_PATTERN, description=NAME_WORDS)]


class Ranking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question that a campaign answers with as few rounds as it takes; the policy's `rounds` are the most."""

    question: Literal["best", "order"] = "best"
    """`best`: what is told to be worse than another layout is not measured again; `order`: every two are told apart."""
    confidence: Annotated[float, Meta(ge=50, le=99.99, extra={"unit": "%"})] = 95
    """Confidence of the whole answer: of all layouts, workloads and rounds together."""
    close_enough: Annotated[float, Meta(ge=0, le=50, extra={"unit": "%"})] = 5
    """Layouts that surely differ by less than this need not be told apart."""
    slice: Duration = msgspec.field(default_factory=lambda: Duration("5s"))
    """Longest measuring time of a cell, in place of the workload's own runtime.

    Long enough for what is to be compared: what only shows after a minute is not seen in seconds.
    """


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Rules by which the whole matrix is run."""

    rounds: Annotated[int, Meta(ge=1, le=100)] = 1
    """Number of times that every layout is measured with every workload; with a ranking, the largest number."""
    ranking: Ranking | None = None
    """Question to be answered: rounds end as soon as it is, and cells that no longer matter are left out."""
    order: Literal["interleaved", "random", "grouped"] = "interleaved"
    """`interleaved`: every layout is built anew in every round, in the scenario's order.

    `random`: the same with layouts and workloads shuffled in every round; the plan shows how. `grouped`: a layout is built
    once and measured in all rounds, so that what one building is like by chance is in all of them.
    """
    noise_of: Name | None = None
    """A layout that is built and measured twice in every round: how far the two are apart is the noise floor."""
    prefill: bool = True
    """Write the region before it is read, so that reads never hit unwritten blocks. Files always are."""
    precondition: Annotated[str, Meta(pattern=AMOUNT_PATTERN, description=_AMOUNT, examples=["2x", "1x", "0.5x"])] = "none"
    """Number of times that each disk is written over, sequentially and after a discard, before every building: `2x` its
    capacity is what SNIA's test specification asks for. `none`: disks are as blanking left them.
    """
    steady: bool = False
    """Run each workload again and again on the same building, up to 25 times, until the last five runs are steady as
    SNIA's test specification has it; their average is what is reported.
    """
    initial_sync: Literal["wait", "skip-if-zeroed"] = "wait"
    """`skip-if-zeroed`: no initial sync where all members were proven to be zero."""
    cooldown: Duration = msgspec.field(default_factory=lambda: Duration("0s"))
    """Idle time before each cell."""
    caches: Literal["warm", "cold"] = "warm"
    """`cold`: before each cell a ZFS pool is exported and imported, which empties its ARC; `warm`: it stays as it is.

    Where this is left out, caches stay as they are too, and a cell that they answered is marked (`cached-reads`).
    """
    ceilings: bool = False
    """Measure the bare disks of every layout's data too, each alone and all at once, with every workload that the layout
    meets: the rates of a layout are then compared with those of its disks in the same run."""
    only: Annotated[dict[Name, Annotated[tuple[Name, ...], Meta(min_length=1)]], Meta(max_length=MAX_LAYOUTS)] = {}
    """Layouts that are measured with these workloads alone; workloads named here are for such layouts alone.

    Every other layout is measured with every other workload.
    """

    @property
    def precondition_times(self) -> float:
        """0 where disks are not preconditioned."""
        return 0.0 if self.precondition == "none" else float(self.precondition.removesuffix("x"))

    def meets(self, layout: str, workload: str) -> bool:
        """Return True if this layout is measured with this workload."""
        if layout in self.only:
            return workload in self.only[layout]
        return not any(workload in workloads for workloads in self.only.values())


class RoleRef(NamedTuple):
    """Disks of a role, as an input of a layer."""

    role: str


class Node(NamedTuple):
    """One layer of a layout: its kind, its options, and what it stands on, by input name."""

    kind: str
    spec: Any
    inputs: Mapping[str, tuple[RoleRef | Node, ...]]
    place: str

    def walk(self) -> Iterator[Node]:
        """This layer and every layer below it, lowest first."""
        for sources in self.inputs.values():
            for source in sources:
                if isinstance(source, Node):
                    yield from source.walk()
        yield self

    def roles(self) -> Iterator[str]:
        """Return all mentions of roles below, in order."""
        for sources in self.inputs.values():
            for source in sources:
                if isinstance(source, Node):
                    yield from source.roles()
                else:
                    yield source.role


class Load(NamedTuple):
    """A workload: its engine and its options."""

    kind: str
    spec: Any
    place: str


class Scenario(NamedTuple):
    """A scenario that was read and found whole. `given` is the file as it was."""

    name: str
    title: str
    why: str
    roles: Mapping[str, Role]
    layouts: Mapping[str, Node]
    workloads: Mapping[str, Load]
    policy: Policy
    given: Mapping[str, Any]


class Sketch(NamedTuple):
    """The readable part of a scenario that may be unfinished: valid entries, and the problems of the others."""

    roles: Mapping[str, Role]
    layouts: Mapping[str, Node]
    workloads: Mapping[str, Load]
    policy: Policy
    problems: tuple[Problem, ...]


class Catalog(NamedTuple):
    """The kinds that may stand in a scenario: option types by kind, and how to find a layer's inputs."""

    layers: Mapping[str, type[msgspec.Struct]]
    inputs: Mapping[str, Any]
    """Functions from a spec to its inputs, `{input name: Operand}`, by kind."""
    workloads: Mapping[str, type[msgspec.Struct]]
    gone: Mapping[str, tuple[Refusal, str]] = MappingProxyType({})
    """Known kinds of layers that cannot be built any more: the refusal, and the reason."""
    called: Mapping[str, str] = MappingProxyType({})
    """Other names of kinds of layers, each with the kind to write instead."""


_SPELLING: Final = {
    NAME_PATTERN: NAME_WORDS,
    ROLE_NAME: "A role's name has lower-case letters, digits, _ and - and begins with a letter; 31 at most.",
}


Roles = Mapping[str, Role | None]
"""None for a role that is there and cannot be read: that is said where it is, not wherever a layout stands on it."""


class _Outline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["raidtui.scenario/1"]
    name: Name
    roles: dict[str, Any]
    layouts: dict[str, Any]
    workloads: dict[str, Any]
    title: Annotated[str, Meta(max_length=200)] = ""
    why: Annotated[str, Meta(max_length=1000)] = ""
    policy: Any = msgspec.field(default_factory=dict)


def read_scenario(value: Any, catalog: Catalog, place: str = "$") -> Scenario:
    """A scenario from plain JSON data. Raises ProblemError with every problem found, each naming its place."""
    outline = decode(_Outline, value, place)
    sketch = _read(outline, catalog, place)
    if sketch.problems:
        raise ProblemError(*sketch.problems)
    roles, layouts, workloads, policy, _ = sketch
    return Scenario(outline.name, outline.title, outline.why, roles, layouts, workloads, policy, value)


def read_sketch(value: Any, catalog: Catalog, place: str = "$") -> Sketch:
    """Read as much as possible of a scenario that may be unfinished; never raises ProblemError."""
    problems: tuple[Problem, ...] = ()
    try:
        return _read(decode(_Outline, value, place), catalog, place)
    except ProblemError as error:
        problems = error.problems
    given = value if isinstance(value, dict) else {}
    roles, layouts, workloads = (
        section if isinstance(section := given.get(name), dict) else {} for name in ("roles", "layouts", "workloads")
    )
    outline = _Outline(SCHEMA, "sketch", roles, layouts, workloads, policy=given.get("policy", {}))
    sketch = _read(outline, catalog, place)
    return sketch._replace(problems=(*problems, *sketch.problems))


def _read(outline: _Outline, catalog: Catalog, place: str) -> Sketch:
    problems: list[Problem] = []
    roles = _section(
        outline.roles, f"{place}.roles", 64, problems, read_role, ROLE_NAME
    )
    named: Roles = {**dict.fromkeys(outline.roles), **roles}
    layouts = _section(
        outline.layouts, f"{place}.layouts", MAX_LAYOUTS, problems, lambda v, p: _layout(v, p, catalog, named)
    )
    workloads = _section(
        outline.workloads, f"{place}.workloads", MAX_WORKLOADS, problems, lambda v, p: _load(v, p, catalog)
    )
    policy = Policy()
    try:
        policy = decode(Policy, outline.policy, f"{place}.policy")
        problems += [*_strangers(policy, outline, f"{place}.policy"), *_contradictions(policy, f"{place}.policy")]
    except ProblemError as error:
        problems += error.problems
    return Sketch(roles, layouts, workloads, policy, tuple(problems))


def _strangers(policy: Policy, outline: _Outline, place: str) -> Iterator[Problem]:
    """Return problems of names in the policy that the scenario does not define."""
    if policy.noise_of is not None and policy.noise_of not in outline.layouts:
        text = f"there is no layout {policy.noise_of!r}"
        yield refusals.UNKNOWN_NAME.problem(text, place=f"{place}.noise_of", remedy="Use the name of a layout.")
    for layout, workloads in policy.only.items():
        if layout not in outline.layouts:
            text = f"there is no layout {layout!r}"
            yield refusals.UNKNOWN_NAME.problem(text, place=f"{place}.only", remedy="Use the name of a layout.")
        for workload in workloads:
            if workload not in outline.workloads:
                text = f"there is no workload {workload!r}"
                remedy = "Use the name of a workload."
                yield refusals.UNKNOWN_NAME.problem(text, place=f"{place}.only.{layout}", remedy=remedy)


def _contradictions(policy: Policy, place: str) -> Iterator[Problem]:
    """Return problems of policy options that exclude each other."""
    if policy.precondition_times and policy.initial_sync == "skip-if-zeroed":
        text = "preconditioned disks are full of data, and an initial sync can be skipped over zeroes alone"
        remedy = 'Set "initial_sync" to "wait", or "precondition" to "none".'
        yield PRECONDITION_NOT_ZERO.problem(text, place=f"{place}.precondition", remedy=remedy)


def _layout(value: Any, place: str, catalog: Catalog, roles: Roles) -> Node:
    node = _node(value, place, catalog, roles, 1)
    if reused := _reused_roles(node, place):
        raise ProblemError(*reused)
    return node


def _section(
    section: Mapping[str, Any], place: str, most: int, problems: list[Problem], read: Any, pattern: str = NAME_PATTERN
) -> dict[str, Any]:
    """Read each entry of one section; problems are collected, so that all of them are shown at once."""
    if not section:
        problems.append(refusals.SCHEMA.problem("there must be at least one entry", place=place))
    if len(section) > most:
        problems.append(refusals.SCHEMA.problem(f"{len(section)} entries; at most {most} are allowed", place=place))
        return {}
    found = {}
    for name, entry in section.items():
        if not re.fullmatch(pattern, name):
            remedy = _SPELLING[pattern]
            problems.append(refusals.SCHEMA.problem(f"{name[:80]!r} is not a name", place=f"{place}.{name}", remedy=remedy))
            continue
        try:
            found[name] = read(entry, f"{place}.{name}")
        except ProblemError as error:
            problems += error.problems
    return found


def single(
    value: Any, place: str, what: str, known: Mapping[str, Any], called: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, Any]:
    """`{"kind": {…}}`: the kind and its options. `called`: what people write for kinds → what to write instead."""
    if not isinstance(value, dict) or len(value) != 1:
        raise fail(refusals.SCHEMA, f"expected an object with one key, the kind of {what}", place=place,
                   remedy=f"Known kinds: {', '.join(sorted(known))}.")  # fmt: skip
    ((kind, options),) = value.items()
    if kind not in known:
        remedy = f"Known kinds: {', '.join(sorted(known))}."
        if meant := called.get(kind.lower()) or " or ".join(hints.similar_words(kind, known)):
            remedy = f"Did you mean {meant}? {remedy}"
        raise fail(refusals.SCHEMA, f"{kind[:80]!r} is not a kind of {what}", place=place, remedy=remedy)
    return kind, options


def _load(value: Any, place: str, catalog: Catalog) -> Load:
    kind, options = single(value, place, "workload", catalog.workloads)
    return Load(kind, decode(catalog.workloads[kind], options, f"{place}.{kind}"), f"{place}.{kind}")


def _node(value: Any, place: str, catalog: Catalog, roles: Roles, depth: int) -> Node:
    if depth > MAX_NESTING:
        raise fail(refusals.SCHEMA, f"layers are nested more than {MAX_NESTING} deep", place=place)
    _refuse_gone(value, place, catalog)
    kind, options = single(value, place, "layer", catalog.layers, catalog.called)
    place = f"{place}.{kind}"
    spec = decode(catalog.layers[kind], options, place)
    inputs = {
        name: tuple(_sources(operand.raw, f"{place}.{name}", catalog, roles, depth))
        for name, operand in catalog.inputs[kind](spec).items()
    }
    return Node(kind, spec, inputs, place)


def _refuse_gone(value: Any, place: str, catalog: Catalog) -> None:
    for kind in value if isinstance(value, dict) else ():
        if kind in catalog.gone:
            refusal, message = catalog.gone[kind]
            raise fail(refusal, message, place=f"{place}.{kind}", remedy=refusal.way_out)


def _sources(raw: Any, place: str, catalog: Catalog, roles: Roles, depth: int) -> Iterator[RoleRef | Node]:
    if isinstance(raw, list):
        if not raw or len(raw) > 64:
            raise fail(refusals.SCHEMA, "a list of devices has 1 to 64 entries", place=place)
        for index, entry in enumerate(raw):
            if isinstance(entry, list):
                raise fail(refusals.SCHEMA, "a list within a list", place=f"{place}[{index}]")
            yield from _sources(entry, f"{place}[{index}]", catalog, roles, depth)
    elif isinstance(raw, str):
        match = re.fullmatch(ROLE_PATTERN, raw)
        if not match:
            raise fail(refusals.SCHEMA, f"{raw[:80]!r} is not a role", place=place,
                       remedy='A role is written "@name"; a scenario never names a device or a path.')  # fmt: skip
        if match.group(1) not in roles:
            raise fail(refusals.UNKNOWN_ROLE, f"there is no role {match.group(1)!r}", place=place,
                       remedy=f"Roles of this scenario: {', '.join(roles) or 'none'}.")  # fmt: skip
        if roles[match.group(1)] is None:
            raise ProblemError
        yield RoleRef(match.group(1))
    else:
        yield _node(raw, place, catalog, roles, depth + 1)


def _reused_roles(node: Node, place: str) -> list[Problem]:
    seen: set[str] = set()
    problems = []
    for role in node.roles():
        if role in seen:
            problems.append(Problem(ROLE_TWICE.code, f"role {role!r} is used twice in one layout", place,
                                    "Each disk can be in one place only: split the role in two.", exit=2))  # fmt: skip
        seen.add(role)
    return problems


__all__ = ["Catalog", "Load", "Node", "Operand", "Policy", "Role", "RoleRef", "Scenario", "Sketch", "Where",
           "read_scenario", "read_sketch", "single"]  # fmt: skip
