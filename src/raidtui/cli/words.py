"""Problems at the end of a command: sentences on stderr, JSON on stdout, and the exit code."""

from __future__ import annotations

import sys

from raidtui.base.text import clean
from raidtui.cli.screen import json_text
from raidtui.front.words import problems_document, sentence
from raidtui.model.problem import Exit, ProblemError


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
