"""Block sizes that nobody wrote down, but nearly all numbers of a kind agree on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.model.table import Figure, Table
from raidtui.results.lint.cells import SLACK, CellKey, base, by_cell, of_metric
from raidtui.results.published import Interval

FEWEST: Final = 3
"""So many cells of a kind must agree, for each one that does not."""
_SMALLEST, _LARGEST = 512, 16 << 20


def implied_sizes(table: Table, said: Mapping[str, object]) -> dict[CellKey, int]:
    """Bytes of an operation, for cells that moved no possible block with each one, where all others of their kind did.

    It is what these moved. A kind is a direction and an order: all random reads. `said` has the sizes of workloads that
    say theirs.
    """
    kinds: dict[tuple[object, ...], dict[CellKey, int | None]] = {}
    for key, figures in by_cell(table).items() if table.kind == "published" else ():
        asked = table.workloads[key.workload]
        moved = None if said.get(key.workload) or asked.pattern is None or asked.random is None else _moved(figures)
        if moved is not None:
            kinds.setdefault((asked.pattern, asked.random, key.direction), {})[key] = _size_in(moved)
    found: dict[CellKey, int] = {}
    for cells in kinds.values():
        sizes = {size for size in cells.values() if size is not None}
        odd = [key for key, size in cells.items() if size is None]
        if len(sizes) == 1 and len(cells) - len(odd) >= FEWEST * len(odd):
            found |= dict.fromkeys(odd, *sizes)
    return found


def _moved(figures: list[Figure]) -> Interval | None:
    """Bytes that each operation of a cell moved; None where it is not told by one line."""
    operations, rates = list(of_metric(figures, "iops")), list(of_metric(figures, "bandwidth"))
    if len(operations) != 1 or len(rates) != 1 or operations[0].place != rates[0].place:
        return None
    return base(rates[0]).over(base(operations[0]))


def _size_in(moved: Interval) -> int | None:
    """The power of two that an operation may have moved."""
    size = _SMALLEST
    while size <= _LARGEST:
        if moved.gap(Interval(size * (1 - SLACK), size * (1 + SLACK))) == 0:
            return size
        size *= 2
    return None
