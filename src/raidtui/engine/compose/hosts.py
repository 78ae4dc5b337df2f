"""Hosts of a scenario: which groups it has, who they are, and what is wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from raidtui.engine.compose.host_roles import group_of, mixed
from raidtui.model.hosts import HostGroup
from raidtui.model.plan import Host, Step
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal
from raidtui.model.refusals import UNKNOWN_NAME
from raidtui.model.scenario import Node, Scenario
from raidtui.stack.catalog import all_actions, all_layers, bind
from raidtui.stack.links import mtu_difference

HOSTS_MISSING: Final = Refusal(
    "hosts-missing",
    "Hosts are not named",
    "The scenario has a group of hosts beside the storage server, and --host does not name as many as it counts.",
    "Name each by the ssh destination that the storage server reaches it by: --host clients=root@10.0.0.1,root@10.0.0.2.",
)
HOST_TWICE: Final = Refusal(
    "host-twice",
    "One host under two names",
    "Two names lead to the same running kernel, or to the storage server itself.",
    "Name every host once.",
)
HOST_NO_LINK: Final = Refusal(
    "host-no-link",
    "The link to a host is not known",
    "The address of the storage server on the link to the host comes from ssh (SSH_CONNECTION), and ssh did not tell it.",
    "Name the host by its own address on that link, without a jump host.",
)
HOST_LINK_LOCAL: Final = Refusal(
    "host-link-local",
    "The link to a host has a link-local address alone",
    "A link-local address of IPv6 (fe80::…) belongs to a link only together with the name of an interface, which another "
    "host does not know: no export can listen on it.",
    "Give both ends of the link addresses of fd00::/8 or of IPv4, and name the host by its own.",
)
HOST_CLOCK: Final = Refusal(
    "host-clock",
    "The clock of a host is wrong",
    "The clocks of the storage server and of the host are far apart, so that the times in their records do not fit.",
    "Set the clocks by the same time server (chrony).",
)
EXPORT_BELOW: Final = Refusal(
    "export-below",
    "Nothing can stand on what other hosts have",
    "The devices of a layer that is exported to other hosts are there, and layers are built on the storage server.",
    "Measure the exported layer itself.",
)
_CLOCKS_APART_S: Final = 60.0

LookAt = Callable[[Mapping[str, Sequence[str]]], Mapping[str, tuple[Host, ...]]]


def clients_of(scenario: Scenario) -> dict[str, int]:
    """Return the number of hosts of each group beside the storage server."""
    return {name: group.count for name, group in list(scenario.hosts.items())[1:]}


def unnamed(groups: Mapping[str, HostGroup]) -> dict[str, tuple[Host, ...]]:
    """Return hosts for a preview, before anybody has named them: their references stand for their addresses."""
    return {
        name: tuple(
            Host(ref, ref, ref, ref, ref, "", ref, f"storage-to-{ref}")
            for ref in (f"{name}-{number}" for number in range(1, group.count + 1))
        )
        for name, group in list(groups.items())[1:]
    }


def host_problems(scenario: Scenario) -> Iterator[Problem]:
    """Layers that are exported to a group that is none, that something stands on, or that have disks of other hosts."""
    known = clients_of(scenario)
    for node in scenario.layouts.values():
        yield from mixed(node, scenario)
        for layer in node.walk():
            group = all_layers()[layer.kind].exported_to(layer.spec)
            if group and group not in known:
                example = 'Add "hosts": {"storage": {}, "clients": {"count": 2}}.'
                remedy = f"Groups: {', '.join(known)}." if known else example
                text = f"there is no group of hosts {group!r} beside the storage server"
                yield UNKNOWN_NAME.problem(text, place=f"{layer.place}.to", remedy=remedy)
            if group and layer is not node:
                text = f"a {node.kind} cannot stand on the {layer.kind} below it, whose devices are those of {group}"
                yield EXPORT_BELOW.problem(text, place=layer.place, remedy=EXPORT_BELOW.way_out)


def lacking_here(layouts: Iterable[Node]) -> Iterator[Problem]:
    """Yield what this server lacks for these layouts, as the kernel shows it now."""
    for layout in layouts:
        for node in layout.walk():
            yield from all_layers()[node.kind].lacking_here(node.spec, node.place)


def in_the_way(steps: Iterable[Step]) -> Iterator[Problem]:
    """Yield what on this server keeps steps of a plan from being done, as the kernel shows it now."""
    for step in steps:
        if step.phase in ("build", "keep") and not step.host and step.action in all_actions():
            yield from bind(step.action, step.args).in_the_way()


def mtu_warnings(hosts: Mapping[str, Sequence[Host]]) -> Iterator[str]:
    """Yield a warning about each link whose ends have different MTUs: TCP takes the smaller one."""
    for host in (host for group in hosts.values() for host in group):
        if text := mtu_difference(host):
            yield f"{text[0].upper()}{text[1:]}: TCP sends packets of the smaller one."


def find_hosts(
    scenario: Scenario, layouts: Iterable[Node], said: Mapping[str, Sequence[str]], look_at: LookAt,
    storage: tuple[str, str] = ("", ""),
) -> Mapping[str, tuple[Host, ...]]:  # fmt: skip
    """Return the hosts of every group that one of these layouts is exported to, or built on. Raises ProblemError.

    `storage`: boot id and machine id of the storage server, which is none of them.
    """
    known = clients_of(scenario)
    if strange := [group for group in said if group not in known]:
        remedy = f"Groups: {', '.join(known) or 'none'}."
        raise ProblemError(UNKNOWN_NAME.problem(f"there is no group of hosts {strange[0]!r} to name", place="--host",
                                                remedy=remedy))  # fmt: skip
    layouts = list(layouts)
    used = {all_layers()[layer.kind].exported_to(layer.spec) for node in layouts for layer in node.walk()}
    used |= {group_of(node, scenario.roles, scenario.hosts) for node in layouts}
    wanted = {group: count for group, count in known.items() if group in used}
    if problems := [
        HOSTS_MISSING.problem(f"{group} has {count} hosts, and --host names {named}", place=f"--host {group}",
                              remedy=HOSTS_MISSING.way_out)
        for group, count in wanted.items() if (named := len(said.get(group, ()))) != count
    ]:  # fmt: skip
        raise ProblemError(*problems)
    if not wanted:
        return {}
    found = look_at({group: said[group] for group in wanted})
    if problems := list(_wrong([host for group in found.values() for host in group], storage)):
        raise ProblemError(*problems)
    return found


def _wrong(hosts: Sequence[Host], storage: tuple[str, str]) -> Iterator[Problem]:
    # A boot id is shared by machines that were started from one snapshot, a machine id by copies of one installation.
    for kernel, times in Counter((host.boot_id, host.machine_id) for host in hosts).items():
        if times > 1:
            names = ", ".join(f"{host.ref} ({host.address})" for host in hosts if (host.boot_id, host.machine_id) == kernel)
            yield HOST_TWICE.problem(f"{names} are one host", exit=Exit.REFUSED, remedy=HOST_TWICE.way_out)
    for host in hosts:
        if (host.boot_id, host.machine_id) == storage:
            text = f"{host.ref} ({host.address}) is the storage server"
            yield HOST_TWICE.problem(text, exit=Exit.REFUSED, remedy=HOST_TWICE.way_out)
        if not host.storage_address:
            yield HOST_NO_LINK.problem(f"ssh to {host.address} did not tell the addresses of the link", place=host.ref,
                                       exit=Exit.REFUSED, remedy=HOST_NO_LINK.way_out)  # fmt: skip
        elif host.storage_address.lower().startswith("fe80:"):
            text = f"the storage server is {host.storage_address} to {host.ref}, which is valid on one link alone"
            yield HOST_LINK_LOCAL.problem(text, place=host.ref, exit=Exit.REFUSED, remedy=HOST_LINK_LOCAL.way_out)
        if abs(host.clock_difference_s) > _CLOCKS_APART_S:
            text = f"the clock of {host.ref} is {host.clock_difference_s:+.0f} s from that of the storage server"
            yield HOST_CLOCK.problem(text, place=host.ref, exit=Exit.REFUSED, remedy=HOST_CLOCK.way_out)
