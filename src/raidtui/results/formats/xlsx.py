"""A workbook: percentages and medians are live formulas over the cells, charts follow them."""

from __future__ import annotations

import io
from datetime import datetime
from typing import TYPE_CHECKING

from raidtui.base.text import clean, plural
from raidtui.model.problem import fail
from raidtui.results.charts.drawing import NO_CHARTS
from raidtui.results.comparison import Comparison
from raidtui.results.formats.base import Format
from raidtui.results.workbook.about import write_confounders, write_latency, write_results
from raidtui.results.workbook.cells import SHEET, write_cells
from raidtui.results.workbook.overview import ABOVE, BELOW, MEDIAN, NAME, Looks, Overview

if TYPE_CHECKING:
    from xlsxwriter.workbook import Workbook

_OPTIONS = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
_MOST_CHARTS = 40
"""Of workloads; of more, the sheet says how many have none."""


def write(comparison: Comparison) -> bytes:
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
    first, charts, cells = (book.add_worksheet(name) for name in (NAME, "Charts", SHEET))
    ranges = write_cells(cells, comparison, looks.head)
    overview = Overview(first, comparison, ranges, looks)
    overview.write()
    for index in range(len(comparison.workloads[:_MOST_CHARTS]) if comparison.rows else 0):
        chart = _chart(book, overview, comparison, index)
        charts.insert_chart(index // 2 * 21, index % 2 * 10, chart)
    if left_out := len(comparison.workloads[_MOST_CHARTS:]):
        charts.write(_MOST_CHARTS // 2 * 21, 0, f"{plural(left_out, 'workload')} more without a chart")
    write_latency(book.add_worksheet("Latency"), comparison, looks.head)
    write_confounders(book.add_worksheet("What else differs"), comparison, looks.head)
    write_results(book.add_worksheet("Results"), comparison, looks.head)
    for sheet in book.worksheets():
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
    book.close()
    return out.getvalue()


def _chart(book: Workbook, overview: Overview, comparison: Comparison, index: int) -> object:
    """Bars of the medians, with the worst and the best round."""
    title = f"{clean(comparison.workloads[index], 80)}, {comparison.units[index]}"
    chart = book.add_chart({"type": "bar"})
    chart.add_series({
        "name": title,
        "categories": overview.labels,
        "values": overview.cells(index, MEDIAN),
        "fill": {"color": "#0072B2"},
        "y_error_bars": {
            "type": "custom",
            "plus_values": overview.reference(index, ABOVE),
            "minus_values": overview.reference(index, BELOW),
        },
        "gap": 40,
    })  # fmt: skip
    chart.set_title({"name": title, "name_font": {"size": 11}})
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True})
    chart.set_x_axis({"num_format": "#,##0", "min": 0})
    chart.set_size({"width": 620, "height": max(260, 80 + 22 * len(comparison.rows))})
    return chart


FORMAT = Format("xlsx", ".xlsx", "a workbook with live formulas and charts", write, binary=True)
