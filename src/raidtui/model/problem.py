"""What went wrong, as data: a code, where, the facts, the way out. Turned into words in one place (`cli/words.py`)."""

from __future__ import annotations

import traceback
from enum import IntEnum

import msgspec


class Exit(IntEnum):
    """Exit codes; scripts rely on them."""

    DONE = 0
    BUG = 1
    USAGE = 2
    REFUSED = 3
    BUILD_FAILED = 4
    INVALID = 5
    LEFT_BEHIND = 6
    CANCELLED = 130


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong. `code` is stable and known to `raidtui explain`."""

    code: str
    message: str
    place: str = ""
    """Where: a path into a file (`$.layouts.raid5.md.chunk`), a disk, a step."""
    remedy: str = ""
    exit: int = int(Exit.BUG)


class ProblemError(Exception):
    """Carries one or more problems to the boundary that shows them."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(f"{p.place}: {p.message}" if p.place else p.message for p in problems))
        self.problems = problems

    @property
    def exit(self) -> Exit:
        return Exit(self.problems[0].exit)


def bug(error: BaseException, place: str = "") -> Problem:
    """An error that nobody foresaw, with the end of its traceback."""
    text = "".join(traceback.format_exception(error))
    return Problem("bug", f"{type(error).__name__}: {error}", place, text[-4000:], int(Exit.BUG))


def fail(code: str, message: str, *, place: str = "", remedy: str = "", exit: Exit = Exit.USAGE) -> ProblemError:
    """A ProblemError with one problem, to be raised by the caller."""
    return ProblemError(Problem(code, message, place, remedy, int(exit)))
