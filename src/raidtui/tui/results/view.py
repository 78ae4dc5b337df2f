"""One result on the screen: pages of text, its cells, charts of one cell, and the work of each device."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static

from raidtui.base.text import clean
from raidtui.front.phrases import mark_words
from raidtui.model.mark import Mark
from raidtui.model.measure import Direction, Sample
from raidtui.model.result import Cell, Result, marks_of
from raidtui.results.accounting import accounts
from raidtui.results.extract import extract
from raidtui.results.lines import cell_words
from raidtui.results.rates import directions, label_of, latency_text, mb_s_text, rate, rate_text, ratio_text, unit_of
from raidtui.tui.results import pages
from raidtui.tui.results.pages import signs
from raidtui.tui.widgets.chart import Chart, SharedTime
from raidtui.tui.widgets.chart_picture import Series
from raidtui.tui.widgets.glyphs import glyphs, spark
from raidtui.tui.widgets.live_table import LiveTable
from raidtui.tui.widgets.table_line import Column
from raidtui.tui.widgets.table_view import Rows

CELL_COLUMNS = (
    Column("mark", "", 1, help="✓: valid; ⚠: valid with a note; ✗: invalid"),
    Column("layout", "Layout", 10, help="Layout, and the disk where it is measured disk by disk", flexible=True),
    Column("workload", "Workload", 10, flexible=True),
    Column("round", "Rnd", 3, "right", "Round"),
    Column("rate", "Rate", 12, "right", "Operations or megabytes per second, all directions together"),
    Column("mean", "Mean", 9, "right", "Mean completion latency"),
    Column("p99", "p99", 9, "right", "99 of 100 operations were faster"),
    Column("amplification", "W.amp", 5, "right", "Bytes written to members, per byte that the workload wrote"),
    Column("cores", "Cores", 5, "right", "CPU cores used"),
)

DEVICE_COLUMNS = (
    Column("name", "Device", 8, help="Kernel name at the time of the run"),
    Column("role", "Role", 7, help="Role in the layout"),
    Column("disk", "Disk", 8, help="The disk's id", flexible=True),
    Column("read", "Read MB", 8, "right", "Read during the cell"),
    Column("written", "Write MB", 8, "right", "Written during the cell"),
    Column("r_await", "r_await", 8, "right", "Mean time of a read"),
    Column("w_await", "w_await", 8, "right", "Mean time of a write"),
    Column("util", "%util", 5, "right", "Mean utilisation"),
    Column("history", "History", 6, help="Utilisation at the end of the cell; a full block is 100 %"),
)


class CellRows(Rows):
    """Table rows of a result's cells, by cell id."""

    def __init__(self, result: Result | None) -> None:
        self._cells = {cell.id: cell for cell in result.cells} if result else {}
        self.keys = list(self._cells)

    def cells(self, key: str) -> Sequence[str | Text]:
        """Return the cells of one row; invalid cells show no numbers."""
        cell = self._cells[key]
        unit = unit_of([cell])
        moved = directions(cell.summary)
        tails = [d.latency.p99_us for d in moved if d.latency.p99_us is not None]
        mean = moved[0].latency.mean_us if len(moved) == 1 else None
        mark = Text(signs("✗"), "alert")
        if cell.valid:
            mark = Text(signs("⚠"), "warn") if cell.marks else Text(signs("✓"), "good")
        head: list[str | Text] = [mark, label_of(cell), cell.workload, str(cell.round)]
        if not cell.valid:
            return [*head, Text("invalid", "alert"), "", "", "", ""]
        return [
            *head, f"{rate_text(rate(cell, unit), unit)} {unit}", latency_text(mean),
            latency_text(max(tails, default=None)), ratio_text(cell.write_amplification),
            glyphs().absent if cell.cpu_cores_used is None else f"{cell.cpu_cores_used:.2f}",
        ]  # fmt: skip


class DeviceRows(Rows):
    """Table rows of a cell's devices: the target first, then its members."""

    def __init__(self, cell: Cell | None) -> None:
        self._devices = cell.devices if cell else {}
        self.keys = sorted(self._devices, key=lambda name: (self._devices[name].role != "target", name))

    def cells(self, key: str) -> Sequence[str | Text]:
        use = self._devices[key]
        return [
            key, use.role, use.disk or glyphs().absent, mb_s_text(use.read_bytes), mb_s_text(use.written_bytes),
            _await(use.mean_read_await_ms), _await(use.mean_write_await_ms),
            glyphs().absent if (busy := use.mean_utilisation_percent) is None else f"{busy:.0f}",
            spark(use.series.get("util_percent", ()), 6, top=100.0),
        ]  # fmt: skip


def _await(ms: float | None) -> str:
    return latency_text(None if ms is None else ms * 1000)


def latency_series(cell: Cell) -> list[Series]:
    """Return mean, p99 and, if known, longest completion latency in ms, of the slowest direction."""
    found = []
    for name, field in (("mean", "mean_us"), ("p99", "p99_us"), ("max", "max_us")):
        points = [(sample.at_s, _slowest(sample, field)) for sample in cell.samples]
        # The longest latency of an interval is known only where it was the longest so far: a few points make no line.
        if 2 * sum(value is not None for _, value in points) > len(points):
            found.append(Series(name, points))
    return found


def device_series(cell: Cell, name: str) -> list[Series]:
    """Return MB/s read and written by one device."""
    use = cell.devices.get(name)
    found = []
    for words, key in (("read", "read_bytes_per_s"), ("write", "written_bytes_per_s")):
        values = use.series.get(key, []) if use else []
        points = [(at, None if v is None else v / 1e6) for at, v in zip(cell.device_at_s, values, strict=False)]
        if points:
            found.append(Series(words, points))
    return found


def _by_direction(cell: Cell, value: Callable[[Direction], float]) -> list[Series]:
    """Return one line for each direction that moved data."""
    found = []
    for name in ("read", "write", "trim"):
        given: list[tuple[float, Direction | None]] = [(sample.at_s, getattr(sample, name)) for sample in cell.samples]
        if any(direction is not None for _, direction in given):
            found.append(Series(name, [(at, None if d is None else value(d)) for at, d in given]))
    return found


def _slowest(sample: Sample, field: str) -> float | None:
    values = [us / 1000 for direction in sample.moved if (us := getattr(direction.latency, field)) is not None]
    return max(values, default=None)


CHARTS: tuple[tuple[str, str, str, Callable[[Cell], list[Series]]], ...] = (
    ("rate", "Throughput", " MB/s", lambda cell: _by_direction(cell, lambda found: found.bytes_per_s / 1e6)),
    ("iops", "IOPS", "", lambda cell: _by_direction(cell, lambda found: found.iops)),
    ("latency", "Latency", " ms", latency_series),
)
"""Charts of a cell: id, title, unit, and the function that makes their lines."""


def account_words(result: Result) -> dict[str, str]:
    """Return the account of each valid cell by id, except for bare disks."""
    one, cells = extract(result), {cell.id: cell for cell in result.cells}
    names = ({name: name for name in one.layouts}, {name: name for name in one.workloads})
    return {
        id_: signs(clean(cell_words(found, unit_of([cells[id_]])), 4096))
        for found in accounts([one], names[:1], names[1:])
        for id_ in found.cells
    }


PAGES = {
    "summary": "Summary",
    "cells": "Cells",
    "charts": "Charts",
    "devices": "Devices",
    "built": "Built",
    "machine": "Machine",
    "commands": "Commands",
}
OF_A_CELL = ("charts", "devices")
"""Pages about one cell."""

Making = Callable[[Result, int], Content]


class Page(VerticalScroll):
    """Page of text, made again for every width."""

    HELP = """\
## A page of a result

Up, down, page up and page down scroll. `[` and `]` go to the other pages, **escape** back to the list.
"""
    DEFAULT_CSS = """
    Page { scrollbar-size-vertical: 1; scrollbar-gutter: stable; padding: 0; background: $background; }
    Page > Static { height: auto; }
    """

    def __init__(self, make: Making, *, id: str) -> None:
        super().__init__(id=id)
        self._make = make
        self._result: Result | None = None
        self._for_width = 0

    def compose(self) -> ComposeResult:
        yield Static()

    def show(self, result: Result | None) -> None:
        """Show another result, scrolled to the top."""
        self._result, self._for_width = result, 0
        self.scroll_home(animate=False)
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        if width > 0 and width != self._for_width:
            self._for_width = width
            self.query_one(Static).update(self._make(self._result, width) if self._result else Content(""))


class CellChart(Chart):
    """Chart of one cell. Its escape key removes the playhead; without one, the screen's escape leaves the result."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.cursor_s is not None if action == "live" else super().check_action(action, parameters)


class ResultView(Vertical):
    """Pages of one result. `show` sets the result, `page` the visible page."""

    DEFAULT_CSS = """
    ResultView > #page-bar { height: 1; margin: 0 0 1 0; }
    ResultView .tab { width: auto; padding: 0 1; color: $text-muted; }
    ResultView .tab:hover { color: $foreground; text-style: underline; }
    ResultView .tab.-here { background: $primary; color: $background; text-style: bold; }
    ResultView .tab.-here:nocolor { text-style: bold reverse; }
    ResultView > #result-pages { height: 1fr; }
    ResultView LiveTable { background: $background; }
    ResultView .cell-name { height: 1; color: $foreground; text-style: bold; }
    ResultView #cell-reasons { height: auto; max-height: 5; margin: 1 0 0 0; color: $text-warning; }
    ResultView #cell-reasons.-account { color: $text-muted; }
    ResultView #device-table { height: 2fr; }
    ResultView #device-chart { height: 1fr; margin: 1 0 0 0; background: $background; }
    ResultView SharedTime Chart { background: $background; }
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, classes="pane")
        self.result: Result | None = None
        self._cell_id: str | None = None
        self._accounts: dict[str, str] = {}
        """Account of each cell, by cell id."""

    def compose(self) -> ComposeResult:
        with Horizontal(id="page-bar"):
            for page, words in PAGES.items():
                yield Static(words, id=f"tab-{page}", classes="tab")
        with ContentSwitcher(initial="summary", id="result-pages"):
            yield Page(pages.summary, id="summary")
            with Vertical(id="cells"):
                yield LiveTable(CELL_COLUMNS, id="cell-table", empty="nothing was measured")
                yield Static(id="cell-reasons")
            with Vertical(id="charts"):
                yield Static(classes="cell-name")
                with SharedTime():
                    for name, title, unit, _ in CHARTS:
                        yield CellChart(title, id=f"chart-{name}", unit=unit, window_s=None, empty="no series was kept",
                                        axis=unit.strip() or title)  # fmt: skip
            with Vertical(id="devices"):
                yield Static(classes="cell-name")
                yield LiveTable(DEVICE_COLUMNS, id="device-table", empty="no device was watched")
                yield CellChart("Device", id="device-chart", unit=" MB/s", window_s=None, empty="no series was kept")
            yield Page(pages.built, id="built")
            yield Page(pages.machine, id="machine")
            yield Page(pages.commands, id="commands")

    def on_mount(self) -> None:
        self._mark_tab()

    @property
    def page(self) -> str:
        """Name of the visible page."""
        return self.query_one(ContentSwitcher).current or "summary"

    @page.setter
    def page(self, name: str) -> None:
        """Show another page; a focus inside moves along."""
        focused = self.screen.focused
        inside = focused is not None and self in focused.ancestors
        self.query_one(ContentSwitcher).current = name
        self._mark_tab()
        if inside:
            self.take_focus()

    def step_page(self, way: int) -> None:
        names = list(PAGES)
        self.page = names[(names.index(self.page) + way) % len(names)]

    def take_focus(self) -> None:
        target: Widget = self.query_one(f"#{self.page}")
        if not target.can_focus:
            target = next(child for child in target.query("*") if child.can_focus)
        target.focus()

    def show(self, result: Result | None) -> None:
        """Show another result, or none."""
        self.result = result
        name = clean(result.scenario.get("name", "")) if result else ""
        self.border_title = Text(name or "Result")
        self.border_subtitle = Text("a rehearsal: not for comparing") if result and result.rehearsal else ""
        for page in self.query(Page):
            page.show(result)
        self.query_one("#cell-table", LiveTable).show(CellRows(result))
        self._accounts = account_words(result) if result else {}
        first = result.cells[0].id if result and result.cells else None
        self._show_cell(first)

    @property
    def cell(self) -> Cell | None:
        """Cell whose charts and devices are shown."""
        cells = self.result.cells if self.result else ()
        return next((cell for cell in cells if cell.id == self._cell_id), None)

    def step_cell(self, way: int) -> None:
        """Show the charts and devices of the cell `way` places further."""
        ids = [cell.id for cell in self.result.cells] if self.result else []
        if self._cell_id in ids:
            self._show_cell(ids[(ids.index(self._cell_id) + way) % len(ids)])

    def _show_cell(self, id_: str | None) -> None:
        self._cell_id = id_
        cell = self.cell
        if id_ is not None:
            self.query_one("#cell-table", LiveTable).cursor_key = id_
        for line in self.query(".cell-name").results(Static):
            line.update(self._cell_words(cell))
        said = [*map(_mark_line, marks_of(cell) if cell else ()), self._accounts.get(id_ or "", "")]
        self.query_one("#cell-reasons", Static).update(Text("\n".join(filter(None, said))))
        self.query_one("#cell-reasons").set_class(not said[:-1], "-account")
        for name, *_, series in CHARTS:
            self.query_one(f"#chart-{name}", Chart).show(series(cell) if cell else [], begin_s=0.0, ended=True)
        devices = DeviceRows(cell)
        self.query_one("#device-table", LiveTable).show(devices)
        self._show_device(devices.keys[0] if devices.keys else None)

    def _cell_words(self, cell: Cell | None) -> Text:
        words = Text(no_wrap=True, overflow="ellipsis")
        if cell is None or self.result is None:
            return words.append("no cell was measured")
        number = next(i for i, one in enumerate(self.result.cells, 1) if one is cell)
        words.append(signs(("⚠ " if cell.marks else "✓ ") if cell.valid else "✗ INVALID "))
        words.append(" ".join(filter(None, (clean(cell.layout), clean(cell.part), clean(cell.workload)))))
        turn = f"round {cell.round}{' again' if cell.again else ''}"
        words.append(f"  {turn} · {number} of {len(self.result.cells)}", "dim")
        if cell.valid and cell.summary is not None and cell.summary.queue_depth is not None:
            words.append(f" · queue depth {cell.summary.queue_depth}", "dim")
        return words

    def _show_device(self, name: str | None) -> None:
        chart, cell = self.query_one("#device-chart", Chart), self.cell
        chart.title = clean(name) if name else "Device"
        chart.show(device_series(cell, name) if cell and name else [], begin_s=0.0, ended=True)

    def _mark_tab(self) -> None:
        for tab in self.query(".tab"):
            tab.set_class(tab.id == f"tab-{self.page}", "-here")

    @on(events.Click, ".tab")
    def _tab_clicked(self, event: events.Click) -> None:
        event.stop()
        if event.widget is not None and event.widget.id is not None:
            self.page = event.widget.id.removeprefix("tab-")
            self.take_focus()

    @on(LiveTable.Highlighted, "#cell-table")
    def _cell_reached(self, event: LiveTable.Highlighted) -> None:
        event.stop()
        if event.key != self._cell_id:
            self._show_cell(event.key)

    @on(LiveTable.Chosen, "#cell-table")
    def _cell_chosen(self, event: LiveTable.Chosen) -> None:
        event.stop()
        self.page = "charts"

    @on(LiveTable.Highlighted, "#device-table")
    def _device_reached(self, event: LiveTable.Highlighted) -> None:
        event.stop()
        self._show_device(event.key)


def _mark_line(mark: Mark) -> str:
    return f"{signs('✗' if mark.weight == 'invalid' else '⚠')} {mark_words(mark)}"
