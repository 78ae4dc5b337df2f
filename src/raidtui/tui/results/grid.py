"""A comparison as rows of a table: layouts × workloads, or turned round, with a bar in every cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from raidtui.results.comparison import Comparison
from raidtui.results.lines import INVALID, MARKS, NOT_BUILT, NOT_MEASURED, PARTLY, share_text, spread_text, state_of
from raidtui.results.numbers import rate_text
from raidtui.tui.results.sheet import signs
from raidtui.tui.widgets.cells import bar
from raidtui.tui.widgets.glyphs import glyphs
from raidtui.tui.widgets.table_line import Column

_LOOKS = {PARTLY: "warn", INVALID: "alert", NOT_BUILT: "alert", NOT_MEASURED: "dim"}
_MOST_TITLE = 28
_MOST_BAR = 16


class View(NamedTuple):
    """How a comparison is looked at."""

    turned: bool = False
    """Workloads are rows."""
    sort: str = ""
    """Column that rows are sorted by; empty: as they were given."""
    descending: bool = True


class Grid:
    """Rows for a table `width` cells wide, and its `columns`."""

    def __init__(self, comparison: Comparison, view: View, width: int) -> None:
        self._comparison = comparison
        self._turned = view.turned
        heads = [f"{name} {unit}" for name, unit in zip(comparison.workloads, comparison.units, strict=True)]
        labels = [row.label for row in comparison.rows]
        self._row_names, self._column_names = (heads, labels) if view.turned else (labels, heads)
        self._best = [
            max((entry.median or 0.0 for row in comparison.rows if (entry := row.entries[i])), default=0.0)
            for i in range(len(heads))
        ]
        self._bar = 0
        self.columns = self._columns(width)
        self.width = sum(column.width + 1 for column in self.columns) + 1
        """Cells that all columns together need."""
        self.keys = self._sorted(view)

    def cells(self, key: str) -> Sequence[str | Text]:
        """The row's name and its cells."""
        row = int(key)
        name = self._row_names[row]
        label = Text(name, "bold") if not self._turned and name == self._comparison.baseline else name
        return [label, *(self._cell(row, column) for column in range(len(self._column_names)))]

    def at(self, key: str, column: int) -> tuple[int, int]:
        """Indexes of layout and workload of a cell."""
        return (column, int(key)) if self._turned else (int(key), column)

    def _columns(self, width: int) -> tuple[Column, ...]:
        names = self._column_names
        first = max([8, *(len(name) for name in self._row_names)])
        first = max(8, min(first, width // 3, 40))
        title = "Workload" if self._turned else "Layout"
        plain = [max(len(self._words(row, i)) for row in range(len(self._row_names))) if self._row_names else 0
                 for i in range(len(names))]  # fmt: skip
        needed = [max(wide, min(len(name) + 1, _MOST_TITLE)) for wide, name in zip(plain, names, strict=True)]
        spare = width - first - 2 - sum(n + 1 for n in needed)
        # The bar has a width of its own, so that lengths can be compared down a column.
        self._bar = max(0, min(_MOST_BAR, spare // max(1, len(names)) - 1))
        if self._bar < 4:
            self._bar = 0
        room = self._bar + 1 if self._bar else 0
        columns = [Column(str(i), name, needed[i] + room, "right", name) for i, name in enumerate(names)]
        return (Column("label", title, first, help=title), *columns)

    def _words(self, row: int, column: int) -> str:
        """The cell without its bar."""
        layout, load = self.at(str(row), column)
        one = self._comparison.rows[layout]
        entry, state = one.entries[load], state_of(one, load)
        if entry is None or entry.median is None:
            return glyphs().absent if state == NOT_MEASURED else signs(f"{MARKS[state]} {state}")
        spread = f" {spread_text(entry)}" if spread_text(entry) else ""
        share = f" {share_text(entry):>7}" if entry.of_baseline is not None else " " * 8
        mark = signs(f"{MARKS[PARTLY]} ") if state == PARTLY or entry.marks else ""
        return f"{mark}{rate_text(entry.median, self._comparison.units[load])}{spread}{share}"

    def _cell(self, row: int, column: int) -> Text:
        layout, load = self.at(str(row), column)
        one = self._comparison.rows[layout]
        entry, state = one.entries[load], state_of(one, load)
        words = Text(self._words(row, column), _LOOKS.get(state, ""))
        if not self._bar:
            return words
        best = self._best[load]
        known = entry is not None and entry.median is not None and best > 0
        share = 100 * (entry.median or 0) / best if known and entry is not None else 0.0
        return words.append(" ").append_text(bar(share, self._bar, "accent"))

    def _sorted(self, view: View) -> list[str]:
        keys = [str(index) for index in range(len(self._row_names))]
        if not view.sort or int(view.sort) >= len(self._column_names):
            return keys
        column = int(view.sort)

        def value(key: str) -> float:
            layout, load = self.at(key, column)
            entry = self._comparison.rows[layout].entries[load]
            return entry.median if entry is not None and entry.median is not None else -1.0

        return sorted(keys, key=value, reverse=view.descending)
