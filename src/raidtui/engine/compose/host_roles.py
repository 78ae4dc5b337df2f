"""Roles whose disks are those of other hosts: which hosts have them, and which disks these are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from raidtui.engine.compose.binding import bind, bind_partly
from raidtui.model.disk import Disk, host_of, on_host
from raidtui.model.hosts import HostGroup
from raidtui.model.plan import Host
from raidtui.model.problem import Problem, Refusal, fail
from raidtui.model.refusals import UNKNOWN_ROLE
from raidtui.model.scenario import Node, Role, Scenario
from raidtui.stack.catalog import all_layers

ROLE_HOST: Final = Refusal(
    "role-host",
    "Disks of another host",
    "A layout whose disks are those of other hosts is built on each of these hosts, from its own disks, and loaded there. "
    "One layout cannot have disks of several groups, and is neither exported nor kept for good from there.",
    "Take all disks of the layout from one group of hosts; export what the storage server has.",
)

DisksOn = Callable[[Sequence[Host]], Mapping[str, Sequence[Disk]]]
"""Return the disks of these hosts, by `Host.ref`. Raises ProblemError."""
Said = Mapping[str, Sequence[str]]
"""Names of disks by role; by host and role for disks of other hosts (`model.disk.on_host`)."""


def hosted_roles(roles: Mapping[str, Role], groups: Mapping[str, HostGroup]) -> dict[str, str]:
    """Return the group of hosts of each role whose disks are not the storage server's."""
    return {name: group for name, role in roles.items() if (group := _group(role, groups))}


def group_of(node: Node, roles: Mapping[str, Role], groups: Mapping[str, HostGroup]) -> str:
    """Return the group of hosts on which a layout is built; empty for the storage server."""
    return next((group for role in node.roles() if (group := _group(roles.get(role), groups))), "")


def _group(role: Role | None, groups: Mapping[str, HostGroup]) -> str:
    host = role.host if role is not None else None
    return host if host is not None and host != next(iter(groups), "") else ""


def names_on(role: str, of_hosts: Mapping[str, str], hosts: Mapping[str, Sequence[Host]]) -> tuple[str, ...]:
    """Return the names of a role in a binding: one for each host that has it. `of_hosts`: as `hosted_roles`."""
    if role not in of_hosts:
        return (role,)
    return tuple(on_host(host.ref, role) for host in hosts.get(of_hosts[role], ()))


def mixed(node: Node, scenario: Scenario) -> Iterator[Problem]:
    """Yield what keeps a layout from being built on other hosts, if it has disks there."""
    groups = {role: _group(scenario.roles.get(role), scenario.hosts) for role in node.roles()}
    if len(set(groups.values())) > 1:
        where = ", ".join(f"{role} on {group or 'the storage server'}" for role, group in groups.items())
        text = f"the layout has disks of several hosts ({where})"
        yield ROLE_HOST.problem(text, place=node.place, remedy=ROLE_HOST.way_out)
    elif group := next(iter(groups.values()), ""):
        for layer in (layer for layer in node.walk() if all_layers()[layer.kind].exports):
            text = f"what stands on disks of {group} is not exported from there"
            yield ROLE_HOST.problem(text, place=layer.place, remedy=ROLE_HOST.way_out)


def bind_here(
    roles: Mapping[str, Role], said: Said, disks: Sequence[Disk], wished: Said, of_hosts: Mapping[str, str]
) -> dict[str, tuple[Disk, ...]]:
    """Bind the roles of the storage server (`binding.bind`). Raises ProblemError."""
    if role := next((role for role in said if role in of_hosts), ""):
        raise fail(UNKNOWN_ROLE, f"each host of {of_hosts[role]} has disks of its own for role {role!r}",
                   remedy=f"Name them by host: --bind {of_hosts[role]}-1:{role}=SERIAL")  # fmt: skip
    own = {name: role for name, role in roles.items() if name not in of_hosts}
    return bind(own, {name: found for name, found in said.items() if not host_of(name)}, disks, wished)


def bind_there(
    roles: Mapping[str, Role], said: Said, wished: Said, of_hosts: Mapping[str, str], hosts: Mapping[str, Sequence[Host]],
    disks_on: DisksOn,
) -> dict[str, tuple[Disk, ...]]:  # fmt: skip
    """Bind the roles of other hosts, each host's on its own disks, under the names that they have in plans.

    Raises ProblemError.
    """
    having = {host.ref: host for group in dict.fromkeys(of_hosts.values()) for host in hosts.get(group, ())}
    wanted = {name: roles[role] for role in of_hosts for name in names_on(role, of_hosts, hosts)}
    if strange := next((name for name in said if host_of(name) and name not in wanted), ""):
        raise fail(UNKNOWN_ROLE, f"there is no role {strange!r} to bind", remedy=f"Roles: {', '.join(wanted)}.")
    disks, bound = disks_on(tuple(having.values())), dict[str, tuple[Disk, ...]]()
    for host in having:
        own, named, there = _of_host(host, wanted, said, disks[host])
        bound |= bind(own, named, there, wished)
    return bound


def bind_there_partly(
    roles: Mapping[str, Role], said: Said, wished: Said, of_hosts: Mapping[str, str], hosts: Mapping[str, Sequence[Host]],
    disks: Mapping[str, Sequence[Disk]],
) -> tuple[dict[str, tuple[Disk, ...]], tuple[Problem, ...]]:  # fmt: skip
    """Bind the roles of other hosts as `bind_partly` does, where their disks are known: `disks`, by `Host.ref`."""
    wanted = {name: roles[role] for role in of_hosts for name in names_on(role, of_hosts, hosts)}
    bound: dict[str, tuple[Disk, ...]] = {}
    problems: list[Problem] = []
    for host in dict.fromkeys(host_of(name) for name in wanted if host_of(name) in disks):
        own, named, there = _of_host(host, wanted, said, disks[host])
        found, wrong = bind_partly(own, named, there, wished)
        bound |= found
        # The scenario has the role once, and not for each host.
        problems += (msgspec.structs.replace(one, place=one.place.replace(f".{host}:", ".")) for one in wrong)
    return bound, tuple(problems)


def _of_host(
    host: str, wanted: Mapping[str, Role], said: Said, disks: Sequence[Disk]
) -> tuple[dict[str, Role], dict[str, Sequence[str]], list[Disk]]:
    """Return the roles of a host, the disks named for them, and the host's disks, all under their names in plans."""
    own = {name: role for name, role in wanted.items() if host_of(name) == host}
    named = {name: found for name, found in said.items() if name in own}
    return own, named, [msgspec.structs.replace(disk, id=on_host(host, disk.id)) for disk in disks]
