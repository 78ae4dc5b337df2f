"""The last values of each of many devices: cheap to keep for a thousand, read only where something is drawn."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable


class _Ring:
    """Numbers in a ring; NaN is a gap."""

    __slots__ = ("numbers", "ticks")

    def __init__(self, length: int) -> None:
        self.numbers = array("d", [math.nan]) * length
        self.ticks = 0
        """The tick of the newest number, counted from 1."""


class History:
    """The values of the last `length` ticks by key. What was not pushed in a tick is a gap, and None is one, too."""

    def __init__(self, length: int) -> None:
        if length < 1:
            raise ValueError("a history holds at least one value")
        self.length = length
        self._rings: dict[str, _Ring] = {}
        self._times = array("d", [math.nan]) * length
        self._tick = 0

    def push(self, key: str, value: float | None, at: float) -> None:
        """One value of one device. A new time begins a new tick; values of one tick come with the same time."""
        if self._tick == 0 or at != self._times[self._tick % self.length]:
            self._tick += 1
            self._times[self._tick % self.length] = at
        ring = self._rings.get(key)
        if ring is None:
            ring = self._rings[key] = _Ring(self.length)
        for missed in range(max(ring.ticks + 1, self._tick - self.length + 1), self._tick):
            ring.numbers[missed % self.length] = math.nan
        ring.numbers[self._tick % self.length] = math.nan if value is None else value
        ring.ticks = self._tick

    def values(self, key: str, count: int | None = None) -> list[float | None]:
        """The newest `count` values, oldest first; fewer where fewer ticks were."""
        ring = self._rings.get(key)
        first = self._first(count)
        if ring is None:
            return [None] * (self._tick - first + 1)
        return [self._number(ring, tick) for tick in range(first, self._tick + 1)]

    def points(self, key: str, count: int | None = None) -> list[tuple[float, float | None]]:
        """As `values`, each with its time."""
        first = self._first(count)
        times = (self._times[tick % self.length] for tick in range(first, self._tick + 1))
        return list(zip(times, self.values(key, count), strict=True))

    def latest(self, key: str) -> float | None:
        """The value of the newest tick."""
        ring = self._rings.get(key)
        return None if ring is None else self._number(ring, self._tick)

    def forget_all_but(self, keys: Iterable[str]) -> None:
        """Devices that are gone take no memory."""
        kept = set(keys)
        self._rings = {key: ring for key, ring in self._rings.items() if key in kept}

    def __contains__(self, key: str) -> bool:
        return key in self._rings

    def _first(self, count: int | None) -> int:
        wanted = self.length if count is None else min(count, self.length)
        return max(1, self._tick - wanted + 1)

    def _number(self, ring: _Ring, tick: int) -> float | None:
        if tick > ring.ticks:
            return None
        number = ring.numbers[tick % self.length]
        return None if math.isnan(number) else number
