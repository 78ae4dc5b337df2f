"""The hosts of a scenario, as an operator names them: `clients=root@10.0.0.1,root@10.0.0.2`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from raidtui.model.plan import Plan
from raidtui.model.problem import Refusal, fail

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
