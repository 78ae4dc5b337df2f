"""The interface of a check of a cell: a module of this package with an object `CHECK`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark, Weight


class Meaning(NamedTuple):
    """One code: how grave it is, and what `raidtui explain` says of it."""

    code: str
    weight: Weight
    title: str
    why: str
    """Reason why the number is misleading."""
    way_out: str

    def mark(self, sentence: str, *, about: str = "", at_s: float | None = None) -> Mark:
        """This, as it was seen of one cell."""
        return Mark(self.code, sentence, self.weight, about, at_s)


class Check(NamedTuple):
    """One question that is asked of every cell. `find` is pure, and yields nothing where it cannot know."""

    find: Callable[[Evidence], Iterable[Mark]]
    meanings: tuple[Meaning, ...]
    """All findings that the check may report."""
    rank: int = 50
    """Causes before what follows from them: marks of one weight come by rank, then by the name of the check."""
