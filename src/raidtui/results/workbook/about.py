"""The sheets behind: latency over all rounds, what differs, what the results are, and what a reader must know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from raidtui.base.text import clean
from raidtui.results.comparison import Comparison
from raidtui.results.lines import legend_lines

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet


def write_confounders(sheet: Worksheet, comparison: Comparison, head: Format) -> None:
    """One row for each layout and fact."""
    rows = [(row.label, *one) for row in comparison.rows for one in row.confounders]
    _table(sheet, ("layout", "what differs", "here", f"with {clean(comparison.baseline)}"), rows, head)


def write_latency(sheet: Worksheet, comparison: Comparison, head: Format) -> None:
    """One row for each layout, workload and direction, over all valid rounds: percentiles from merged histograms."""
    heads = ("layout", "workload", "direction", "rounds", "mean_us", "p50_us", "p99_us", "p999_us", "max_us")
    rows = []
    for row in comparison.rows:
        for workload, entry in zip(comparison.workloads, row.entries, strict=True):
            for direction, one in entry.latency.items() if entry is not None else ():
                times = (one.mean_us, one.p50_us, one.p99_us, one.p999_us, one.max_us)
                rows.append((row.label, workload, direction, entry.valid if entry else 0, *times))
    _table(sheet, heads, rows, head)


def write_results(sheet: Worksheet, comparison: Comparison, head: Format) -> None:
    """One row for each result, and the notes below."""
    rows = [
        (str(number), one.scenario, one.title, one.run, one.host, one.started, f"{one.valid} of {one.cells}")
        for number, one in enumerate(comparison.sources, 1)
    ]
    _table(sheet, ("result", "scenario", "title", "run", "server", "began", "valid cells"), rows, head)
    for place, note in enumerate([*legend_lines(comparison), *(f"⚠ {note}" for note in comparison.notes)], len(rows) + 2):
        sheet.write_string(place, 0, clean(note, 4096))


def _table(sheet: Worksheet, heads: tuple[str, ...], rows: Sequence[tuple[str | float | None, ...]], head: Format) -> None:
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
