"""Marks that the layers of a built layout set on a cell: what they say before and after it, and what surrounds them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

from raidtui.engine.validity.incidents import UNHEALTHY
from raidtui.model.mark import Mark, mark_of
from raidtui.stack.action import BoundAction
from raidtui.stack.context import Context


def unhealthy(built: Iterable[BoundAction], context: Context, others: Iterable[str]) -> tuple[Mark, ...]:
    """Return the marks for layers that are unhealthy now. `others`: what other hosts say of theirs."""
    own = itertools.chain.from_iterable(action.health(context) for action in built)
    return tuple(mark_of(sentence, UNHEALTHY.code) for sentence in (*own, *others))


def daemons_up(built: Iterable[BoundAction], context: Context) -> dict[str, int]:
    """Return how many daemons of the layers' clusters are up, by kind."""
    found: dict[str, int] = {}
    for kinds in (action.daemons(context) for action in built):
        for kind, count in kinds.items():
            found[kind] = found.get(kind, 0) + count
    return found


def watching(built: Sequence[BoundAction], context: Context) -> Callable[[], tuple[Mark, ...]]:
    """Begin to watch what surrounds the layers; the returned function ends it, and returns the marks."""
    begun = [action.watch(context) for action in built]
    return lambda: tuple(mark for ended in begun for mark in ended())
