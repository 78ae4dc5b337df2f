"""Plan one layout: the steps of its layers, built from below and taken down from above. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from raidtui.engine.compose.reading import RESET_IMPOSSIBLE
from raidtui.model.disk import Disk
from raidtui.model.plan import Host, Names, OnHost
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.model.refusals import UNKNOWN_NAME
from raidtui.model.scenario import Node, Policy, RoleRef
from raidtui.stack.catalog import all_layers
from raidtui.stack.layer import Draft, Part, Planned, PlannedTarget, Shared, placed
from raidtui.stack.tuning.plan import with_tuning

COLD_BELOW: Final = Refusal(
    "cold-below",
    "Caches of a layer below cannot be emptied",
    "The policy asks for cold caches. A ZFS pool is exported and imported for that, which is impossible while another "
    "layer is on its volume.",
    'Measure the pool alone, or set "caches": "warm" in the policy.',
)


Hosts = Mapping[str, tuple[Host, ...]]
"""Hosts beside the storage server, by group."""


def plan_layout(
    node: Node, roles: Mapping[str, tuple[Part, ...]], names: Names, policy: Policy, hosts: Hosts = MappingProxyType({})
) -> Planned:
    """The layer and everything below it, as one: built from below, taken down from above."""
    together = _plan_together(node, roles, names, policy)
    own = _plan_layer(node, roles, names, policy, together, hosts)
    return own._replace(
        build=(*(draft for one in together.values() for draft in one.build), *own.build),
        teardown=(*own.teardown, *(draft for one in reversed(together.values()) for draft in one.teardown)),
    )


def plan_on_hosts(
    node: Node, roles: Mapping[str, Mapping[str, tuple[Part, ...]]], names: Names, policy: Policy
) -> Planned:
    """The layout built on each of several hosts, from the host's own disks (`roles`: by host), and loaded there.

    All of them are loaded at the same time, as one target; disks that are measured one by one stay targets of their own.
    """
    made = {host: plan_layout(node, own, names, policy) for host, own in roles.items()}
    first = next(iter(made.values()))
    if first.filled or first.reset or first.before_cell:
        text = f"a {node.kind} of another host is neither reset nor emptied of its caches before a cell"
        raise fail(COLD_BELOW, text, place=node.place, remedy='Set "caches": "warm" in the policy, without a reset.',
                   exit=Exit.USAGE)  # fmt: skip
    return first._replace(
        build=tuple(draft.by(host) for host, one in made.items() for draft in one.build),
        teardown=tuple(draft.by(host) for host, one in made.items() for draft in one.teardown),
        targets=tuple(_targets_on(made)),
        offers=tuple(part for one in made.values() for part in one.offers),
    )


def _targets_on(made: Mapping[str, Planned]) -> Iterator[PlannedTarget]:
    """Yield the targets of a layout that several hosts have."""
    alone = [(host, target) for host, one in made.items() for target in one.targets if target.part]
    for host, target in alone:
        yield _loaded({host: target})
    if not alone:
        for number, _ in enumerate(next(iter(made.values())).targets):
            yield _loaded({host: one.targets[number] for host, one in made.items()})


def _loaded(targets: Mapping[str, PlannedTarget]) -> PlannedTarget:
    """Return what these hosts load together."""
    on = tuple(OnHost(host, target.refs, 0, own=True, built=True) for host, target in targets.items())
    first = next(iter(targets.values()))
    # A host counts what its block devices move, and not which ones a filesystem is on.
    counted = "no" if first.kind == "directory" else first.counted
    return first._replace(on=on, counted=counted, size_bytes=min(target.size_bytes for target in targets.values()))


def _plan_together(
    layout: Node, roles: Mapping[str, tuple[Part, ...]], names: Names, policy: Policy
) -> dict[str, Planned]:
    """Plan the layers that share disks, by place."""
    found: dict[str, Planned] = {}
    for kind in dict.fromkeys(node.kind for node in layout.walk()):
        if (plan := all_layers()[kind].together) is not None:
            nodes = [node for node in layout.walk() if node.kind == kind]
            shared = [Shared(node.spec, _disks_below(node, roles), node.place) for node in nodes]
            found |= zip((node.place for node in nodes), plan(shared, names, policy), strict=True)
    return found


def _disks_below(node: Node, roles: Mapping[str, tuple[Part, ...]]) -> dict[str, tuple[Part, ...]]:
    return {
        name: tuple(part for source in sources if isinstance(source, RoleRef) for part in roles[source.role])
        for name, sources in node.inputs.items()
    }


def _plan_layer(
    node: Node, roles: Mapping[str, tuple[Part, ...]], names: Names, policy: Policy, together: Mapping[str, Planned],
    hosts: Hosts,
) -> Planned:  # fmt: skip
    if node.place in together:
        return with_tuning(node, roles, together[node.place]._replace(build=(), teardown=()), names)
    build: list[Draft] = []
    teardown: list[Draft] = []
    parts: dict[str, tuple[Part, ...]] = {}
    needs_zero = False
    for name, sources in node.inputs.items():
        found: list[Part] = []
        for source in sources:
            if isinstance(source, RoleRef):
                found += roles[source.role]
                continue
            below = _plan_layer(source, roles, names, policy, together, hosts)
            assert below.offers, "refused when the scenario was read"
            if below.filled:
                raise ProblemError(RESET_IMPOSSIBLE.problem(f"nothing can stand on a {source.kind} that is reset",
                                                            place=node.place))  # fmt: skip
            if below.before_cell:
                raise fail(COLD_BELOW, f"caches of a {source.kind} cannot be emptied while a {node.kind} stands on it",
                           place=node.place, remedy='Measure it by itself, or set "caches": "warm" in the policy.',
                           exit=Exit.USAGE)  # fmt: skip
            build += below.build
            teardown = [*below.teardown, *teardown]
            needs_zero |= below.needs_zero
            found += below.offers
        parts[name] = tuple(found)
    layer = all_layers()[node.kind]
    group = layer.exported_to(node.spec)
    try:
        if group and layer.plan_on is not None:
            if group not in hosts:
                raise fail(UNKNOWN_NAME, f"there is no group of hosts {group!r} beside the storage server", place="to")
            own = layer.plan_on(node.spec, parts, names, hosts[group])
        else:
            own = layer.plan(node.spec, parts, names, policy)
    except ProblemError as error:
        raise ProblemError(*(placed(problem, node.kind, node.place) for problem in error.problems)) from None
    own = with_tuning(node, roles, own, names)
    return own._replace(
        build=(*build, *own.build), teardown=(*own.teardown, *teardown), needs_zero=needs_zero or own.needs_zero
    )


def disk_part(disk: Disk) -> Part:
    """A disk as a layer's input."""
    return Part(
        ref=f"disk:{disk.id}",
        path=disk.path,
        size_bytes=disk.size_bytes,
        logical_sector_bytes=disk.logical_sector_bytes,
        disks=(disk.id,),
        discard=disk.discard,
        rotational=bool(disk.rotational),
    )
