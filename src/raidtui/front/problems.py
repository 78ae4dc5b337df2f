"""Convert problems to sentences and to JSON."""

from __future__ import annotations

from collections.abc import Sequence

from raidtui.base.text import clean, clean_lines
from raidtui.model.convert import plain
from raidtui.model.problem import Exit, Problem

PROBLEMS_SCHEMA = "raidtui.problems/1"

_KIND = {
    Exit.REFUSED: "refused",
    Exit.BUILD_FAILED: "build failed",
    Exit.INVALID: "invalid",
    Exit.LEFT_BEHIND: "left behind",
    Exit.CANCELLED: "cancelled",
}


def sentence(problem: Problem) -> str:
    """`refused: disk S1: mounted on /srv. [mounted]` and, below it, the way out."""
    kind = _KIND.get(Exit(problem.exit), "error") if problem.exit in set(Exit) else "error"
    place = f"{clean(problem.place)}: " if problem.place else ""
    first, *more = clean_lines(problem.message).splitlines() or [""]
    lines = [f"{kind}: {place}{first} [{clean(problem.code)}]", *(f"  {line}" for line in more)]
    if problem.remedy:
        lines += [f"  → {line}" for line in clean_lines(problem.remedy).splitlines()]
    return "\n".join(lines)


def problems_document(problems: Sequence[Problem]) -> dict[str, object]:
    """The JSON form of problems."""
    return {"schema": PROBLEMS_SCHEMA, "exit": problems[0].exit, "problems": plain(tuple(problems))}
