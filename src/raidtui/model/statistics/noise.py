"""The noise floor: how far two measurements of one and the same thing were apart."""

from __future__ import annotations

import math
from collections.abc import Iterable

_MANY = 20


def noise_floor(pairs: Iterable[tuple[float, float]]) -> float | None:
    """A share (0.02 is 2 %) that A/A pairs, the same thing measured twice, did not exceed; None without pairs.

    Of twenty pairs or more, one in twenty may be further apart.
    """
    apart = sorted(abs(math.log(b / a)) for a, b in pairs if a > 0 and b > 0)
    if not apart:
        return None
    place = len(apart) - 1 if len(apart) < _MANY else math.ceil(0.95 * len(apart)) - 1
    return math.expm1(apart[place])
