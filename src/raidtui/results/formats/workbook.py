"""XLSX workbook of a comparison: percentages and rates are live formulas over the sheet of cells, charts follow them.

XlsxWriter is imported when a workbook is written.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from raidtui.base.text import clean, letters_of, plural
from raidtui.model.problem import fail
from raidtui.results.charts.drawing import NO_CHARTS, STYLE
from raidtui.results.comparison import Comparison, Entry, Row
from raidtui.results.formats.workbook_sweeps import write_sweeps
from raidtui.results.lines import COLUMNS, beside, legend_lines, share_interval_text, state_of, tidy, why
from raidtui.results.old_new import HEADS, legend, rows_of, verdict_lines
from raidtui.results.rates import SCALE, Unit, rate_of, unit_words
from raidtui.results.verdicts import answer_lines

if TYPE_CHECKING:
    from xlsxwriter.format import Format as CellFormat
    from xlsxwriter.workbook import Workbook
    from xlsxwriter.worksheet import Worksheet

SHEET = "Cells"
COUNTED = 4
"""The column of the rate that counts: empty where a cell is not valid."""
Ranges = dict[tuple[int, int], tuple[int, int]]
"""First and last row of the cells in this sheet, counted from 0, by row and workload of the comparison."""


def write_cells(sheet: Worksheet, comparison: Comparison, head: CellFormat) -> Ranges:
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


NAME = "Comparison"
FIRST = 5
"""Row of the first layout, counted from 0."""
BASELINE, ITS_ROW = "$B$2", "$B$3"
TYPICAL, SHARE, WORST, BEST, BELOW, ABOVE, VERDICT, VALID = range(8)
WIDTH = 8
"""Columns of a workload."""
_MOST_ARGUMENTS = 255
"""Largest number of arguments of a function in a spreadsheet."""
_HEADS = ("typical round", "% of baseline", "worst round", "best round", "to worst", "to best", "against", "state")


class Looks(NamedTuple):
    """Formats of cells."""

    head: CellFormat
    bold: CellFormat
    rate: CellFormat
    percent: CellFormat


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
        """Row of the sheet, counted from 0."""
        return 1 + workload * WIDTH + part

    def cells(self, workload: int, part: int) -> list[object]:
        """The range of a column, as charts want it."""
        column = self.column(workload, part)
        return [NAME, FIRST, column, self._last, column]

    def reference(self, workload: int, part: int) -> str:
        """The same as a formula: what error bars want."""
        column = _name(self.column(workload, part))
        return f"={NAME}!${column}${FIRST + 1}:${column}${self._last + 1}"

    def rate_of(self, row: int, workload: int) -> str:
        """Return the cell of a layout's typical round as a formula."""
        return f"={NAME}!${_name(self.column(workload, TYPICAL))}${FIRST + row + 1}"

    def heading(self, workload: int) -> list[object]:
        """The cell with the name of a workload. XlsxWriter takes a text such as `a!B2` for a cell, a cell never."""
        return [NAME, FIRST - 2, self.column(workload, 0)]

    @property
    def labels(self) -> list[object]:
        return [NAME, FIRST, 0, self._last, 0]

    def _heads(self) -> None:
        sheet, looks, comparison = self._sheet, self._looks, self._comparison
        sheet.write_string(FIRST - 1, 0, "Layout", looks.head)
        for index, name, unit in comparison.columns():
            first = self.column(index, 0)
            sheet.merge_range(FIRST - 2, first, FIRST - 2, first + WIDTH - 1, "", looks.head)
            sheet.write_string(FIRST - 2, first, f"{clean(name)}, {unit_words(unit)}", looks.head)
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
        values = [None if value is None else value * scale for value in (entry.typical, entry.low, entry.high)]
        middle, worst, best = values
        name = {part: f"{_name(self.column(index, part))}{at + 1}" for part in range(WIDTH)}
        column = _name(self.column(index, TYPICAL))
        base = f"INDEX({column}${FIRST + 1}:{column}${self._last + 1},{ITS_ROW})"
        below = None if middle is None or worst is None else middle - worst
        above = None if middle is None or best is None else best - middle
        share = f'IF(EXACT($A{at + 1},{BASELINE}),"",IFERROR({name[TYPICAL]}/{base},""))'
        for part, formula, value in (
            (TYPICAL, f'IFERROR(GEOMEAN({counted}),IFERROR(MEDIAN({counted}),""))', middle),
            (SHARE, f'IF({name[TYPICAL]}="","",{share})', entry.of_baseline),
            (WORST, f'IF({name[TYPICAL]}="","",MIN({counted}))', worst),
            (BEST, f'IF({name[TYPICAL]}="","",MAX({counted}))', best),
            (BELOW, f'IF({name[TYPICAL]}="","",{name[TYPICAL]}-{name[WORST]})', below),
            (ABOVE, f'IF({name[TYPICAL]}="","",{name[BEST]}-{name[TYPICAL]})', above),
        ):  # fmt: skip
            looks_like = looks.percent if part == SHARE else looks.rate
            shown = "" if value is None else value
            self._sheet.write_formula(at, self.column(index, part), f"={formula}", looks_like, shown)
        self._sheet.write_string(at, self.column(index, VERDICT), f"{entry.verdict} {share_interval_text(entry)}".rstrip())


def _name(column: int) -> str:
    """`A` of 0, `AB` of 27."""
    return letters_of(column).upper()


def write_confounders(sheet: Worksheet, comparison: Comparison, head: CellFormat) -> None:
    """One row for each layout and fact."""
    rows = [(row.label, *one) for row in comparison.rows for one in row.confounders]
    _table(sheet, ("layout", "what differs", "here", f"with {clean(comparison.baseline)}"), rows, head)


def write_latency(sheet: Worksheet, comparison: Comparison, looks: Looks) -> None:
    """One row for each layout, workload and direction, over all valid rounds: percentiles from merged histograms."""
    heads = ("layout", "workload", "direction", "rounds", "mean_us", "p50_us", "p99_us", "p999_us", "max_us")
    rows = []
    for row in comparison.rows:
        for workload, entry in zip(comparison.workloads, row.entries, strict=True):
            for direction, one in entry.latency.items() if entry is not None else ():
                times = (one.mean_us, one.p50_us, one.p99_us, one.p999_us, one.max_us)
                rows.append((row.label, workload, direction, entry.valid if entry else 0, *times))
    _table(sheet, heads, rows, looks.head)
    sheet.set_column(3, 3, 10)
    sheet.set_column(4, len(heads) - 1, 14, looks.rate)


def write_verdicts(sheet: Worksheet, comparison: Comparison, head: CellFormat) -> None:
    """One row for each workload with its best layout, and the answer in words below."""
    heads = ("workload", "best", "how sure", "second", "best / second", "from", "to", "p", "told apart from",
             "too few rounds", "not valid", "not built or measured", "differs beside the layouts")  # fmt: skip
    rows = []
    for one in comparison.verdicts:
        ratios = [None if share is None else 1 + share for share in (one.ahead, one.low, one.high)]
        rest = map(", ".join, (one.beaten, one.unjudged, one.invalid, one.missing, one.confounders))
        rows.append((one.workload, ", ".join(one.best), one.sure, one.second, *ratios, one.p, *rest))
    _table(sheet, heads, rows, head)
    for place, line in enumerate(answer_lines(comparison), len(rows) + 2):
        sheet.write_string(place, 0, clean(line, 4096))


def write_pairs(sheet: Worksheet, comparison: Comparison, looks: Looks) -> None:
    """One row for each pair of old and new with a formula for the change, and the answer in words below."""
    pairs = rows_of(comparison)
    rows = [(*cells[:_OLD], None, None, None, *cells[5:7], pair.p, cells[8]) for pair, cells in pairs]
    _table(sheet, HEADS, rows, looks.head)
    for at, (pair, _) in enumerate(pairs, 1):
        for column, rate in ((_OLD, pair.old), (_NEW, pair.new)):
            if rate is not None:
                sheet.write_number(at, column, rate * SCALE[pair.unit], looks.rate)
        if pair.change is not None:
            old, new = (f"{_name(column)}{at + 1}" for column in (_OLD, _NEW))
            sheet.write_formula(at, _NEW + 1, f"={new}/{old}-1", looks.percent, pair.change)
    for place, line in enumerate((*verdict_lines(comparison), *legend(comparison)), len(pairs) + 2):
        sheet.write_string(place, 0, clean(line, 4096))


def write_results(sheet: Worksheet, comparison: Comparison, head: CellFormat) -> None:
    """One row for each result, and the notes below."""
    rows = [
        (str(number), one.scenario, one.title, one.run, one.host, one.started, f"{one.valid} of {one.cells}")
        for number, one in enumerate(comparison.sources, 1)
    ]
    _table(sheet, ("result", "scenario", "title", "run", "server", "began", "valid cells"), rows, head)
    for place, note in enumerate([*legend_lines(comparison), *(f"⚠ {note}" for note in comparison.notes)], len(rows) + 2):
        sheet.write_string(place, 0, clean(note, 4096))


def _table(
    sheet: Worksheet, heads: tuple[str, ...], rows: Sequence[tuple[str | float | None, ...]], head: CellFormat
) -> None:
    for place, word in enumerate(heads):
        sheet.write_string(0, place, word, head)
    for number, row in enumerate(rows, 1):
        for place, value in enumerate(row):
            if isinstance(value, str):
                sheet.write_string(number, place, clean(value, 4096))
            elif value is not None:
                sheet.write_number(number, place, value)
    sheet.set_column(0, len(heads) - 1, 26)
    sheet.freeze_panes(1, 0)


_OPTIONS = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
_OLD, _NEW = 2, 3
"""Columns of the rates in the sheet of old and new; the change is beside them."""
_MOST_CHARTS = 40
"""Largest number of workloads with a chart; the sheet gives the number of those without."""


def write_xlsx(comparison: Comparison) -> bytes:
    """The workbook. Raises ProblemError (`no-charts`) without XlsxWriter."""
    try:
        from xlsxwriter.workbook import Workbook
    except ImportError:
        raise fail(NO_CHARTS, "a workbook needs the Python package XlsxWriter, which is not installed here",
                   remedy="Install it: pip install XlsxWriter, or Debian's python3-xlsxwriter.") from None  # fmt: skip
    out = io.BytesIO()
    book = Workbook(out, _OPTIONS)
    # The day of writing is no part of a comparison: the same one gives the same file.
    book.set_properties({"title": "Comparison", "comments": "Written by raidtui", "created": datetime(2000, 1, 1)})
    looks = Looks(
        book.add_format({"bold": True, "bg_color": "#E8EBEF", "text_wrap": True, "valign": "top"}),
        book.add_format({"bold": True}), book.add_format({"num_format": "#,##0.0"}),
        book.add_format({"num_format": "0.0%"}),
    )  # fmt: skip
    first, which, charts, cells = (book.add_worksheet(name) for name in (NAME, "Which one", "Charts", SHEET))
    ranges = write_cells(cells, comparison, looks.head)
    overview = Overview(first, comparison, ranges, looks)
    overview.write()
    for index in range(len(comparison.workloads[:_MOST_CHARTS]) if comparison.rows else 0):
        chart = _chart(book, overview, index, len(comparison.rows))
        charts.insert_chart(index // 2 * 21, index % 2 * 10, chart)
    if left_out := len(comparison.workloads[_MOST_CHARTS:]):
        charts.write(_MOST_CHARTS // 2 * 21, 0, f"{plural(left_out, 'workload')} more without a chart")
    write_verdicts(which, comparison, looks.head)
    write_sweeps(book, comparison, overview, looks)
    write_latency(book.add_worksheet("Latency"), comparison, looks)
    if any(row.confounders for row in comparison.rows):
        write_confounders(book.add_worksheet("What else differs"), comparison, looks.head)
    write_results(book.add_worksheet("Results"), comparison, looks.head)
    if comparison.pairs:
        write_pairs(book.add_worksheet("Old and new"), comparison, looks)
    for sheet in book.worksheets():
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
    book.close()
    return out.getvalue()


def _chart(book: Workbook, overview: Overview, index: int, rows: int) -> object:
    """Bars of the typical rounds, with the worst and the best round."""
    chart = book.add_chart({"type": "bar"})
    chart.add_series({
        "name": overview.heading(index),
        "categories": overview.labels,
        "values": overview.cells(index, TYPICAL),
        "fill": {"color": STYLE.colour(0)},
        "points": [{"fill": {"color": STYLE.colour(place)}} for place in range(rows)],
        "y_error_bars": {
            "type": "custom",
            "plus_values": overview.reference(index, ABOVE),
            "minus_values": overview.reference(index, BELOW),
        },
        "gap": 40,
    })  # fmt: skip
    chart.set_title({"name": overview.heading(index), "name_font": {"size": 11}})
    chart.set_legend({"none": True})
    # The first layout is at the top; the other axis crosses at the last one, which is the bottom.
    chart.set_y_axis({"reverse": True, "crossing": "max"})
    chart.set_x_axis({"num_format": "#,##0", "min": 0})
    chart.set_size({"width": 620, "height": max(260, 80 + 22 * rows)})
    return chart
