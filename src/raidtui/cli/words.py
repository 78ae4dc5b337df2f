"""The one place where problems become sentences."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from raidtui.base.text import clean, clean_lines
from raidtui.cli.screen import json_text
from raidtui.model.convert import plain
from raidtui.model.problem import Exit, Problem, ProblemError

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


def report(error: ProblemError, *, as_json: bool, explain_on: str = "") -> int:
    """Say what went wrong and give the exit code: as sentences on stderr, and as JSON on stdout where that was asked."""
    if as_json:
        # One line, so that it also fits at the end of a stream of events.
        print(json_text(problems_document(error.problems)), flush=True)
    for problem in error.problems:
        print(sentence(problem), file=sys.stderr)
    if any(problem.exit != Exit.USAGE for problem in error.problems):
        on = f" --on {clean(explain_on)}" if explain_on else ""
        print(f"`raidtui{on} explain {clean(error.problems[0].code)}` says more.", file=sys.stderr)
    return int(error.exit)


def problems_document(problems: Sequence[Problem]) -> dict[str, object]:
    """The JSON form of problems."""
    return {"schema": PROBLEMS_SCHEMA, "exit": problems[0].exit, "problems": plain(tuple(problems))}
