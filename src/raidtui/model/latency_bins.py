"""Latency distributions in six bins a decade: few enough to be sent and drawn every second while a workload runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

Bins = dict[int, int]
"""Operations by the lower edge of their bin in ns."""
_STEPS: Final = (70, 50, 30, 20, 15, 10)


def edge(ns: int) -> int:
    """Return the lower edge of the bin that a latency falls into: 10, 15, 20, 30, 50 or 70 ns, or a power of ten more."""
    if ns < _STEPS[-1]:
        return 0
    power: int = 10 ** (len(str(ns)) - 2)
    return next(step * power for step in _STEPS if step * power <= ns)


def edges(first: int, last: int) -> list[int]:
    """Return all edges from one to another, both included."""
    found = [first]
    while found[-1] < last:
        found.append(_after(found[-1]))
    return found


def _after(edge_ns: int) -> int:
    if not edge_ns:
        return _STEPS[-1]
    power: int = 10 ** (len(str(edge_ns)) - 2)
    return min((step * power for step in _STEPS if step * power > edge_ns), default=_STEPS[-1] * power * 10)


def binned(operations: Iterable[tuple[int, int]]) -> Bins:
    """Return counts of latencies in ns, or of narrower bins by their middles, in these bins."""
    found: Bins = {}
    for ns, count in operations:
        if count > 0:
            at = edge(ns)
            found[at] = found.get(at, 0) + count
    return found


def add(total: Bins, more: Mapping[int, int]) -> None:
    """Add counts to those that are there."""
    for at, count in more.items():
        total[at] = total.get(at, 0) + count


def median_bin(bins: Mapping[int, int]) -> int | None:
    """Return the bin in which the median is; None without operations."""
    half, seen = sum(bins.values()) / 2, 0
    for at in sorted(bins):
        seen += bins[at]
        if seen >= half and seen:
            return at
    return None
