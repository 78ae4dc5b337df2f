"""Keep a long time in bounded memory: what is long ago in less detail, and all of it in the same. A pure function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_FREED = 8
"""At least so many parts of the whole are freed at once: thinning out is rare."""


def thinned(items: list[T], span_s: Callable[[T], float], joined: Callable[[T, T], T | None]) -> list[T]:
    """The same with neighbours of the older half made one, the shortest first. `joined` is None where two stay two."""
    half = len(items) // 2
    older, newer = items[:half], items[half:]
    goal = half - len(items) // _FREED
    longest_s = 2 * min(map(span_s, older), default=0.0) or 1.0
    total_s = sum(map(span_s, older))
    while len(older) > goal and longest_s <= 2 * total_s:
        older = _pairs(older, span_s, joined, longest_s, len(older) - goal)
        longest_s *= 2
    return [*(older if len(older) <= goal else older[len(older) - goal :]), *newer]


def _pairs(
    items: list[T], span_s: Callable[[T], float], joined: Callable[[T, T], T | None], longest_s: float, most: int
) -> list[T]:
    """Neighbours that together are no longer than `longest_s` made one, at most `most` times, from the oldest on."""
    found: list[T] = []
    index = 0
    while index < len(items):
        item = items[index]
        index += 1
        if most and index < len(items) and span_s(item) + span_s(items[index]) <= longest_s * 1.2:
            both = joined(item, items[index])
            if both is not None:
                item = both
                index += 1
                most -= 1
        found.append(item)
    return found
