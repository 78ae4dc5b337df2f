"""What a reader of several results must know of them: each thing once, with the results that it is said of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from raidtui.model.result import NOT_PRECONDITIONED
from raidtui.results.facts import PRECONDITIONING

if TYPE_CHECKING:
    from raidtui.results.extract import Extract, Point

_MOST = 8
"""Different values that are listed."""

_LIKENESS = (
    ("on different servers", "server"),
    ("under different kernels", "kernel"),
    ("with different versions of fio", "tool fio"),
    ("on different disks", "disks"),
    ("with and without waiting for a steady state", "steady state"),
    ("on disks in different states", PRECONDITIONING),
)


def notes_on(extracts: Sequence[Extract]) -> list[str]:
    """Sentences about what makes numbers of these results unlike each other."""
    said: dict[tuple[str, str], list[int]] = {}
    for number, one in enumerate(extracts, 1):
        for sentences in _of(one):
            said.setdefault(sentences, []).append(number)
    several = len(extracts) > 1
    notes = [
        (one if len(numbers) == 1 else many).replace("WHO", _who(numbers) if several else "this result", 1)
        for (one, many), numbers in said.items()
    ]
    return [*notes, *_twice(extracts), *_unlike(extracts)]


def _twice(extracts: Sequence[Extract]) -> Iterator[str]:
    """Runs that were given more than once: a run agrees with itself, whatever it measured."""
    given: dict[str, list[int]] = {}
    for number, one in enumerate(extracts, 1):
        if not one.imported:
            given.setdefault(one.run, []).append(number)
    for run, numbers in given.items():
        if len(numbers) > 1:
            yield f"{_who(numbers)} are one and the same run: {run}"


def _of(one: Extract) -> Iterator[tuple[str, str]]:
    """Each sentence for one result, and for several, with WHO for what it is said of."""
    if one.imported:
        yield (
            "WHO is a table: nothing but its numbers tells how they were measured",
            "WHO are tables: nothing but their numbers tells how they were measured",
        )
    for note in one.notes:
        yield _same(f"WHO: {note}")
    if one.rehearsal:
        yield (
            "WHO is a rehearsal (--quick): good for trying, not for comparing",
            "WHO are rehearsals (--quick): good for trying, not for comparing",
        )
    if not one.complete:
        yield (
            "WHO is not complete: not every planned cell was measured",
            "WHO are not complete: not every planned cell was measured",
        )
    if not one.imported and one.points and one.points[0].cell is None:
        yield _same("of WHO the index's numbers are compared: no percentiles over all rounds, no charts over time; "
                    "fewer results are read whole")  # fmt: skip
    if not one.imported and len(set(map(_which, one.points))) < len(one.points):
        yield _same("in WHO some cells are there more than once: there were fewer rounds than are counted")
    if one.facts.get("policy order") == "grouped" and any(point.round > 1 for point in one.points):
        yield _same("in WHO all rounds of a layout share one build (order grouped): "
                    "what that build was like by chance is in every round")  # fmt: skip
    if (state := one.facts.get(PRECONDITIONING, NOT_PRECONDITIONED)) != NOT_PRECONDITIONED:
        yield _same(f"disks of WHO: {state}")


def _which(point: Point) -> tuple[str, str, str, int, bool]:
    """What a result has one cell of."""
    return point.layout, point.part, point.workload, point.round, point.again


def _same(sentence: str) -> tuple[str, str]:
    return sentence, sentence


def _who(numbers: Sequence[int]) -> str:
    """`result 3`, `results 1-4, 7`."""
    runs = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        found = [number for _, number in run]
        runs.append(f"{found[0]}-{found[-1]}" if len(found) > 1 else f"{found[0]}")
    return f"result{'s' if len(numbers) > 1 else ''} {', '.join(runs)}"


def _unlike(extracts: Sequence[Extract]) -> Iterator[str]:
    for what, fact in _LIKENESS:
        found = list(dict.fromkeys(value for one in extracts if (value := one.facts.get(fact))))
        if len(found) > 1:
            shown = [*found[:_MOST], f"and {len(found) - _MOST} more"] if len(found) > _MOST + 1 else found
            yield f"measured {what}: {'; '.join(shown)}"
