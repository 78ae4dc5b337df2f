"""CPU cores that storage took under each workload, and what each of these cores carried."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Final

from raidtui.base.text import clean
from raidtui.results.comparison import Comparison, Entry
from raidtui.results.rates import NOTHING, Unit, rate_text

TITLE: Final = "CPU cores of storage"
HEADS: Final = ("layout", "workload", "cores", "for each core")
ABOUT: Final = (
    "cores: all that were busy on the server, without the workload in user mode, raidtui itself and processes outside of "
    "the run; means of the valid rounds"
)


def cores_of(entry: Entry) -> float | None:
    """Return the mean number of cores over the valid rounds; None if none of them knows it."""
    known = [point.storage_cores for point in entry.points if point.valid and point.storage_cores is not None]
    return fmean(known) if known else None


def core_lines(comparison: Comparison) -> Iterator[tuple[str, ...]]:
    """Yield a line in the order of `HEADS` for each layout and workload with known cores."""
    for row in comparison.rows:
        for workload, unit, entry in zip(comparison.workloads, comparison.units, row.entries, strict=True):
            if entry is not None and (cores := cores_of(entry)) is not None:
                yield clean(row.label), clean(workload), f"{cores:.2f}", _per_core(entry.typical, cores, unit)


def _per_core(rate: float | None, cores: float, unit: Unit) -> str:
    """Return the rate of one core; a dash where it cannot be told: the kernel counts hundredths of a second."""
    if rate is None or unit == "%" or cores < 0.01:
        return NOTHING
    return f"{rate_text(rate / cores, unit)} {unit}"
