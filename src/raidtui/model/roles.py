"""Read a role of a scenario, and compare roles with the hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from raidtui.model.convert import decode
from raidtui.model.hosts import HostGroup
from raidtui.model.problem import Problem, ProblemError, Refusal
from raidtui.model.refusals import UNKNOWN_NAME
from raidtui.model.scenario import Role

ROLE_IMPOSSIBLE: Final = Refusal(
    "role-impossible",
    "A role that no disk can fit",
    "The conditions of the role contradict each other.",
    "Remove one of the conditions.",
)


def read_role(value: Any, place: str) -> Role:
    """Read a role. Raises ProblemError, also (`role-impossible`) for conditions that no disk can meet."""
    role = decode(Role, value, place)
    remedy = "Take it out, or the condition that it contradicts."
    if wrong := [
        Problem(ROLE_IMPOSSIBLE.code, text, f"{place}.where.{name}", remedy, exit=2)
        for name, text in role.where.contradictions()
    ]:
        raise ProblemError(*wrong)
    return role


def strange_hosts(roles: Mapping[str, Role], hosts: Mapping[str, HostGroup], place: str) -> Iterator[Problem]:
    """Yield the problems of roles whose disks are those of hosts that the scenario does not have."""
    for name, role in roles.items():
        if role.host is not None and role.host not in hosts:
            text, remedy = f"there is no group of hosts {role.host!r}", f"Groups: {', '.join(hosts) or 'none'}."
            yield UNKNOWN_NAME.problem(text, place=f"{place}.{name}.host", remedy=remedy)
