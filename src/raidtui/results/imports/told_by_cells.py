"""What the headings of a plain table leave open and its cells tell: units, signs, whether a word names or counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from raidtui.model.table import TIME_UNITS
from raidtui.results.imports.cells import Cell, Row, read_cell
from raidtui.results.imports.heading import Heading
from raidtui.results.imports.headings import residual
from raidtui.results.imports.row_labels import cell_of
from raidtui.results.imports.table_columns import asked, plain
from raidtui.results.imports.tables import Building

_LARGEST_FRACTION: Final = 20.0
"""A layout is not more than so many times as fast as another one that it stands beside."""
_VERSUS: Final = re.compile(r"(.+?)\s+(?:vs\.?|versus)\s+(.+)", re.IGNORECASE)


def settled(heading: Heading, index: int, rows: Sequence[Row], making: Building, name: str) -> Heading:
    """The heading with its unit, or one that is not read, which is noted. The first row has the headings."""
    place = f"{name}:{rows[0].line}"
    return _signed(index, _timed(index, heading, rows, making, place), rows, making, place)


def told_by_cells(heading: Heading, index: int, rows: Sequence[Row]) -> Heading:
    """What only the cells tell: a layout called Baseline from names of baselines, `a vs b` in percent from a label."""
    both = _VERSUS.fullmatch(heading.text) if heading.role == "unknown" else None
    if heading.role != "baseline" and both is None:
        return heading
    cells = list(_numbers(index, rows))
    if both is not None and cells and all(cell.unit == "%" for cell in cells):
        return Heading("share", heading.text, "share", "%", of=both.group(2), other=both.group(1))
    return heading._replace(role="unknown") if both is None and cells else heading


def shares_told_apart(headings: Mapping[int, Heading], rows: Sequence[Row]) -> dict[int, Heading]:
    """The headings, where a percentage of nobody knows what is not read: its words name neither a layout nor a workload."""
    named = {plain(name) for one in headings.values() if not one.words for name in (one.text, residual(one.text))}
    layouts = [i for i, heading in headings.items() if heading.role == "layout"]
    baselines = {plain(cell_of(row, i)) for row in rows[1:] for i in layouts}
    found = dict(headings)
    for index, heading in headings.items():
        if plain(heading.words) in baselines - {""}:
            found[index] = heading._replace(of=heading.words, words="")
        elif heading.words and plain(heading.words) not in named and asked(heading.words) is None:
            found[index] = heading._replace(role="unread")
    return found


def _timed(index: int, heading: Heading, rows: Sequence[Row], making: Building, place: str) -> Heading:
    """A column of latencies has its unit in the heading or behind the numbers; without one it says nothing."""
    if heading.metric != "latency" or heading.unit:
        return heading
    cells = list(_numbers(index, rows))
    if any(cell.unit in TIME_UNITS for cell in cells):
        return heading
    if cells:
        making.note(f"{place}: nothing says which unit {heading.text!r} has; not read.")
    return heading._replace(role="ignored")


def _signed(index: int, heading: Heading, rows: Sequence[Row], making: Building, place: str) -> Heading:
    """A column of percentages with + and - says how much more or less; one of such words without them, nothing."""
    if heading.role != "share":
        return heading
    signed = any(text[:1] in "+-−" and read_cell(text) for row in rows[1:] if (text := cell_of(row, index)))
    if heading.change and not signed:
        making.note(f"{place}: nothing says whether {heading.text!r} is more or less.")
        return heading._replace(role="ignored")
    if _fractions(index, heading, rows):
        return heading._replace(change=signed, unit="fraction")
    whole = any(cell.number.value == 100 for cell in _numbers(index, rows))
    return heading._replace(change=signed, unit=heading.unit or ("%" if whole else ""))


def _fractions(index: int, heading: Heading, rows: Sequence[Row]) -> bool:
    """Whether shares are written as 1.00 and 0.22, in a column that nowhere says percent."""
    found = list(_numbers(index, rows))
    said = re.search(r"%|pct|percent|процент", heading.text, re.IGNORECASE) or any(cell.unit for cell in found)
    whole = any(cell.number.value == 1 for cell in found)
    return not said and whole and all(cell.number.value <= _LARGEST_FRACTION for cell in found)


def _numbers(index: int, rows: Sequence[Row]) -> Iterator[Cell]:
    """The cells of a column that are numbers."""
    return (cell for row in rows[1:] if (cell := read_cell(cell_of(row, index))) is not None)
