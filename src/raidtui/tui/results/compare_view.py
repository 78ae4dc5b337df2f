"""Comparison of results: layouts × workloads, or old against new, with notes on the row under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from raidtui.base.text import clean
from raidtui.model.result import Result
from raidtui.results.compare import compare_many
from raidtui.results.comparison import Comparison
from raidtui.results.lines import (
    MARKS,
    OTHER_RATE,
    PARTLY,
    beside,
    confounder_lines,
    legend_lines,
    state_of,
    why,
)
from raidtui.results.metrics import METRICS, Metric, metric_lines, metrics_of
from raidtui.results.old_new import verdict_lines
from raidtui.results.verdicts import MOST_WORKLOADS, answer_lines
from raidtui.tui.results.compare_charts import CompareCharts, is_drawable
from raidtui.tui.results.grid import Grid, View
from raidtui.tui.results.pages import BAD, MUTED, WARN, Sheet
from raidtui.tui.results.pair_grid import PairGrid, pair_notes
from raidtui.tui.results.sweep_grid import SweepGrid, draw_curves, knee_of_row
from raidtui.tui.widgets.live_table import LiveTable
from raidtui.tui.widgets.table_line import Column

_MOST_PLOT = 24
"""Lines of a plot."""
_FEW_WORKLOADS = 2
"""Workloads that the answer says in a pane of fewer than `_TALL` rows."""
_TALL = 30
_BESIDE, _BESIDE_PAIRS = 140, 180
"""Width from which charts stand beside the table, and beside the wider one of pairs."""
_CHARTS = 0.42
"""Share of the width that they take there."""


class CompareTable(LiveTable):
    """Layouts × workloads. A LiveTable, not a DataTable: it cuts flexible columns to the width and sends fewer bytes."""

    HELP = """\
## Layouts × workloads

Each cell has the geometric mean of the rounds (the median where one is 0), half of what the best and the worst round are
apart (±, in percent of it), its share of the baseline, and a bar: a workload's largest is full. ▲ and ▼ are told apart
from the baseline, ~ is not; a share without a sign has too few rounds to say. ✗ is a cell that is not valid, or a
layout that could not be built: it has no number.

Every layout has one letter and one colour in the table and in all charts.

**m** goes to the next metric, **M** back: the rate, percentiles of latency, CPU cores that storage took, the rate for each
of them, both for a cluster's daemons, write amplification, as far as they were measured. Shares, signs and pairs are then
of that metric.

**v** shows the charts of a workload instead of the table, where there is no room for them beside it: latency by percentile
and the rate by second, all layouts over each other. `.` and `,` go to the next and the previous workload.

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


class CompareView(Vertical):
    """A comparison with its baseline, order and orientation."""

    DEFAULT_CSS = """
    CompareView #compare-left { width: 1fr; }
    CompareView #compare-about { height: auto; max-height: 35%; margin: 1 0 0 0; scrollbar-size-vertical: 1; }
    CompareView #compare-about > Static { height: auto; }
    CompareView #compare-answer { height: auto; max-height: 30%; margin: 0 0 1 0; scrollbar-size-vertical: 1; }
    CompareView #compare-answer > Static { height: auto; }
    CompareView.-sweep #compare-about { max-height: 70%; }
    CompareView CompareTable { background: $background; }
    CompareView CompareCharts { display: none; width: 1fr; }
    CompareView.-beside CompareCharts { display: block; margin: 0 0 0 2; }
    CompareView.-beside.-letters #compare-names { display: none; }
    CompareView.-charts CompareCharts { display: block; }
    CompareView.-charts #compare-left { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "screen.metric(1)", "Metric", id="compare.metric", tooltip="The next metric: latencies, cores, …"),
        Binding("M", "screen.metric(-1)", "Metric", id="compare.metric_back", tooltip="The metric before", show=False),
        Binding("b", "screen.baseline", "Baseline", id="compare.baseline", tooltip="The layout that others are % of"),
        Binding("x", "screen.turn", "Turn", id="compare.turn", tooltip="Workloads as rows, or layouts as rows"),
        Binding("v", "screen.charts", "Charts", id="compare.charts", tooltip="Charts of a workload, or the table"),
        Binding("full_stop", "screen.workload(1)", "Workload", id="compare.workload", tooltip="Charts of the next one"),
        Binding("comma", "screen.workload(-1)", "Workload", id="compare.workload_back", show=False,
                tooltip="Charts of the workload before"),
        Binding("s", "screen.sweep", "Sweep", id="compare.sweep", tooltip="Curves of IOPS against latency, and back"),
        Binding("p", "screen.pairs", "Old/new", id="compare.pairs", tooltip="Old against new, or layouts × workloads"),
    ]  # fmt: skip

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, classes="pane")
        self.comparison: Comparison | None = None
        self._plain: Comparison | None = None
        """The comparison of rates without a chosen baseline, which has the pairs of old and new."""
        self._metrics: list[Metric] = ["rate"]
        self._drawable = False
        """True if a cell has what charts are drawn of."""
        self._results: tuple[Result, ...] = ()
        self._view = View()

    def compose(self) -> ComposeResult:
        with Horizontal():
            with Vertical(id="compare-left"):
                with VerticalScroll(id="compare-answer", can_focus=False):
                    yield Static()
                yield CompareTable((Column("label", "Layout", 20),), id="compare-table", empty="nothing was measured")
                with VerticalScroll(id="compare-about", can_focus=False):
                    yield Static()
            yield CompareCharts(id="compare-charts")

    @property
    def table(self) -> CompareTable:
        return self.query_one(CompareTable)

    def show(self, results: Sequence[Result]) -> None:
        older_first = len(results) == 2 and results[0].scenario.get("name") == results[1].scenario.get("name")
        self._results = tuple(sorted(results, key=lambda one: one.started) if older_first else results)
        self._plain = compare_many(self._results)
        self._metrics = metrics_of(self._plain)
        self._drawable = is_drawable(self._plain)
        kept = self._view.metric if self._view.metric in self._metrics else "rate"
        self._view = View(turned=self._view.turned, pairs=bool(self._plain.pairs), metric=kept, charts=self._view.charts)
        self._take(self._compared(""))

    @property
    def has_pairs(self) -> bool:
        """True if these are two results of one scenario."""
        return self._plain is not None and bool(self._plain.pairs)

    @property
    def of_rates(self) -> Comparison | None:
        """The comparison as files have it: of rates, with the chosen baseline."""
        if self._view.metric == "rate" or self.comparison is None or self._plain is None:
            return self.comparison
        chosen = self.comparison.baseline
        return self._plain if self._view.pairs or chosen == self._plain.baseline else compare_many(self._results, chosen)

    def _compared(self, baseline: str) -> Comparison:
        """Return the comparison by the present metric; without a baseline, with pairs."""
        if self._view.metric == "rate" and not baseline and self._plain is not None:
            return self._plain
        return compare_many(self._results, baseline, metric=self._view.metric)

    def step_metric(self, way: int) -> None:
        """Compare by the next metric that was measured. The baseline stays."""
        if self.comparison is not None:
            place = self._metrics.index(self._view.metric) + way
            self._view = self._view._replace(metric=self._metrics[place % len(self._metrics)], sort="")
            self._take(self._compared("" if self._view.pairs else self.comparison.baseline))

    @property
    def has_metrics(self) -> bool:
        return len(self._metrics) > 1

    def step_workload(self, way: int) -> None:
        """Show the charts of another workload."""
        if self.comparison is not None and self.comparison.workloads:
            place = (self._view.workload + way) % len(self.comparison.workloads)
            self._view = self._view._replace(workload=place)
            self._show_charts()

    def swap_charts(self) -> None:
        """Show the charts instead of the table, or the table again."""
        self._view = self._view._replace(charts=not self._view.charts)
        self._arrange()
        self.take_focus()

    def take_focus(self) -> None:
        """Focus what is shown: the table, or the first chart."""
        (self.query_one("#compare-percentiles") if self.has_class("-charts") else self.table).focus()

    @property
    def has_charts(self) -> bool:
        """True if charts are in view."""
        return self.has_class("-charts") or self.has_class("-beside")

    def _arrange(self) -> None:
        """Place the charts beside the table, or one of both over the whole width. Curves of a sweep take all of it."""
        least = _BESIDE_PAIRS if self._view.pairs else _BESIDE
        beside = self.size.width >= least and self._drawable and not self.shows_sweep
        self.set_class(beside, "-beside")
        self.set_class(not self._view.pairs, "-letters")
        self.set_class(self._view.charts and not beside and not self.shows_sweep, "-charts")
        charts = self.query_one(CompareCharts)
        charts.styles.width = int(self.size.width * _CHARTS) if beside else "1fr"
        self._show_charts()

    @property
    def _room(self) -> int:
        """Width of what is left of the charts."""
        return self.size.width - (int(self.size.width * _CHARTS) + 2 if self.has_class("-beside") else 0)

    def _show_charts(self) -> None:
        if self._plain is not None and self.has_charts:
            self.query_one(CompareCharts).show(self._plain, *self._charted(self._plain))

    def _charted(self, comparison: Comparison) -> tuple[int, int | None]:
        """Return the numbers of the workload of the charts, and of the layout that is drawn in front."""
        rows, key = self.table.rows, self.table.cursor_key
        if isinstance(rows, PairGrid) and (pair := rows.pair(key)) is not None:
            new = next((place for place, row in enumerate(comparison.rows) if row.label == pair.labels[1]), None)
            return comparison.workloads.index(pair.workload), new
        cells = rows.row(key) if isinstance(rows, Grid) else []
        if cells and self._view.turned:
            return cells[0][1], None
        return self._view.workload, cells[0][0] if cells else None

    @property
    def follows_cursor(self) -> bool:
        """True if the row under the cursor says of which workload the charts are."""
        return self._view.turned or self._view.pairs

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
            self._view = self._view._replace(pairs=not self._view.pairs, sort="")
            self._take(self._compared(""))

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
        self._take(self._compared(label))
        return label

    def turn(self) -> None:
        self._view = self._view._replace(turned=not self._view.turned, sort="")
        self._draw()

    def _take(self, comparison: Comparison) -> None:
        self.comparison = comparison
        count = len(comparison.sources)
        title = "Comparison" if count == 1 else f"Comparison of {count} results"
        shown = self._sweep_title(comparison) or ("Old against new" if self._view.pairs else title)
        by = "" if self._view.metric == "rate" or self.shows_sweep else f" · {METRICS[self._view.metric]}"
        self.border_title = Text(f"{shown}{by}")
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
        self._arrange()
        table, width = self.table, self._room
        grid: SweepGrid | PairGrid | Grid
        if self.shows_sweep:
            labels = [row.label for row in self.comparison.rows]
            grid = SweepGrid(self.comparison.sweeps[self._view.sweep - 1], labels, width)
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
        sheet = Sheet(self._room - 5)
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
            sheet = Sheet(self._room - 5)
            pair_notes(sheet, comparison, rows, self.table.cursor_key)
            self._sources(sheet, comparison)
        elif comparison is not None and isinstance(rows, SweepGrid):
            self._show_answer(comparison)
            sheet = Sheet(self._room - 5)
            room = max(self.size.height * 2 // 5, self.size.height - len(rows.keys) - 9)
            draw_curves(sheet, rows, self.table.cursor_key, min(_MOST_PLOT, room))
            self.query_one("#compare-about > Static", Static).update(sheet.content())

    def _show_notes(self, comparison: Comparison, cells: list[tuple[int, int]]) -> None:
        """Show the baseline, the notes on these cells and the sources below the table."""
        sheet = Sheet(self._room - 5)
        if comparison.baseline:
            sheet.para(f"% of {comparison.baseline} (bold); {MARKS[PARTLY]}: a round is not valid, or has a note; a sign's "
                       "colour says the same; the bar of a workload's largest number is full", style=MUTED)  # fmt: skip
        for layout, load in cells:
            row = comparison.rows[layout]
            state = state_of(row, load)
            if (reason := why(row, load)) and not (state == OTHER_RATE and self._view.metric != "rate"):
                sheet.para(f"{row.label}, {comparison.workloads[load]}: {state}: {reason}", mark=MARKS[state],
                           style=BAD if MARKS[state] == "✗" else WARN)  # fmt: skip
            if words := beside(row, load):
                sheet.para(f"{row.label}, {comparison.workloads[load]}: {words}", mark="⚠", style=WARN)
        for line in [*metric_lines(self._view.metric), *legend_lines(comparison)]:
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
        self._show_charts()

    @on(LiveTable.HeaderPressed)
    def _sorted(self, event: LiveTable.HeaderPressed) -> None:
        event.stop()
        if self._view.pairs or self.shows_sweep:
            return
        wanted = "" if event.key == "label" else event.key
        again = wanted and wanted == self._view.sort
        self._view = self._view._replace(sort=wanted, descending=not self._view.descending if again else True)
        self._draw()
