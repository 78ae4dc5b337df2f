"""Places in files, as problems name them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath

import msgspec

from raidtui.base.text import clean
from raidtui.model.problem import Problem, ProblemError


def short_name(name: str) -> str:
    """A file's name without its folders: it goes into places, and documents travel."""
    return clean(PurePath(name).name or name, 120)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Problems of a document, whose places are paths into it (`$.cells[3]`), tell the file, where its name is known."""
    try:
        yield
    except ProblemError as error:
        raise ProblemError(*(_within(short_name(name), problem) for problem in error.problems)) from None


def _within(name: str, problem: Problem) -> Problem:
    inside = name and problem.place.startswith("$")
    return msgspec.structs.replace(problem, place=f"{name}: {problem.place}") if inside else problem
