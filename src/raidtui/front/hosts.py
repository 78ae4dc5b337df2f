"""The hosts of a scenario: as an operator names them (`clients=root@10.0.0.1,root@10.0.0.2`), and described in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from raidtui.base.text import clean, plural
from raidtui.model.host_view import HostView
from raidtui.model.plan import Plan
from raidtui.model.problem import Refusal, fail
from raidtui.model.units import size_text

HOST: Final = Refusal(
    "host",
    "--host is not valid",
    "--host has the form GROUP=ADDRESS,ADDRESS and may name each group once.",
    "For example: --host clients=root@10.0.0.1,root@10.0.0.2.",
)


def hosts_of(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return ssh destinations by group. Raises ProblemError (`host`)."""
    found: dict[str, tuple[str, ...]] = {}
    for word in words:
        group, equals, rest = word.partition("=")
        names = tuple(dict.fromkeys(name.strip() for name in rest.split(",") if name.strip()))
        if not (group and equals and names) or group in found:
            raise fail(HOST, f"{word[:200]!r} is not GROUP=ADDRESS,ADDRESS, or names a group again", place="--host",
                       remedy=HOST.way_out)  # fmt: skip
        found[group] = names
    return found


def host_words(hosts: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the words that `hosts_of` reads."""
    return [f"{group}={','.join(names)}" for group, names in hosts.items()]


def addresses(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the ssh destinations of a plan's hosts by group."""
    return {group: tuple(host.address for host in found) for group, found in plan.hosts.items()}


def system_words(view: HostView) -> str:
    """`c1, 4 CPUs, 16 GiB of memory, fio 3.39, kernel 6.12`: a narrow screen cuts the end."""
    found = [clean(view.host, 60)]
    found += [plural(view.cpus, "CPU") if view.cpus else ""]
    found += [f"{size_text(view.memory_bytes)} of memory" if view.memory_bytes else ""]
    found += [f"fio {clean(view.fio, 40)}" if view.fio else ""]
    found += [f"kernel {clean(view.kernel, 60)}" if view.kernel else ""]
    return ", ".join(filter(None, found))


def network_lines(view: HostView) -> Iterator[str]:
    """Yield a line for each interface and each RDMA port: speed, driver, MTU, and which one is the link."""
    link = view.link.interface if view.link is not None else ""
    for one in view.networks:
        here = f", {clean(view.own_address, 60)} to storage" if one.name == link else ""
        yield f"{clean(one.name, 40)}: {clean(one.words, 120)}{here}"
    for port in view.rdma:
        on = f" on {clean(port.interface, 40)}" if port.interface else ""
        yield f"RDMA {clean(port.name, 60)}: {clean(port.words, 120)}{on}"
