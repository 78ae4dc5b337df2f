"""Comparison of results: layouts × workloads, or old against new, with notes on the row under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from raidtui.base.text import clean
from raidtui.model.result import Result
from raidtui.results.compare import compare_many
from raidtui.results.comparison import Comparison
from raidtui.results.lines import (
    INVALID,
    MARKS,
    NOT_BUILT,
    NOT_MEASURED,
    PARTLY,
    beside,
    confounder_lines,
    legend_lines,
    share_text,
    spread_text,
    state_of,
    why,
)
from raidtui.results.old_new import verdict_lines
from raidtui.results.rates import rate_text
from raidtui.results.verdicts import MOST_WORKLOADS, answer_lines
from raidtui.tui.results.pages import BAD, MUTED, WARN, Sheet, signs
from raidtui.tui.results.pair_grid import PairGrid, pair_notes
from raidtui.tui.results.sweep_grid import SweepGrid, draw_curves, knee_of_row
from raidtui.tui.widgets.glyphs import bar, glyphs
from raidtui.tui.widgets.live_table import LiveTable
from raidtui.tui.widgets.table_line import Column
from raidtui.tui.widgets.table_view import Rows

_LOOKS = {PARTLY: "warn", INVALID: "alert", NOT_BUILT: "alert", NOT_MEASURED: "dim"}
_MOST_TITLE = 28
_MOST_PLOT = 24
"""Lines of a plot."""
_MOST_BAR = 16
_FEW_WORKLOADS = 2
"""Workloads that the answer says in a pane of fewer than `_TALL` rows."""
_TALL = 30


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


class Grid(Rows):
    """Rows and columns of the comparison, for a table `width` cells wide."""

    def __init__(self, comparison: Comparison, view: View, width: int) -> None:
        self._comparison = comparison
        self._turned = view.turned
        heads = [f"{name} {unit}" for name, unit in zip(comparison.workloads, comparison.units, strict=True)]
        labels = [row.label for row in comparison.rows]
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
        name = self._row_names[row]
        label = Text(name, "bold") if not self._turned and name == self._comparison.baseline else name
        return [label, *(self._cell(row, column) for column in range(len(self._column_names)))]

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
            return glyphs().absent if state == NOT_MEASURED else signs(f"{MARKS[state]} {state}")
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
        return words.append(" ").append_text(bar(share, self._bar, "accent"))

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


class CompareTable(LiveTable):
    """Layouts × workloads. A LiveTable, not a DataTable: it cuts flexible columns to the width and sends fewer bytes."""

    HELP = """\
## Layouts × workloads

Each cell has the geometric mean of the rounds (the median where one is 0), half of what the best and the worst round are
apart (±, in percent of it), its share of the baseline, and a bar: the best of a workload is a full bar. ▲ and ▼ are told
apart from the baseline, ~ is not; a share without a sign has too few rounds to say. ✗ is a cell that is not valid, or a
layout that could not be built: it has no number.

**b** makes the layout under the cursor the baseline, **x** turns the table round, **e** exports it. A click on a title
sorts by it; the first title gives the order in which the layouts were measured.

## Old against new

Two results of one scenario are shown in pairs, the older one as old and the best pair first: the change with its 95 %
interval, and the verdict. **p** goes to layouts × workloads and back.

## Sweeps

**s** goes to the first sweep, from there to the next one, and after the last one back. Rows are the points of each curve:
queue depth × jobs, IOPS, their share of the curve's best, latency. The knee is marked. Below, the curves are drawn: IOPS to
the right, latency upwards, the curve of the row under the cursor over the others.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "screen.baseline", "Baseline", id="compare.baseline", tooltip="The layout that others are % of"),
        Binding("x", "screen.turn", "Turn", id="compare.turn", tooltip="Workloads as rows, or layouts as rows"),
        Binding("s", "screen.sweep", "Sweep", id="compare.sweep", tooltip="Curves of IOPS against latency, and back"),
        Binding("p", "screen.pairs", "Old/new", id="compare.pairs", tooltip="Old against new, or layouts × workloads"),
    ]


class CompareView(Vertical):
    """A comparison with its baseline, order and orientation."""

    DEFAULT_CSS = """
    CompareView > #compare-about { height: auto; max-height: 35%; margin: 1 0 0 0; scrollbar-size-vertical: 1; }
    CompareView > #compare-about > Static { height: auto; }
    CompareView > #compare-answer { height: auto; max-height: 30%; margin: 0 0 1 0; scrollbar-size-vertical: 1; }
    CompareView > #compare-answer > Static { height: auto; }
    CompareView.-sweep > #compare-about { max-height: 70%; }
    CompareView > CompareTable { background: $background; }
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, classes="pane")
        self.comparison: Comparison | None = None
        self._plain: Comparison | None = None
        """The comparison without a chosen baseline, which has the pairs of old and new."""
        self._results: tuple[Result, ...] = ()
        self._view = View()

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="compare-answer", can_focus=False):
            yield Static()
        yield CompareTable((Column("label", "Layout", 20),), id="compare-table", empty="nothing was measured")
        with VerticalScroll(id="compare-about", can_focus=False):
            yield Static()

    @property
    def table(self) -> CompareTable:
        return self.query_one(CompareTable)

    def show(self, results: Sequence[Result]) -> None:
        older_first = len(results) == 2 and results[0].scenario.get("name") == results[1].scenario.get("name")
        self._results = tuple(sorted(results, key=lambda one: one.started) if older_first else results)
        self._plain = compare_many(self._results)
        self._view = View(turned=self._view.turned, pairs=bool(self._plain.pairs))
        self._take(self._plain)

    @property
    def has_pairs(self) -> bool:
        """True if these are two results of one scenario."""
        return self._plain is not None and bool(self._plain.pairs)

    @property
    def shows_pairs(self) -> bool:
        return self._view.pairs

    @property
    def shows_sweep(self) -> bool:
        return self._view.sweep > 0

    @property
    def has_sweeps(self) -> bool:
        return self.comparison is not None and bool(self.comparison.sweeps)

    def step_sweep(self) -> None:
        """Go to the next sweep, and from the last one back to what was shown before."""
        if self.comparison is not None:
            self._view = self._view._replace(sweep=(self._view.sweep + 1) % (len(self.comparison.sweeps) + 1))
            self._take(self.comparison)

    def swap(self) -> None:
        """Go from the pairs to layouts × workloads, or back."""
        if self._plain is not None and self.has_pairs:
            self._view = View(turned=self._view.turned, pairs=not self._view.pairs)
            self._take(self._plain)

    def set_baseline(self) -> str:
        """Make the layout under the cursor, or the next one if layouts are columns, the baseline. Return its name."""
        key, comparison = self.table.cursor_key, self.comparison
        if comparison is None or key is None:
            return ""
        labels = [row.label for row in comparison.rows]
        if self._view.turned:
            at = labels.index(comparison.baseline) if comparison.baseline in labels else -1
            label = labels[(at + 1) % len(labels)]
        else:
            label = labels[int(key)]
        self._take(compare_many(self._results, label))
        return label

    def turn(self) -> None:
        self._view = View(turned=not self._view.turned)
        self._draw()

    def _take(self, comparison: Comparison) -> None:
        self.comparison = comparison
        count = len(comparison.sources)
        title = "Comparison" if count == 1 else f"Comparison of {count} results"
        self.border_title = Text(self._sweep_title(comparison)) or ("Old against new" if self._view.pairs else title)
        self.set_class(self.shows_sweep, "-sweep")
        self._draw()

    def _sweep_title(self, comparison: Comparison) -> str:
        """Return the name of the sweep that is shown, and its number where there are several; empty without one."""
        if not self.shows_sweep:
            return ""
        count = len(comparison.sweeps)
        place = f" ({self._view.sweep} of {count})" if count > 1 else ""
        return f"Sweep {clean(comparison.sweeps[self._view.sweep - 1].name, 40)}{place}"

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    def _draw(self) -> None:
        if self.comparison is None:
            return
        table = self.table
        width = table.size.width or self.size.width - 4
        grid: SweepGrid | PairGrid | Grid
        if self.shows_sweep:
            grid = SweepGrid(self.comparison.sweeps[self._view.sweep - 1], width)
        elif self._view.pairs:
            grid = PairGrid(self.comparison, width)
        else:
            grid = Grid(self.comparison, self._view, width)
        table.columns = grid.columns
        table.sort_by(self._view.sort or None, self._view.descending)
        table.show(grid)
        table.redraw()
        self.border_subtitle = "h and l: sideways" if grid.width > width else ""
        self._show_answer(self.comparison)
        self._show_row()

    def _show_answer(self, comparison: Comparison) -> None:
        """Show the answer in words above the table."""
        sheet = Sheet(self.size.width - 5)
        most = _FEW_WORKLOADS if self.size.height < _TALL else MOST_WORKLOADS
        lines = list(verdict_lines(comparison)) if self._view.pairs else answer_lines(comparison, most)
        if isinstance(self.table.rows, SweepGrid):
            lines = [knee_of_row(self.table.rows, self.table.cursor_key)]
        for line in lines:
            sheet.para(line)
        self.query_one("#compare-answer").display = bool(lines)
        self.query_one("#compare-answer > Static", Static).update(sheet.content())

    def _show_row(self) -> None:
        """Show what is to be known of the row under the cursor below the table."""
        rows, comparison = self.table.rows, self.comparison
        if comparison is not None and isinstance(rows, Grid):
            self._show_notes(comparison, rows.row(self.table.cursor_key))
        elif comparison is not None and isinstance(rows, PairGrid):
            sheet = Sheet(self.size.width - 5)
            pair_notes(sheet, comparison, rows, self.table.cursor_key)
            self._sources(sheet, comparison)
        elif comparison is not None and isinstance(rows, SweepGrid):
            self._show_answer(comparison)
            sheet = Sheet(self.size.width - 5)
            room = max(self.size.height * 2 // 5, self.size.height - len(rows.keys) - 9)
            draw_curves(sheet, rows, self.table.cursor_key, min(_MOST_PLOT, room))
            self.query_one("#compare-about > Static", Static).update(sheet.content())

    def _show_notes(self, comparison: Comparison, cells: list[tuple[int, int]]) -> None:
        """Show the baseline, the notes on these cells and the sources below the table."""
        sheet = Sheet(self.size.width - 5)
        if comparison.baseline:
            sheet.para(f"% of {comparison.baseline} (bold); {MARKS[PARTLY]}: a round is not valid, or has a note; a sign's "
                       "colour says the same; the bar of a workload's best is full", style=MUTED)  # fmt: skip
        for layout, load in cells:
            row = comparison.rows[layout]
            if reason := why(row, load):
                state = state_of(row, load)
                sheet.para(f"{row.label}, {comparison.workloads[load]}: {state}: {reason}", mark=MARKS[state],
                           style=BAD if MARKS[state] == "✗" else WARN)  # fmt: skip
            if words := beside(row, load):
                sheet.para(f"{row.label}, {comparison.workloads[load]}: {words}", mark="⚠", style=WARN)
        for line in legend_lines(comparison):
            sheet.para(line, style=MUTED)
        for note in [*comparison.notes, *confounder_lines(comparison)]:
            sheet.para(note, mark="⚠", style=WARN)
        self._sources(sheet, comparison)

    def _sources(self, sheet: Sheet, comparison: Comparison) -> None:
        for number, source in enumerate(comparison.sources, 1) if len(comparison.sources) > 1 else ():
            words = f"{source.scenario}, {source.host}, {source.started[:16].replace('T', ' ')}"
            sheet.para(f"{words}, {source.valid} of {source.cells} cells valid", mark=f"{number}:", style=MUTED)
        self.query_one("#compare-about > Static", Static).update(sheet.content())

    @on(LiveTable.Highlighted)
    def _reached(self, event: LiveTable.Highlighted) -> None:
        event.stop()
        self._show_row()

    @on(LiveTable.HeaderPressed)
    def _sorted(self, event: LiveTable.HeaderPressed) -> None:
        event.stop()
        if self._view.pairs or self.shows_sweep:
            return
        wanted = "" if event.key == "label" else event.key
        again = wanted and wanted == self._view.sort
        self._view = self._view._replace(sort=wanted, descending=not self._view.descending if again else True)
        self._draw()
