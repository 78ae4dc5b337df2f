"""Operations as 180.400 and 45.100, where the bandwidths beside them say that these points group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from raidtui.model.table import RATE_UNITS, Asked, Figure

_GROUPS: Final = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_NEAR: Final = 0.02


def regrouped(figures: Sequence[Figure], workloads: dict[str, Asked]) -> list[Figure]:
    """The figures, with such operations times a thousand where every bandwidth agrees with that."""
    rates = {_cell(f): f.value * RATE_UNITS[f.unit] for f in figures if f.metric == "bandwidth"}
    written = [f for f in figures if _is_grouped(f)]
    known = [
        (f.value * 1000 * size, rate)
        for f in written
        if (size := workloads[f.workload].block_bytes) and (rate := rates.get(_cell(f)))
    ]
    if not known or any(abs(counted / rate - 1) > _NEAR for counted, rate in known):
        return list(figures)
    return [
        replace(f, value=float(f.text.replace(".", "")), text=f.text.replace(".", "")) if _is_grouped(f) else f
        for f in figures
    ]


def _is_grouped(figure: Figure) -> bool:
    return figure.metric == "iops" and _GROUPS.fullmatch(figure.text) is not None


def _cell(figure: Figure) -> tuple[str, str, int, str]:
    return figure.layout, figure.workload, figure.round, figure.direction
