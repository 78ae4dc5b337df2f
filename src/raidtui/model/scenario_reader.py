"""Read a scenario, also an unfinished one: every layout and workload as far as it can be read, with its problems.

The kinds of layers and workloads are not known here: a catalog has their option types and checks.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from raidtui.model import hints, refusals, sweep
from raidtui.model.convert import Operand, decode
from raidtui.model.fields import fields_of
from raidtui.model.hosts import HostGroup
from raidtui.model.problem import Problem, ProblemError, Refusal, fail
from raidtui.model.roles import read_role, strange_hosts
from raidtui.model.scenario import MAX_LAYOUTS, Entry, Load, Name, Node, Policy, Role, RoleRef, Scenario
from raidtui.model.scenario_words import NAME_PATTERN, NAME_WORDS, ROLE_NAME, ROLE_PATTERN, SCHEMA

ROLE_TWICE: Final = Refusal(
    "role-twice",
    "Role used twice",
    "A layout names a role twice, but a disk can be in one place only.",
    "Split the role in two, or use a partition of each disk in each place.",
)
ROLE_WHOLE: Final = Refusal(
    "role-whole",
    "Disks used whole and in part",
    "A layout uses the whole disks of a role in one place and partitions of the same disks in another.",
    'Use partitions in every place, {"partition": {"on": "@ROLE", "use": "50%"}}, or split the role in two.',
)
PRECONDITION_NOT_ZERO: Final = Refusal(
    "precondition-not-zero",
    "Preconditioning contradicts skipping the initial sync",
    "The initial sync may be skipped only if all members were proven zero, and preconditioning fills them with data.",
    "Set the policy's `initial_sync` to `wait`, or `precondition` to `none`.",
)

MAX_WORKLOADS: Final = 200
MAX_NESTING: Final = 8
MAX_GROUPS: Final = 8
T = TypeVar("T")
_SPELLING: Final = {
    NAME_PATTERN: NAME_WORDS,
    ROLE_NAME: "A role's name has lower-case letters, digits, _ and - and begins with a letter; 31 at most.",
}


class _Outline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["raidtui.scenario/1"]
    name: Name
    roles: dict[str, Any]
    layouts: dict[str, Any]
    workloads: dict[str, Any]
    title: Annotated[str, Meta(max_length=200)] = ""
    why: Annotated[str, Meta(max_length=1000)] = ""
    policy: Any = msgspec.field(default_factory=dict)
    hosts: dict[str, Any] = {}


class Sketch(NamedTuple):
    """A scenario that may be unfinished, as far as it can be read."""

    outline: _Outline
    given: Any
    roles: Mapping[str, Role]
    """The valid ones."""
    layouts: Mapping[str, Entry[Node]]
    workloads: Mapping[str, Entry[Load]]
    policy: Policy
    own_problems: tuple[Problem, ...]
    """Everything wrong outside of layouts and workloads."""
    hosts: Mapping[str, HostGroup]
    """The valid ones."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong."""
        found = [entry.problems for section in (self.layouts, self.workloads) for entry in section.values()]
        # The workloads of a sweep have the same problems.
        return tuple(dict.fromkeys((*self.own_problems, *itertools.chain.from_iterable(found))))

    def whole(self) -> Scenario:
        """Return the scenario. Raises ProblemError with everything that is wrong, each with its place."""
        if self.problems:
            raise ProblemError(*self.problems)
        outline = self.outline
        layouts = {name: entry.value for name, entry in self.layouts.items() if entry.value is not None}
        workloads = {name: entry.value for name, entry in self.workloads.items() if entry.value is not None}
        return Scenario(outline.name, outline.title, outline.why, self.roles, layouts, workloads, self.policy, self.given,
                        self.hosts)  # fmt: skip


class Catalog(NamedTuple):
    """The kinds that may stand in a scenario: option types by kind, and how their options are checked."""

    layers: Mapping[str, type[msgspec.Struct]]
    inputs: Mapping[str, Callable[[Any], Mapping[str, Operand]]]
    """Functions from the options to the inputs, by kind."""
    check_layer: Callable[[Node, Mapping[str, Role]], list[Problem]]
    """Return the reasons why this layer cannot be built on the layers and roles below it."""
    check_layout: Callable[[Node], list[Problem]]
    """Return contradictions between the layers of a layout."""
    workloads: Mapping[str, type[msgspec.Struct]]
    check_workload: Callable[[Load], list[Problem]]
    gone: Mapping[str, tuple[Refusal, str]]
    """Known kinds of layers that cannot be built any more: the refusal, and the reason."""
    sharing: Collection[str]
    """Kinds of layers that share disks: several may stand on one role."""
    called: Mapping[str, str]
    """Other names of kinds of layers, each with the kind to write instead."""


def read_sketch(value: Any, catalog: Catalog, place: str = "$") -> Sketch:
    """Read as much as possible of a scenario (plain JSON data) that may be unfinished; never raises ProblemError."""
    problems: list[Problem] = []
    outline = _outline_of(value, place, problems)
    reader = _Reader(catalog, outline, problems)
    roles = reader.read_roles(f"{place}.roles")
    layouts = reader.section(outline.layouts, f"{place}.layouts", MAX_LAYOUTS, reader.layout)
    workloads = reader.read_workloads(outline.workloads, f"{place}.workloads")
    hosts = reader.read_hosts(outline.hosts, f"{place}.hosts")
    problems += strange_hosts(roles, hosts, f"{place}.roles")
    policy = Policy()
    try:
        policy = decode(Policy, outline.policy, f"{place}.policy")
        names = {*outline.workloads, *workloads}
        problems += [*_strangers(policy, outline, names, f"{place}.policy"), *_contradictions(policy, f"{place}.policy")]
        policy = _with_sweeps(policy, workloads)
    except ProblemError as error:
        problems += error.problems
    return Sketch(outline, value, roles, layouts, workloads, policy, tuple(problems), hosts)


def _outline_of(value: Any, place: str, problems: list[Problem]) -> _Outline:
    try:
        return decode(_Outline, value, place)
    except ProblemError as error:
        problems += error.problems
    given = value if isinstance(value, dict) else {}
    roles, layouts, workloads = (
        found if isinstance(found := given.get(name), dict) else {} for name in ("roles", "layouts", "workloads")
    )
    return _Outline(SCHEMA, "sketch", roles, layouts, workloads, policy=given.get("policy", {}))


class _Reader:
    """Reads the sections of one scenario. Problems are collected, so that all of them are shown at once."""

    def __init__(self, catalog: Catalog, outline: _Outline, problems: list[Problem]) -> None:
        self._catalog = catalog
        self._named = outline.roles
        self._roles: dict[str, Role] = {}
        self._problems = problems

    def read_roles(self, place: str) -> Mapping[str, Role]:
        """Return the valid roles; layouts that stand on another one are unsound without a problem of their own."""

        def role(value: Any, place: str, problems: list[Problem]) -> Role | None:
            try:
                return read_role(value, place)
            except ProblemError as error:
                problems += error.problems
                return None

        # A layout may stand on no disk of the server.
        entries = self.section(self._named, place, 64, role, ROLE_NAME) if self._named else {}
        self._problems += [problem for entry in entries.values() for problem in entry.problems]
        self._roles = {name: entry.value for name, entry in entries.items() if entry.value is not None}
        return self._roles

    def read_hosts(self, section: Mapping[str, Any], place: str) -> Mapping[str, HostGroup]:
        """Return the valid groups of hosts, the storage server first."""

        def group(value: Any, place: str, problems: list[Problem]) -> HostGroup | None:
            try:
                return decode(HostGroup, value, place)
            except ProblemError as error:
                problems += error.problems
                return None

        entries = self.section(section, place, MAX_GROUPS, group, ROLE_NAME) if section else {}
        self._problems += [problem for entry in entries.values() for problem in entry.problems]
        found = {name: entry.value for name, entry in entries.items() if entry.value is not None}
        storage = next(iter(found), "")
        if storage and found[storage].count != 1:
            text = f"the first group of hosts, {storage!r}, is the storage server, and there is one"
            remedy = 'Leave its "count" out; clients are another group.'
            self._problems.append(refusals.SCHEMA.problem(text, place=f"{place}.{storage}.count", remedy=remedy))
        return found

    def section(
        self, section: Mapping[str, Any], place: str, most: int,
        read: Callable[[Any, str, list[Problem]], T | None], pattern: str = NAME_PATTERN,
    ) -> dict[str, Entry[T]]:  # fmt: skip
        if not section:
            self._problems.append(refusals.SCHEMA.problem("there must be at least one entry", place=place))
        if len(section) > most:
            text = f"{len(section)} entries; at most {most} are allowed"
            self._problems.append(refusals.SCHEMA.problem(text, place=place))
            return {}
        found = {}
        for name, value in section.items():
            problems: list[Problem] = []
            if not re.fullmatch(pattern, name):
                text, remedy = f"{name[:80]!r} is not a name", _SPELLING[pattern]
                problems.append(refusals.SCHEMA.problem(text, place=f"{place}.{name}", remedy=remedy))
            found[name] = Entry(read(value, f"{place}.{name}", problems), tuple(dict.fromkeys(problems)))
        return found

    def read_workloads(self, section: Mapping[str, Any], place: str) -> dict[str, Entry[Load]]:
        """Return the workloads by name: one for an entry, or one for each combination of a sweep."""
        entries = self.section(section, place, MAX_WORKLOADS, self._loads)
        found: dict[str, Entry[Load]] = {}
        for name, entry in entries.items():
            read: dict[str, Load | None] = {"": None} if entry.value is None else dict(entry.value)
            for ending, load in read.items():
                own = f"{name}-{ending}" if ending else name
                if ending and (why := _no_name(own, {*section, *found})):
                    text = f"a combination of sweep {name} would be named {own!r}, {why}"
                    remedy = sweep.SWEEP_NAME.way_out
                    self._problems.append(sweep.SWEEP_NAME.problem(text, place=f"{place}.{name}", remedy=remedy))
                    continue
                if load is not None and load.sweep is not None:
                    load = load._replace(sweep=msgspec.structs.replace(load.sweep, name=name))
                found[own] = Entry(load, entry.problems)
        if len(found) > MAX_WORKLOADS:
            text = f"{len(found)} workloads with those of the sweeps; at most {MAX_WORKLOADS} are allowed"
            self._problems.append(sweep.SWEEP_SIZE.problem(text, place=place, remedy=sweep.SWEEP_SIZE.way_out))
        return found

    def _loads(self, value: Any, place: str, problems: list[Problem]) -> dict[str, Load] | None:
        """Return the workload, or those of a sweep by the ends of their names; a sweep that cannot be read as one load."""
        try:
            kind, options = _single(value, place, "workload", self._catalog.workloads)
        except ProblemError as error:
            problems += error.problems
            return None
        place = f"{place}.{kind}"
        known = {field.name: field.many for field in fields_of(self._catalog.workloads[kind])}
        unread = {"": Load(kind, None, place, options)}
        if wrong := list(sweep.problems_of(kind, options, known, place)):
            problems += wrong
            return unread
        if not sweep.lists_of(kind, options):
            return {"": self._load(kind, options, place, problems)}
        loads = {}
        for ending, at, own in sweep.combinations(kind, options):
            found: list[Problem] = []
            load = self._load(kind, own, place, found)
            loads[ending] = load._replace(given=options, sweep=sweep.swept("", own))
            spots = {f"{place}.{name}": f"{place}.{name}[{number}]" for name, number in at.items()}
            problems += [msgspec.structs.replace(one, place=spots.get(one.place, one.place)) for one in found]
        return loads if all(load.spec is not None for load in loads.values()) else unread

    def _load(self, kind: str, options: Any, place: str, problems: list[Problem]) -> Load:
        load = Load(kind, None, place, options)
        try:
            load = load._replace(spec=decode(self._catalog.workloads[kind], options, load.place))
            problems += self._catalog.check_workload(load)
        except ProblemError as error:
            problems += error.problems
        return load

    def layout(self, value: Any, place: str, problems: list[Problem]) -> Node | None:
        node = self._layer(value, place, problems, 1)
        if node is None:
            return None
        problems += [problem for layer in node.walk() for problem in layer.problems]
        problems += _reused_roles(node, place, self._catalog.sharing)
        if not problems and all(layer.sound for layer in node.walk()):
            problems += self._catalog.check_layout(node)
        return node

    def _layer(self, value: Any, place: str, problems: list[Problem], depth: int) -> Node | None:
        """Return one layer, with its own problems in it; `problems` are those of the device that the layer would be."""
        catalog = self._catalog
        try:
            if depth > MAX_NESTING:
                raise fail(refusals.SCHEMA, f"layers are nested more than {MAX_NESTING} deep", place=place)
            _refuse_gone(value, place, catalog)
            kind, options = _single(value, place, "layer", catalog.layers, catalog.called)
        except ProblemError as error:
            problems += error.problems
            return None
        place, own, spec = f"{place}.{kind}", list[Problem](), None
        try:
            spec = decode(catalog.layers[kind], options, place)
            operands = {name: operand.raw for name, operand in catalog.inputs[kind](spec).items()}
        except ProblemError as error:
            own += error.problems
            given = options if isinstance(options, dict) else {}
            names = [field.name for field in fields_of(catalog.layers[kind]) if field.type == "devices"]
            operands = {name: given[name] for name in names if given.get(name) is not None}
        read = {name: list(self._devices(raw, f"{place}.{name}", own, depth)) for name, raw in operands.items()}
        inputs = {name: tuple(device for device in devices if device is not None) for name, devices in read.items()}
        sound = spec is not None and all(devices and None not in devices for devices in read.values())
        node = Node(kind, spec, inputs, place, options, sound=sound)
        own += catalog.check_layer(node, self._roles) if sound else ()
        return node._replace(problems=tuple(own))

    def _devices(self, raw: Any, place: str, problems: list[Problem], depth: int) -> Iterator[RoleRef | Node | None]:
        """Yield the devices of one input; None for one that cannot be read."""
        if isinstance(raw, list):
            if not raw or len(raw) > 64:
                problems.append(refusals.SCHEMA.problem("a list of devices has 1 to 64 entries", place=place))
                yield None
            for index, entry in enumerate(raw[:64]):
                if isinstance(entry, list):
                    problems.append(refusals.SCHEMA.problem("a list within a list", place=f"{place}[{index}]"))
                    yield None
                else:
                    yield from self._devices(entry, f"{place}[{index}]", problems, depth)
        elif isinstance(raw, str):
            yield self._role(raw, place, problems)
        else:
            yield self._layer(raw, place, problems, depth + 1)

    def _role(self, raw: str, place: str, problems: list[Problem]) -> RoleRef | None:
        match = re.fullmatch(ROLE_PATTERN, raw)
        if match is None:
            remedy = 'A role is written "@name"; a scenario never names a device or a path.'
            problems.append(refusals.SCHEMA.problem(f"{raw[:80]!r} is not a role", place=place, remedy=remedy))
            return None
        if match[1] not in self._named:
            remedy = f"Roles of this scenario: {', '.join(self._named) or 'none'}."
            text = f"there is no role {match[1]!r}"
            problems.append(refusals.UNKNOWN_ROLE.problem(text, place=place, remedy=remedy))
        return RoleRef(match[1]) if match[1] in self._roles else None


def _no_name(name: str, taken: Collection[str]) -> str:
    """Return why a combination of a sweep cannot have this name; empty if it can."""
    if name in taken:
        return "as another workload is"
    return f"which is longer than {sweep.LONGEST_NAME} characters" if len(name) > sweep.LONGEST_NAME else ""


def _with_sweeps(policy: Policy, workloads: Mapping[str, Entry[Load]]) -> Policy:
    """Return the policy with the workloads of a sweep wherever `only` names the sweep."""
    cells: dict[str, list[str]] = {}
    for name, entry in workloads.items():
        if entry.value is not None and entry.value.sweep is not None:
            cells.setdefault(entry.value.sweep.name, []).append(name)
    if not cells or not policy.only:
        return policy
    only = {
        layout: tuple(dict.fromkeys(itertools.chain.from_iterable(cells.get(name, [name]) for name in names)))
        for layout, names in policy.only.items()
    }
    return msgspec.structs.replace(policy, only=only)


def _strangers(policy: Policy, outline: _Outline, workload_names: Collection[str], place: str) -> Iterator[Problem]:
    """Return problems of names in the policy that the scenario does not define."""
    if policy.noise_of is not None and policy.noise_of not in outline.layouts:
        text = f"there is no layout {policy.noise_of!r}"
        yield refusals.UNKNOWN_NAME.problem(text, place=f"{place}.noise_of", remedy="Use the name of a layout.")
    for layout, workloads in policy.only.items():
        if layout not in outline.layouts:
            text = f"there is no layout {layout!r}"
            yield refusals.UNKNOWN_NAME.problem(text, place=f"{place}.only", remedy="Use the name of a layout.")
        for workload in workloads:
            if workload not in workload_names:
                text = f"there is no workload {workload!r}"
                remedy = "Use the name of a workload."
                yield refusals.UNKNOWN_NAME.problem(text, place=f"{place}.only.{layout}", remedy=remedy)


def _contradictions(policy: Policy, place: str) -> Iterator[Problem]:
    """Return problems of policy options that exclude each other."""
    if policy.precondition_times and policy.initial_sync == "skip-if-zeroed":
        text = "preconditioned disks are full of data, and an initial sync can be skipped over zeroes alone"
        remedy = 'Set "initial_sync" to "wait", or "precondition" to "none".'
        yield PRECONDITION_NOT_ZERO.problem(text, place=f"{place}.precondition", remedy=remedy)


def _single(
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


def _refuse_gone(value: Any, place: str, catalog: Catalog) -> None:
    for kind in value if isinstance(value, dict) else ():
        if kind in catalog.gone:
            refusal, message = catalog.gone[kind]
            raise fail(refusal, message, place=f"{place}.{kind}", remedy=refusal.way_out)


def _reused_roles(node: Node, place: str, sharing: Collection[str]) -> Iterator[Problem]:
    """Yield problems of disks that would be in two places. Layers of the kinds in `sharing` share the disks of a role."""
    layers = list(node.walk())
    whole = Counter(role for layer in layers if layer.kind not in sharing for role in layer.own_roles())
    shared = [Counter(layer.own_roles()) for layer in layers if layer.kind in sharing]
    for role, times in (pair for counts in (whole, *shared) for pair in counts.items()):
        for _ in range(times - 1):
            text = f"role {role!r} is used twice in one layout"
            yield ROLE_TWICE.problem(text, place=place, remedy=ROLE_TWICE.way_out)
    for role in sorted(whole.keys() & {role for counts in shared for role in counts}):
        text = f"the disks of role {role!r} are used whole in one place, and in part in another"
        yield ROLE_WHOLE.problem(text, place=place, remedy=ROLE_WHOLE.way_out)
