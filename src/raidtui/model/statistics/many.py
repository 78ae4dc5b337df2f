"""Many comparisons at once: one in twenty would be called different by chance, unless each is judged more strictly."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values, corrected: those below 0.05 are right together in 95 % of cases. S. Holm, Scand. J. Stat. 6 (1979)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    found = [1.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, p_values[index] * (len(order) - place)))
        found[index] = largest
    return found
