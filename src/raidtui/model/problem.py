"""Problems as data: a code, the place, the facts and the way out. `front/phrases.py` turns them into sentences."""

from __future__ import annotations

import traceback
from enum import IntEnum
from types import MappingProxyType
from typing import Final

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

    @property
    def words(self) -> str:
        """The outcome as results have it: `done`, `build failed`, `left behind`, …"""
        return self.name.lower().replace("_", " ")


_REFUSALS: Final[dict[str, Refusal]] = {}


class Refusal:
    """One kind of problem, defined once, in the module that finds it; `raidtui explain` prints these texts.

    Every refusal is remembered by its code, so that `explain` knows all codes of the modules that are loaded.
    """

    def __init__(self, code: str, title: str, why: str, way_out: str) -> None:
        if code in _REFUSALS:
            raise ValueError(f"the problem code {code} is defined twice")
        self.code, self.title, self.why, self.way_out = code, title, why, way_out
        _REFUSALS[code] = self

    def problem(self, message: str, *, place: str = "", remedy: str = "", exit: Exit = Exit.USAGE) -> Problem:
        return Problem(self.code, message, place, remedy, int(exit))

    def __repr__(self) -> str:
        return f"Refusal({self.code!r})"


REFUSALS: Final = MappingProxyType(_REFUSALS)
"""Refusals that were defined so far, by code. Complete once the packages that define them are imported."""


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong. `code` is stable and known to `raidtui explain`."""

    code: str
    message: str
    place: str = ""
    """Object of the problem: a path into a file (`$.layouts.raid5.md.chunk`), a disk, a step."""
    remedy: str = ""
    exit: int = int(Exit.BUG)


class Problems(msgspec.Struct, frozen=True):
    """Output of a command with --json if it fails."""

    schema: str
    """`raidtui.problems/1`"""
    exit: int
    """Exit code of the command."""
    problems: tuple[Problem, ...]


class ProblemError(Exception):
    """Carries one or more problems to the boundary that shows them."""

    commands: tuple[tuple[str, ...], ...] = ()
    """Commands that had run before the failure, as far as known."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(f"{p.place}: {p.message}" if p.place else p.message for p in problems))
        self.problems = problems

    @property
    def exit(self) -> Exit:
        return Exit(self.problems[0].exit)


BUG: Final = Refusal(
    "bug", "A bug", "An error occurred that raidtui does not handle.", "Report it with the text that was shown."
)


def bug(error: BaseException, place: str = "") -> Problem:
    """Return the problem of an unforeseen error, with the end of its traceback."""
    text = "".join(traceback.format_exception(error))
    return BUG.problem(f"{type(error).__name__}: {error}", place=place, remedy=text[-4000:], exit=Exit.BUG)


def fail(refusal: Refusal, message: str, *, place: str = "", remedy: str = "", exit: Exit = Exit.USAGE) -> ProblemError:
    """Return a ProblemError with one problem, for the caller to raise."""
    return ProblemError(refusal.problem(message, place=place, remedy=remedy, exit=exit))
