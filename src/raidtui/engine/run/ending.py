"""The end of a run: its exit code and problems, gathered on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raidtui.model.problem import Exit, Problem
from raidtui.model.refusals import CANCELLED

_WORST_FIRST: Final = (Exit.REFUSED, Exit.LEFT_BEHIND, Exit.CANCELLED, Exit.BUILD_FAILED, Exit.INVALID)


class Ending:
    """Exit codes and problems so far."""

    def __init__(self) -> None:
        self.exits: set[Exit] = set()
        self.problems: list[Problem] = []

    def failed(self, code: Exit, problems: Sequence[Problem]) -> None:
        """Note problems that make the run end with this code, or as cancelled if the first one says so."""
        cancelled = any(problem.code == CANCELLED.code for problem in problems[:1])
        self.exits.add(Exit.CANCELLED if cancelled else code)
        self.problems += [problem for problem in problems if problem not in self.problems]

    @property
    def exit(self) -> Exit:
        return next((code for code in _WORST_FIRST if code in self.exits), Exit.DONE)
