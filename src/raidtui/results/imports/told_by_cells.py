"""What the heading of a column of numbers leaves open and its cells tell: units and signs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from raidtui.model.table import TIME_UNITS
from raidtui.results.imports.cells import NOTHING, Cell, Row, read_cell
from raidtui.results.imports.heading import Heading
from raidtui.results.imports.row_labels import cell_of
from raidtui.results.imports.tables import Building

_LESS: Final = re.compile(r"loss|overhead|slow-?down|penalty|drop|degradation", re.IGNORECASE)
_TIMES: Final = re.compile(r"\d+(?:[.,]\d+)?\s?[x×]")
_LARGEST_FRACTION: Final = 20.0
"""A layout is not more than so many times as fast as another one that it stands beside."""


def settled(heading: Heading, index: int, rows: Sequence[Row], making: Building, name: str) -> Heading:
    """The heading with its unit, or one that is not read, which is noted. The first row has the headings."""
    place = f"{name}:{rows[0].line}"
    return _signed(index, _timed(index, heading, rows, making, place), rows, making, place)


def _timed(index: int, heading: Heading, rows: Sequence[Row], making: Building, place: str) -> Heading:
    """A column of latencies has its unit in the heading or behind the numbers; without one it says nothing."""
    if heading.metric != "latency" or heading.unit:
        return heading
    cells = list(numbers(index, rows))
    if any(cell.unit in TIME_UNITS for cell in cells):
        return heading
    if cells:
        making.note(f"{place}: nothing says which unit {heading.text!r} has; not read.")
    return heading._replace(role="ignored")


def _signed(index: int, heading: Heading, rows: Sequence[Row], making: Building, place: str) -> Heading:
    """A column of percentages with + and - says how much more or less; one of such words without them, only if they do."""
    if heading.role != "share":
        return heading
    texts = [text for row in rows[1:] if (text := cell_of(row, index))]
    signed = any(text[:1] in "+-−" and read_cell(text) for text in texts)
    if heading.change and not signed:
        times = _LESS.search(heading.text) is None and (_times(texts) or _fractions(index, heading, rows))
        if not times and _LESS.search(heading.text) and not _times(texts):
            return heading._replace(less=True)
        if not times:
            making.note(f"{place}: nothing says whether {heading.text!r} is more or less.")
            return heading._replace(role="ignored")
    if _times(texts) or _fractions(index, heading, rows):
        return heading._replace(change=signed, unit="fraction")
    whole = any(cell.number.value == 100 for cell in numbers(index, rows))
    return heading._replace(change=signed, unit=heading.unit or ("%" if whole else ""))


def _times(texts: Sequence[str]) -> bool:
    """Whether cells are written as 0.78x."""
    return bool(texts) and all(_TIMES.fullmatch(text) for text in texts if text.lower() not in NOTHING)


def _fractions(index: int, heading: Heading, rows: Sequence[Row]) -> bool:
    """Whether shares are written as 1.00 and 0.22, in a column that nowhere says percent."""
    found = list(numbers(index, rows))
    said = re.search(r"%|pct|percent|процент", heading.text, re.IGNORECASE) or any(cell.unit for cell in found)
    whole = any(cell.number.value == 1 for cell in found)
    return not said and whole and all(cell.number.value <= _LARGEST_FRACTION for cell in found)


def numbers(index: int, rows: Sequence[Row]) -> Iterator[Cell]:
    """The cells of a column that are numbers."""
    return (cell for row in rows[1:] if (cell := read_cell(cell_of(row, index))) is not None)
