"""Layouts × workloads of a comparison as rows of a table, and what of the comparison is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from raidtui.results.comparison import Comparison
from raidtui.results.lines import (
    INVALID,
    MARKS,
    NOT_BUILT,
    NOT_MEASURED,
    OTHER_RATE,
    PARTLY,
    share_text,
    spread_text,
    state_of,
)
from raidtui.results.metrics import Metric
from raidtui.results.rates import rate_text
from raidtui.tui.results.pages import signs
from raidtui.tui.widgets.glyphs import bar, glyphs
from raidtui.tui.widgets.signs import ink, letter
from raidtui.tui.widgets.table_line import Column
from raidtui.tui.widgets.table_view import Rows

_LOOKS = {PARTLY: "warn", INVALID: "alert", NOT_BUILT: "alert", NOT_MEASURED: "dim", OTHER_RATE: "dim"}
_MOST_TITLE = 28
_MOST_BAR = 16


class View(NamedTuple):
    """Orientation and order of a comparison."""

    turned: bool = False
    """True if workloads are rows."""
    sort: str = ""
    """Column that rows are sorted by; empty keeps the order of measuring."""
    descending: bool = True
    pairs: bool = False
    """True if old and new are shown in pairs."""
    sweep: int = 0
    """Number of the sweep that is shown, from 1; 0 for none."""
    metric: Metric = "rate"
    charts: bool = False
    """True if charts stand in the place of the table, where there is no room for both."""
    workload: int = 0
    """Number of the workload whose charts are shown."""


class Grid(Rows):
    """Rows and columns of the comparison, for a table `width` cells wide."""

    def __init__(self, comparison: Comparison, view: View, width: int) -> None:
        self._comparison = comparison
        self._turned = view.turned
        heads = [f"{name} {unit}" for name, unit in zip(comparison.workloads, comparison.units, strict=True)]
        labels = [f"{letter(place)} {row.label}" for place, row in enumerate(comparison.rows)]
        self._row_names, self._column_names = (heads, labels) if view.turned else (labels, heads)
        self._best = [
            max((entry.typical or 0.0 for row in comparison.rows if (entry := row.entries[i])), default=0.0)
            for i in range(len(heads))
        ]
        self._bar = 0
        self.columns = self._columns(width)
        self.width = sum(column.width + 1 for column in self.columns) + 1
        """Width of all columns together, in cells."""
        self.keys = self._sorted(view)

    def cells(self, key: str) -> Sequence[str | Text]:
        row = int(key)
        name: str | Text = self._row_names[row]
        if not self._turned:
            own = self._comparison.rows[row].label
            name = Text(style="bold" if own == self._comparison.baseline else "")
            name.append(letter(row), ink(row)).append(f" {own}")
        return [name, *(self._cell(row, column) for column in range(len(self._column_names)))]

    def at(self, key: str, column: int) -> tuple[int, int]:
        """Return the numbers of layout and workload in a cell of the table."""
        return (column, int(key)) if self._turned else (int(key), column)

    def row(self, key: str | None) -> list[tuple[int, int]]:
        """Return layout and workload of every cell in a row; none if there is no such row."""
        if key is None or key not in self.keys:
            return []
        return [self.at(key, column) for column in range(len(self._column_names))]

    def _columns(self, width: int) -> tuple[Column, ...]:
        names = self._column_names
        first = max([8, *(len(name) for name in self._row_names)])
        first = max(8, min(first, width // 3, 40))
        title = "Workload" if self._turned else "Layout"
        plain = [max(len(self._words(row, i)) for row in range(len(self._row_names))) if self._row_names else 0
                 for i in range(len(names))]  # fmt: skip
        needed = [max(wide, min(len(name) + 1, _MOST_TITLE)) for wide, name in zip(plain, names, strict=True)]
        spare = width - first - 2 - sum(n + 1 for n in needed)
        # Bars have a fixed width, so that lengths can be compared down a column.
        self._bar = max(0, min(_MOST_BAR, spare // max(1, len(names)) - 1))
        if self._bar < 4:
            self._bar = 0
        room = self._bar + 1 if self._bar else 0
        columns = [Column(str(i), name, needed[i] + room, "right", name) for i, name in enumerate(names)]
        return (Column("label", title, first, help=title), *columns)

    def _words(self, row: int, column: int) -> str:
        layout, load = self.at(str(row), column)
        one = self._comparison.rows[layout]
        entry, state = one.entries[load], state_of(one, load)
        if entry is None or entry.typical is None:
            return glyphs().absent if state in (NOT_MEASURED, OTHER_RATE) else signs(f"{MARKS[state]} {state}")
        spread = f" {spread_text(entry)}" if spread_text(entry) else ""
        share = f" {share_text(entry):>7}" if entry.of_baseline is not None else " " * 8
        mark = signs(f"{MARKS[PARTLY]} ") if state == PARTLY or entry.marks else ""
        return f"{mark}{rate_text(entry.typical, self._comparison.units[load])}{spread}{signs(share)}"

    def _cell(self, row: int, column: int) -> Text:
        layout, load = self.at(str(row), column)
        one = self._comparison.rows[layout]
        entry, state = one.entries[load], state_of(one, load)
        words = Text(self._words(row, column), _LOOKS.get(state, ""))
        if not self._bar:
            return words
        best = self._best[load]
        known = entry is not None and entry.typical is not None and best > 0
        share = 100 * (entry.typical or 0) / best if known and entry is not None else 0.0
        return words.append(" ").append_text(bar(share, self._bar, ink(layout)))

    def _sorted(self, view: View) -> list[str]:
        keys = [str(index) for index in range(len(self._row_names))]
        if not view.sort or int(view.sort) >= len(self._column_names):
            return keys
        column = int(view.sort)

        def value(key: str) -> float:
            layout, load = self.at(key, column)
            entry = self._comparison.rows[layout].entries[load]
            return entry.typical if entry is not None and entry.typical is not None else -1.0

        return sorted(keys, key=value, reverse=view.descending)
