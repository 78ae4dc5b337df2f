"""The knee of a curve of throughput against load.

Jain (The Art of Computer Systems Performance Analysis, 1991) calls knee the point beyond which more load brings little
throughput but much response time. Ours is a rule of one sentence: the knee is the fewest operations in
flight with at least 90 % of the curve's best rate. Finders of the largest curvature (Kneedle: Satopää et al., 2011) place
it elsewhere on a logarithmic axis than on a linear one, and a single slow point can move them; measurements that scatter by
less than the margin of 10 % hardly move ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

ENOUGH: Final = 0.9
"""Share of the best rate."""
FEWEST: Final = 3
"""Different loads that a curve needs before its knee is looked for."""


def knee_of(curve: Sequence[tuple[int, float]]) -> int | None:
    """Return the place of the knee in a curve of (operations in flight, rate); of equal loads the fastest one.

    None where only the largest load reaches so much, so that the rate may still rise, and where loads are too few.
    """
    loads = {load for load, _ in curve}
    best = max((rate for _, rate in curve), default=0.0)
    if len(loads) < FEWEST or best <= 0:
        return None
    enough = [place for place, (_, rate) in enumerate(curve) if rate >= ENOUGH * best]
    found = min(enough, key=lambda place: (curve[place][0], -curve[place][1]))
    return found if curve[found][0] < max(loads) else None
