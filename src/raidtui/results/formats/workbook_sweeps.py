"""Sheets of sweeps in a workbook: the points of every curve, and a chart of operations per second against latency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from raidtui.base.text import clean
from raidtui.results.charts.drawing import STYLE
from raidtui.results.comparison import Comparison, Curve, Sweep
from raidtui.results.sweep_lines import RULE, knee_lines, label_of

if TYPE_CHECKING:
    from xlsxwriter.format import Format as CellFormat
    from xlsxwriter.workbook import Workbook
    from xlsxwriter.worksheet import Worksheet

HEADS = ("curve", "layout", "block size", "jobs", "queue depth", "in flight", "IOPS", "mean latency µs", "p99 µs", "knee")
_IOPS, _MEAN, _P99, _KNEE = 6, 7, 8, 9
_FIRST = 3
"""Row of the first point, counted from 0."""
_MOST_SHEETS = 40
"""Largest number of sweeps with a sheet."""
_DASHES = ("solid", "dash", "square_dot", "long_dash")
"""Lines of curves of one layout with different block sizes."""
_SHAPES = ("circle", "square", "diamond", "triangle", "x", "star", "plus", "long_dash")


class Looks(Protocol):
    """Formats of cells that these sheets use."""

    @property
    def head(self) -> CellFormat: ...
    @property
    def bold(self) -> CellFormat: ...
    @property
    def rate(self) -> CellFormat: ...


class Typical(Protocol):
    """The sheet that has the typical rounds."""

    def rate_of(self, row: int, workload: int) -> str:
        """Return the cell of a layout's typical round as a formula."""
        ...


def write_sweeps(book: Workbook, comparison: Comparison, typical: Typical, looks: Looks) -> None:
    """Add a sheet for each sweep. Sheets are numbered, since names from outside are no names of sheets."""
    for number, sweep in enumerate(comparison.sweeps[:_MOST_SHEETS], 1):
        _Sheet(book, book.add_worksheet(f"Sweep {number}"), comparison, typical, looks).write(sweep)


class _Sheet:
    """One sweep: a title, the points, the knees in words, and the chart beside them."""

    def __init__(
        self, book: Workbook, sheet: Worksheet, comparison: Comparison, typical: Typical, looks: Looks
    ) -> None:
        self._book, self._sheet, self._comparison, self._typical, self._looks = book, sheet, comparison, typical, looks
        self._rows = {row.label: place for place, row in enumerate(comparison.rows)}

    def write(self, sweep: Sweep) -> None:
        sheet, looks = self._sheet, self._looks
        sheet.write_string(0, 0, clean(f"Sweep {sweep.name}: IOPS against latency"), looks.bold)
        for place, head in enumerate(HEADS):
            sheet.write_string(_FIRST - 1, place, head, looks.head)
        chart = self._book.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
        at = _FIRST
        seen: dict[str, int] = {}
        for curve in sweep.curves:
            self._points(at, label_of(sweep, curve), curve)
            chart.add_series(self._series(at, curve, seen.setdefault(curve.label, 0)))
            seen[curve.label] += 1
            at += len(curve.points)
        for line, words in enumerate([*knee_lines(sweep), RULE], at + 1):
            sheet.write_string(line, 0, clean(words, 4096))
        chart.set_title({"name": [sheet.get_name(), 0, 0], "name_font": {"size": 11}})
        chart.set_x_axis({"name": "IOPS", "min": 0, "num_format": "#,##0", "major_gridlines": {"visible": True}})
        times = [point.mean_us for curve in sweep.curves for point in curve.points if point.mean_us]
        ends = {"min": _round(min(times) / 1.5), "max": _round(max(times) * 1.5)} if times else {}
        chart.set_y_axis({"name": "mean latency µs", "log_base": 10, "num_format": "#,##0", **ends})
        chart.set_legend({"position": "bottom"})
        chart.set_size({"width": 720, "height": 420})
        sheet.insert_chart(_FIRST - 1, len(HEADS) + 1, chart)
        sheet.freeze_panes(_FIRST, 1)
        sheet.set_column(0, 1, 18)
        sheet.set_column(2, len(HEADS) - 1, 11)
        sheet.set_column(_MEAN, _MEAN, 16)

    def _points(self, first: int, label: str, curve: Curve) -> None:
        sheet, rate = self._sheet, self._looks.rate
        for place, point in enumerate(curve.points):
            at = first + place
            for column, words in enumerate((label, curve.label, curve.bs)):
                sheet.write_string(at, column, clean(words))
            for column, number in enumerate((point.numjobs, point.iodepth, point.in_flight), 3):
                sheet.write_number(at, column, number)
            if point.iops is not None and self._comparison.units[point.column] == "IOPS":
                formula = self._typical.rate_of(self._rows[curve.label], point.column)
                sheet.write_formula(at, _IOPS, formula, rate, point.iops)
            elif point.iops is not None:
                sheet.write_number(at, _IOPS, point.iops, rate)
            for column, us in ((_MEAN, point.mean_us), (_P99, point.p99_us)):
                if us is not None:
                    sheet.write_number(at, column, us, rate)
            if place == curve.knee:
                sheet.write_string(at, _KNEE, "knee", self._looks.bold)

    def _series(self, first: int, curve: Curve, again: int) -> dict[str, object]:
        """Return a series of cells; `again` counts the curves of this layout before."""
        name, last, place = self._sheet.get_name(), first + len(curve.points) - 1, self._rows[curve.label]
        colour = STYLE.colour(place)
        shape = {"type": _SHAPES[place % len(_SHAPES)], "size": 6, "fill": {"color": colour}, "border": {"color": colour}}
        return {
            "name": [name, first, 0],
            "categories": [name, first, _IOPS, last, _IOPS],
            "values": [name, first, _MEAN, last, _MEAN],
            "line": {"color": colour, "width": 1.5, "dash_type": _DASHES[again % len(_DASHES)]},
            "marker": shape,
        }


def _round(us: float) -> float:
    """Return the number with one digit that is not 0."""
    return float(f"{us:.0e}")
