"""Reading of result files from unknown sources: bounded, strict, and with errors that name the place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Final

import msgspec

from raidtui.base.text import clean
from raidtui.model.convert import decode, in_words
from raidtui.model.jsonio import MAX_RESULT_BYTES, read_json
from raidtui.model.problem import Problem, ProblemError, Refusal, fail
from raidtui.model.refusals import SCHEMA
from raidtui.model.result import RESULT_SCHEMA, Result
from raidtui.model.type_info import ready


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


NOT_A_RESULT: Final = Refusal(
    "not-a-result",
    "Not a result file",
    "The file is not a result of raidtui, or was written by a newer version.",
    "Name a *.result.json file, as `raidtui replay -o` and `raidtui import` write it.",
)


class _Head(msgspec.Struct, frozen=True):
    schema: str


def read_result(data: bytes, name: str = "") -> Result:
    """The result in `data`. Raises ProblemError (`json`, `schema`, `not-a-result`) naming file and place."""
    with named(name):
        value = read_json(data, max_bytes=MAX_RESULT_BYTES)
        head = decode(_Head, value, document="result")
        if head.schema != RESULT_SCHEMA:
            raise fail(
                NOT_A_RESULT,
                f"{head.schema[:80]!r} is not {RESULT_SCHEMA!r}",
                place="$.schema",
                remedy="Results are what `raidtui replay` leaves; `raidtui compare` and `raidtui lint` read tables, too.",
            )
        try:
            return msgspec.convert(value, ready(Result))
        except msgspec.ValidationError as error:
            message, place = in_words(error)
            raise fail(SCHEMA, message, place=place,
                       remedy="`raidtui schema result` prints what may stand there.") from None  # fmt: skip
