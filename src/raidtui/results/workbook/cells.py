"""The sheet Cells: one row for each cell, which the medians of the first sheet are computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raidtui.results.comparison import Comparison
from raidtui.results.numbers import SCALE
from raidtui.results.rates import rate_of
from raidtui.results.tidy import COLUMNS, tidy

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

SHEET = "Cells"
COUNTED = 4
"""The column of the rate that counts: empty where a cell is not valid."""

Ranges = dict[tuple[int, int], tuple[int, int]]
"""By row and workload of the comparison: first and last row of its cells in this sheet, counted from 0."""


def write_cells(sheet: Worksheet, comparison: Comparison, head: Format) -> Ranges:
    """Fill the sheet; answers where the cells of each entry are."""
    columns = [*COLUMNS[:COUNTED], "counted_rate", *COLUMNS[COUNTED:]]
    for place, name in enumerate(columns):
        sheet.write_string(0, place, name, head)
    rates = _rates(comparison)
    ranges: Ranges = {}
    for number, line in enumerate(tidy(comparison), 1):
        key, rate = rates[number - 1]
        if key is not None:
            first, _ = ranges.get(key, (number, number))
            ranges[key] = first, number
        for place, name in enumerate(columns):
            value = rate if name == "counted_rate" else line[name]
            if isinstance(value, str):
                sheet.write_string(number, place, value)
            elif value is not None:
                sheet.write_number(number, place, value)
    sheet.freeze_panes(1, 2)
    sheet.autofilter(0, 0, max(1, len(rates)), len(columns) - 1)
    sheet.set_column(0, 1, 24)
    sheet.set_column(2, len(columns) - 1, 14)
    return ranges


def _rates(comparison: Comparison) -> list[tuple[tuple[int, int] | None, float | None]]:
    """For each line of the tidy data: the entry it belongs to, and its rate where it counts, in MB/s or operations.

    No entry has the cells of a layout's second building.
    """
    found: list[tuple[tuple[int, int] | None, float | None]] = []
    for number, row in enumerate(comparison.rows):
        for index, unit in enumerate(comparison.units):
            entry, scale = row.entries[index], SCALE[unit]
            for point in entry.points if entry is not None else ():
                rate = rate_of(point, unit) if point.valid else None
                found.append(((number, index), None if rate is None else rate * scale))
            found += [(None, None) for _ in (entry.again if entry is not None else ())]
            if entry is None:
                found.append(((number, index), None))
    return found
