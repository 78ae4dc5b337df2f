"""Percentages without signs under words as overhead: less, where the numbers beside them say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from raidtui.results.imports.cells import Row, read_cell
from raidtui.results.imports.heading import Heading
from raidtui.results.imports.row_labels import cell_of
from raidtui.results.imports.tables import Building

_NEAR: Final = 1.5
"""Percentage points."""
_OF_THE_WORKLOAD: Final = ("workload", "block", "iodepth", "numjobs", "fsync", "round")


def losses(headings: Mapping[int, Heading], rows: Sequence[Row], making: Building, place: str) -> dict[int, Heading]:
    """The headings; an overhead that most numbers contradict is one of space or latency, or is counted another way."""
    found = dict(headings)
    for index, heading in headings.items():
        if heading.less and not _confirmed(index, headings, rows):
            making.note(f"{place}: nothing says whether {heading.text!r} is more or less.")
            found[index] = heading._replace(role="ignored")
    return found


def _confirmed(index: int, headings: Mapping[int, Heading], rows: Sequence[Row]) -> bool:
    """Whether at least half of the numbers are less by what stands there than those of the row that loses nothing."""
    labels = [i for i, heading in headings.items() if heading.role in _OF_THE_WORKLOAD]
    rates = [i for i, heading in headings.items() if heading.metric in ("iops", "bandwidth")]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows[1:]:
        groups.setdefault(tuple(cell_of(row, i) for i in labels), []).append(row)
    votes = []
    for group in groups.values():
        whole = next((row for row in group if _number(row, index) == 0), None)
        for row in group:
            lost = _number(row, index)
            if whole is not None and row is not whole and lost is not None:
                kept = [_percent(row, whole, i) for i in rates]
                votes.append(any(one is not None and abs(one - (100 - lost)) <= _NEAR for one in kept))
    return any(votes) and 2 * sum(votes) >= len(votes)


def _percent(row: Row, whole: Row, index: int) -> float | None:
    own, other = _number(row, index), _number(whole, index)
    return 100 * own / other if own is not None and other else None


def _number(row: Row, index: int) -> float | None:
    cell = read_cell(cell_of(row, index))
    return cell.number.value if cell is not None else None
