"""Several results side by side: a table of layouts × workloads, and what is to be known of the row under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from raidtui.base.text import clean
from raidtui.model.result import Result
from raidtui.results.compare import compare_many
from raidtui.results.comparison import Comparison
from raidtui.results.lines import MARKS, beside, confounder_lines, legend_lines, state_of, why
from raidtui.tui.results.grid import Grid, View
from raidtui.tui.results.sheet import BAD, MUTED, WARN, Sheet
from raidtui.tui.widgets.live_table import Column, LiveTable


class CompareTable(LiveTable):
    """Layouts × workloads."""

    HELP = """\
## Layouts × workloads

Each cell has the median over the rounds, how far the rounds are apart (±), its share of the baseline, and a bar: the best
of a workload is a full bar. ~ is not told apart from the baseline, ? has too few rounds to say. ✗ is a cell that is not
valid, or a layout that could not be built: it has no number.

**b** makes the layout under the cursor the baseline, **x** turns the table round, **e** exports it. A click on a title
sorts by it; the first title gives the order in which the layouts were measured.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "screen.baseline", "Baseline", id="compare.baseline", tooltip="The layout that others are % of"),
        Binding("x", "screen.turn", "Turn", id="compare.turn", tooltip="Workloads as rows, or layouts as rows"),
    ]


class CompareView(Vertical):
    """A comparison with its baseline, order and orientation."""

    DEFAULT_CSS = """
    CompareView > #compare-about { height: auto; max-height: 40%; margin: 1 0 0 0; scrollbar-size-vertical: 1; }
    CompareView > #compare-about > Static { height: auto; }
    CompareView > CompareTable { background: $background; }
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, classes="pane")
        self.comparison: Comparison | None = None
        self._results: tuple[Result, ...] = ()
        self._view = View()

    def compose(self) -> ComposeResult:
        yield CompareTable((Column("label", "Layout", 20),), id="compare-table", empty="nothing was measured")
        with VerticalScroll(id="compare-about", can_focus=False):
            yield Static()

    @property
    def table(self) -> CompareTable:
        return self.query_one(CompareTable)

    def show(self, results: Sequence[Result]) -> None:
        """Compare these."""
        self._results = tuple(results)
        self._view = View(turned=self._view.turned)
        self._take(compare_many(self._results))

    def set_baseline(self) -> str:
        """The layout under the cursor; where layouts are columns, the next one. Answers its name."""
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
        """Rows become columns."""
        self._view = View(turned=not self._view.turned)
        self._draw()

    def _take(self, comparison: Comparison) -> None:
        self.comparison = comparison
        count = len(comparison.sources)
        self.border_title = "Comparison" if count == 1 else f"Comparison of {count} results"
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    def _draw(self) -> None:
        if self.comparison is None:
            return
        table = self.table
        width = table.size.width or self.size.width - 4
        grid = Grid(self.comparison, self._view, width)
        table.columns = grid.columns
        table.sort_key = self._view.sort or None
        table.sort_descending = self._view.descending
        table.show(grid)
        table.redraw()
        self.border_subtitle = "h and l: sideways" if grid.width > width else ""
        self._tell(table.cursor_key)

    def _tell(self, key: str | None) -> None:
        """Below the table: what shares refer to, what is wrong in this row, and where the numbers are from."""
        comparison = self.comparison
        if comparison is None:
            return
        sheet = Sheet(self.size.width - 5)
        if comparison.baseline:
            sheet.para(f"% of {comparison.baseline}", style=MUTED)
        for layout, load in self._cells_of(comparison, key):
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
        for number, source in enumerate(comparison.sources, 1) if len(comparison.sources) > 1 else ():
            words = f"{source.scenario}, {source.host}, {source.started[:16].replace('T', ' ')}"
            sheet.para(f"{words}, {source.valid} of {source.cells} cells valid", mark=f"{number}:", style=MUTED)
        self.query_one("#compare-about > Static", Static).update(sheet.content())

    def _cells_of(self, comparison: Comparison, key: str | None) -> list[tuple[int, int]]:
        """Layout and workload of every cell in the row `key`."""
        if key is None:
            return []
        row = int(key)
        if self._view.turned:
            return [(layout, row) for layout in range(len(comparison.rows))] if row < len(comparison.workloads) else []
        return [(row, load) for load in range(len(comparison.workloads))] if row < len(comparison.rows) else []

    @on(LiveTable.Highlighted)
    def _reached(self, event: LiveTable.Highlighted) -> None:
        event.stop()
        self._tell(event.key)

    @on(LiveTable.HeaderPressed)
    def _sorted(self, event: LiveTable.HeaderPressed) -> None:
        event.stop()
        wanted = "" if event.key == "label" else event.key
        again = wanted and wanted == self._view.sort
        self._view = self._view._replace(sort=wanted, descending=not self._view.descending if again else True)
        self._draw()


def baseline_words(label: str) -> str:
    """What is said when another baseline was chosen."""
    return f"% of {clean(label, 60)}"
