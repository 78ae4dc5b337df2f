"""Read a role of a scenario."""

from __future__ import annotations

from typing import Any, Final

from raidtui.model.convert import decode
from raidtui.model.problem import Problem, ProblemError, Refusal
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
