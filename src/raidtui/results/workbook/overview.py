"""The first sheet: layouts × workloads. Medians, shares and means are formulas; another baseline is chosen in one cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from raidtui.base.text import clean
from raidtui.results.comparison import Comparison, Entry, Row
from raidtui.results.lines import beside, share_interval_text, state_of, why
from raidtui.results.numbers import SCALE, Unit
from raidtui.results.workbook.cells import COUNTED, SHEET, Ranges

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

NAME = "Comparison"
FIRST = 5
"""Row of the first layout, counted from 0."""
BASELINE, ITS_ROW = "$B$2", "$B$3"

MEDIAN, SHARE, WORST, BEST, BELOW, ABOVE, VERDICT, VALID = range(8)
WIDTH = 8
"""Columns of a workload."""
_MOST_ARGUMENTS = 255
"""Of a function in a spreadsheet."""
_HEADS = ("median", "% of baseline", "worst round", "best round", "median - worst", "best - median", "against", "state")


class Looks(NamedTuple):
    """Formats of cells."""

    head: Format
    bold: Format
    rate: Format
    percent: Format


class Overview:
    """Writes the sheet; the charts ask it where things are."""

    def __init__(self, sheet: Worksheet, comparison: Comparison, ranges: Ranges, looks: Looks) -> None:
        self._sheet, self._comparison, self._ranges, self._looks = sheet, comparison, ranges, looks
        self._last = FIRST + len(comparison.rows) - 1

    def write(self) -> None:
        """The whole sheet."""
        sheet, comparison, looks = self._sheet, self._comparison, self._looks
        sheet.write_string(0, 0, "Layouts × workloads. Shares follow the baseline in B2; MB is 10⁶ bytes.", looks.bold)
        sheet.write_string(1, 0, "baseline", looks.bold)
        sheet.write_string(1, 1, clean(comparison.baseline), looks.bold)
        sheet.write_string(2, 0, "its place below")
        labels = [row.label for row in comparison.rows]
        place = labels.index(comparison.baseline) + 1 if comparison.baseline in labels else ""
        if labels:
            names = f"$A${FIRST + 1}:$A${self._last + 1}"
            sheet.write_formula(2, 1, f'=IFERROR(MATCH(TRUE,INDEX(EXACT({names},{BASELINE}),0),0),"")', None, place)
            sheet.data_validation(1, 1, 1, 1, {"validate": "list", "source": f"={names}"})
        self._heads()
        for number, row in enumerate(comparison.rows):
            self._row(number, row)
        sheet.freeze_panes(FIRST, 1)
        sheet.set_column(0, 0, 30)
        sheet.set_column(1, max(1, WIDTH * len(comparison.workloads)), 13)

    def column(self, workload: int, part: int) -> int:
        """Of the sheet, counted from 0."""
        return 1 + workload * WIDTH + part

    def cells(self, workload: int, part: int) -> list[object]:
        """The range of a column, as charts want it."""
        column = self.column(workload, part)
        return [NAME, FIRST, column, self._last, column]

    def reference(self, workload: int, part: int) -> str:
        """The same as a formula: what error bars want."""
        column = _name(self.column(workload, part))
        return f"={NAME}!${column}${FIRST + 1}:${column}${self._last + 1}"

    @property
    def labels(self) -> list[object]:
        return [NAME, FIRST, 0, self._last, 0]

    def _heads(self) -> None:
        sheet, looks, comparison = self._sheet, self._looks, self._comparison
        sheet.write_string(FIRST - 1, 0, "Layout", looks.head)
        for index, (name, unit) in enumerate(zip(comparison.workloads, comparison.units, strict=True)):
            first = self.column(index, 0)
            sheet.merge_range(FIRST - 2, first, FIRST - 2, first + WIDTH - 1, "", looks.head)
            sheet.write_string(FIRST - 2, first, f"{clean(name)}, {unit}", looks.head)
            for part, word in enumerate(_HEADS):
                told = f"{word} {clean(comparison.baseline, 60)}" if part == VERDICT else word
                sheet.write_string(FIRST - 1, first + part, told, looks.head)
        sheet.write_string(FIRST - 1, self.column(len(comparison.workloads), 0), "geometric mean of shares", looks.head)

    def _row(self, number: int, row: Row) -> None:
        at = FIRST + number
        self._sheet.write_string(at, 0, clean(row.label), self._looks.bold)
        for index, unit in enumerate(self._comparison.units):
            entry = row.entries[index]
            if entry is not None:
                self._entry(number, index, entry, unit)
            said = "; ".join(filter(None, (why(row, index), beside(row, index))))
            words = state_of(row, index) + (f": {said}" if said else "")
            self._sheet.write_string(at, self.column(index, VALID), clean(words, 4096))
        shares = [f"{_name(self.column(index, SHARE))}{at + 1}" for index in range(len(self._comparison.units))]
        if shares:
            mean = "" if row.geometric_mean is None else row.geometric_mean
            column, look = self.column(len(shares), 0), self._looks.percent
            if len(shares) <= _MOST_ARGUMENTS:
                self._sheet.write_formula(at, column, f'=IFERROR(GEOMEAN({",".join(shares)}),"")', look, mean)
            else:
                self._sheet.write(at, column, mean, look)

    def _entry(self, number: int, index: int, entry: Entry, unit: Unit) -> None:
        at, looks = FIRST + number, self._looks
        first, last = self._ranges[number, index]
        counted = f"{SHEET}!${_name(COUNTED)}${first + 1}:${_name(COUNTED)}${last + 1}"
        scale = SCALE[unit]
        values = [None if value is None else value * scale for value in (entry.median, entry.low, entry.high)]
        median, worst, best = values
        name = {part: f"{_name(self.column(index, part))}{at + 1}" for part in range(WIDTH)}
        column = _name(self.column(index, MEDIAN))
        base = f"INDEX({column}${FIRST + 1}:{column}${self._last + 1},{ITS_ROW})"
        below = None if median is None or worst is None else median - worst
        above = None if median is None or best is None else best - median
        share = f'IF(EXACT($A{at + 1},{BASELINE}),"",IFERROR({name[MEDIAN]}/{base},""))'
        for part, formula, value in (
            (MEDIAN, f'IFERROR(MEDIAN({counted}),"")', median),
            (SHARE, f'IF({name[MEDIAN]}="","",{share})', entry.of_baseline),
            (WORST, f'IF({name[MEDIAN]}="","",MIN({counted}))', worst),
            (BEST, f'IF({name[MEDIAN]}="","",MAX({counted}))', best),
            (BELOW, f'IF({name[MEDIAN]}="","",{name[MEDIAN]}-{name[WORST]})', below),
            (ABOVE, f'IF({name[MEDIAN]}="","",{name[BEST]}-{name[MEDIAN]})', above),
        ):  # fmt: skip
            looks_like = looks.percent if part == SHARE else looks.rate
            shown = "" if value is None else value
            self._sheet.write_formula(at, self.column(index, part), f"={formula}", looks_like, shown)
        self._sheet.write_string(at, self.column(index, VERDICT), f"{entry.verdict} {share_interval_text(entry)}".rstrip())


def _name(column: int) -> str:
    """`A` of 0, `AB` of 27."""
    name = ""
    column += 1
    while column:
        column, letter = divmod(column - 1, 26)
        name = chr(65 + letter) + name
    return name
