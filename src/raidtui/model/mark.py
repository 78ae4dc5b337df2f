"""Marks: what must be known of a cell before its number is believed. Each has a code that `raidtui explain` knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

Weight = Literal["invalid", "caution", "limit"]
"""`invalid`: the number is not a result. `caution`: it stands, with this beside it. `limit`: this is what limited it."""
WEIGHTS: Final[tuple[Weight, ...]] = ("invalid", "caution", "limit")
"""The gravest first."""


class Mark(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One thing that was seen of one cell. `code` is stable; `sentence` is for people and may change."""

    code: str
    sentence: str
    weight: Weight = "invalid"
    about: str = ""
    """Object in the form that programs look up: a disk's id, a kernel thread."""
    at_s: float | None = None
    """Start in seconds since the start of the cell; None if it applies to the whole cell."""


def gravest_first(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Return each mark once, by weight; marks of one weight stay in their order."""
    return tuple(sorted(dict.fromkeys(marks), key=lambda mark: WEIGHTS.index(mark.weight)))


def of_weight(marks: Iterable[Mark], weight: Weight) -> Iterator[Mark]:
    return (mark for mark in marks if mark.weight == weight)


class Coded(str):
    """A sentence that knows its code: what layers and tools say of themselves."""

    code: str

    def __new__(cls, code: str, sentence: str) -> Coded:
        made = super().__new__(cls, sentence)
        made.code = code
        return made


def mark_of(sentence: str, otherwise: str) -> Mark:
    """An invalid mark with the sentence's own code, or that of its kind where it has none."""
    return Mark(sentence.code if isinstance(sentence, Coded) else otherwise, str(sentence))
