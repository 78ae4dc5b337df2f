"""The screen `Results`: runs and result files, one of them opened, several compared and exported."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widgets import ContentSwitcher, Static

from raidtui.base.text import clean
from raidtui.front.files import typed_path
from raidtui.front.library import export
from raidtui.front.phrases import sentence
from raidtui.model.problem import ProblemError
from raidtui.model.result import Result
from raidtui.results.comparison import Comparison
from raidtui.results.formats import FORMATS
from raidtui.tui.draft import Draft
from raidtui.tui.results.compare_view import CompareView
from raidtui.tui.results.export_dialog import ExportDialog, Target
from raidtui.tui.results.keeping import Keeping
from raidtui.tui.results.library import Entry, Opener
from raidtui.tui.results.library_pane import LibraryPane
from raidtui.tui.results.pages import commands_text
from raidtui.tui.results.view import OF_A_CELL, ResultView
from raidtui.tui.shared import Seen
from raidtui.tui.widgets.dialog import AskText
from raidtui.tui.widgets.live_table import LiveTable

_PREVIEW_S = 0.2
"""Delay before the entry under the cursor is read, in seconds."""


class ResultsScreen(Keeping):
    """A list of runs and results beside the one that is opened, or those that are compared."""

    MODE = "results"
    DEFAULT_CSS = """
    ResultsScreen #results-panes { height: 1fr; }
    ResultsScreen #results-list { width: 1fr; padding: 0; }
    ResultsScreen.-wide #results-list { width: 52; }
    ResultsScreen.-very-wide #results-list { width: 98; }
    ResultsScreen #results-right { width: 1fr; height: 1fr; }
    ResultsScreen.-narrow #results-right { display: none; }
    ResultsScreen.-narrow.-opened #results-right { display: block; }
    ResultsScreen.-narrow.-opened #results-list { display: none; }
    ResultsScreen.-comparing #results-list { display: none; }
    ResultsScreen #results-message { height: 1fr; padding: 1 2; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", id="results.back", tooltip="Back to the list; clear search and marks"),
        Binding("slash", "search", "Search", id="results.search", tooltip="Search by name, title, server, date, state"),
        Binding("c", "compare", "Compare", id="results.compare", tooltip="Compare the marked results"),
        Binding("e", "export", "Export", id="results.export", tooltip="Write the comparison to a file"),
        Binding("t", "timeline", "Timeline", id="results.timeline", tooltip="Show its timeline on the screen Run"),
        Binding("n", "use", "Use", id="results.use", tooltip="Its scenario and disks become a new draft on Compose"),
        Binding("right_square_bracket", "page(1)", "Page", id="results.page", tooltip="The next page of the result"),
        Binding("left_square_bracket", "page(-1)", "Page", id="results.page_back", tooltip="The page before", show=False),
        Binding("full_stop", "cell(1)", "Cell", id="results.cell", tooltip="The next cell's charts and devices"),
        Binding("comma", "cell(-1)", "Cell", id="results.cell_back", tooltip="The cell before", show=False),
        Binding("tab", "other_pane", "Pane", id="results.pane", tooltip="From the list to the result and back", show=False),
        Binding("y", "copy", "Copy", id="results.copy", show=False,
                tooltip="Copy the path of the file; on the page Commands, the commands"),
        Binding("o", "add_file", "Open file", id="results.file", tooltip="Open a result file by its path", show=False),
        Binding("r", "reload", "Reload", id="results.reload", tooltip="Read the list anew", show=False),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._opener = Opener(lambda run: self.raidtui.link.result(run))
        self._opened: Entry | None = None
        self._waiting: Timer | None = None

    def body(self) -> ComposeResult:
        with Horizontal(id="results-panes"):
            yield LibraryPane(id="results-list")
            with ContentSwitcher(initial="results-message", id="results-right"):
                yield Static("The entry under the cursor is shown here.", id="results-message", classes="pane")
                yield ResultView(id="result-view")
                yield CompareView(id="compare-view")

    def on_mount(self) -> None:
        self._list.table.focus()

    def on_screen_resume(self) -> None:
        self.action_reload()

    @property
    def seen(self) -> Seen | None:
        """Age of the server's list of runs."""
        return self._list.runs_seen

    @property
    def _list(self) -> LibraryPane:
        return self.query_one(LibraryPane)

    @property
    def _right(self) -> ContentSwitcher:
        return self.query_one("#results-right", ContentSwitcher)

    @property
    def _view(self) -> ResultView:
        return self.query_one(ResultView)

    @property
    def _compare(self) -> CompareView:
        return self.query_one(CompareView)

    @property
    def here(self) -> Entry | None:
        """Entry that keys act on: the opened one if it has the focus, else the one under the cursor."""
        if self.has_class("-opened") and self._opened is not None and not self.has_class("-comparing"):
            return self._opened
        return self._list.here

    def action_reload(self) -> None:
        self._list.reload()

    @on(LibraryPane.Changed)
    def _list_changed(self) -> None:
        wanted, entries = self.raidtui.wanted_result, self._list.entries.values()
        if wanted and (key := next((entry.key for entry in entries if entry.path == wanted), None)):
            self.raidtui.wanted_result = None
            self._open(key, focus=True)
        elif self._opened is None:
            self._preview()
        elif (newer := self._list.newer(self._opened)) is not None and not self.has_class("-comparing"):
            self._load(newer, focus=self.has_class("-opened"))
        self.show_age()
        self.refresh_bindings()

    @on(LiveTable.Highlighted, "#results-table")
    def _reached(self) -> None:
        self._preview()

    def _preview(self) -> None:
        """Open the entry under the cursor after a short delay, in a wide terminal."""
        self._hold_preview()
        beside = not (self.has_class("-narrow") or self.has_class("-comparing") or self.has_class("-opened"))
        if beside and (key := self._list.table.cursor_key) is not None:
            self._waiting = self.set_timer(_PREVIEW_S, partial(self._open, key, focus=False))

    def _hold_preview(self) -> None:
        """Cancel the delayed preview, so that it does not replace an opened entry."""
        if self._waiting is not None:
            self._waiting.stop()

    @on(LiveTable.Chosen, "#results-table")
    def _chosen(self, event: LiveTable.Chosen) -> None:
        self._hold_preview()
        self._open(event.key, focus=True)

    def _open(self, key: str, focus: bool) -> None:
        entry = self._list.entries.get(key)
        if entry is not None:
            self._load(entry, focus)

    @work(exclusive=True, group="open")
    async def _load(self, entry: Entry, focus: bool) -> None:
        if (found := await self._read([entry])) is None:
            if focus:
                self._switch("results-message", opened=True)
            return
        self._opened = entry
        if self._view.result is not found[0]:
            self._view.show(found[0])
        self._switch("result-view", opened=focus)
        if focus:
            self._view.take_focus()

    async def _read(self, entries: list[Entry]) -> list[Result] | None:
        """Return the results; None if one could not be read, with its error shown at the right."""
        found = []
        for entry in entries:
            if entry.problem:
                self._show_error(f"{entry.scenario} cannot be read: {entry.problem}")
                return None
            try:
                found.append(await self._opener.result(entry))
            except ProblemError as error:
                self._show_error(sentence(error.problems[0]))
                return None
        return found

    def _show_error(self, words: str) -> None:
        self.query_one("#results-message", Static).update(Text(f"! {words}"))
        self._switch("results-message", opened=self.has_class("-narrow"))

    def _warn(self, words: str) -> None:
        self.notify(words, severity="warning", markup=False)

    def _switch(self, name: str, *, opened: bool) -> None:
        self._right.current = name
        self.set_class(name == "compare-view", "-comparing")
        self.set_class(opened, "-opened")
        self.refresh_bindings()

    def action_page(self, way: int) -> None:
        self._view.step_page(way)
        self.refresh_bindings()

    def action_cell(self, way: int) -> None:
        self._view.step_cell(way)

    def action_other_pane(self) -> None:
        if self._list.table.has_focus and self.has_class("-narrow"):
            self._list.table.action_choose()
        elif self._list.table.has_focus:
            self.set_class(True, "-opened")
            (self._compare if self.has_class("-comparing") else self._view).take_focus()
        else:
            self._to_list()

    def action_back(self) -> None:
        """Leave the result, else clear the search, else clear the marks."""
        if self.has_class("-opened") or self.has_class("-comparing"):
            self._to_list()
        elif not self._list.clear_search() and self._list.marked:
            self._list.clear_marks()

    def _to_list(self) -> None:
        if self.has_class("-comparing"):
            self._switch("result-view" if self._view.result else "results-message", opened=False)
        self.remove_class("-opened")
        self._list.table.focus()
        self.refresh_bindings()

    def action_search(self) -> None:
        self._to_list()
        self._list.begin_search()

    def action_compare(self) -> None:
        self._hold_preview()
        self._load_many()

    @work(exclusive=True, group="open")
    async def _load_many(self, export: bool = False) -> None:
        entries = self._list.marked or ([self.here] if self.here else [])
        if entries and (found := await self._read(entries)) is not None:
            self._compare.show(found)
            self._switch("compare-view", opened=True)
            self._compare.take_focus()
            if export:
                self._ask_export()

    def action_baseline(self) -> None:
        if label := self._compare.set_baseline():
            self.notify(f"% of {clean(label, 60)}", timeout=2, markup=False)

    def action_metric(self, way: int) -> None:
        self._compare.step_metric(way)

    def action_charts(self) -> None:
        self._compare.swap_charts()
        self.refresh_bindings()

    def action_workload(self, way: int) -> None:
        self._compare.step_workload(way)

    def action_turn(self) -> None:
        self._compare.turn()

    def action_pairs(self) -> None:
        self._compare.swap()
        self.refresh_bindings()

    def action_sweep(self) -> None:
        self._compare.step_sweep()
        self.refresh_bindings()

    def action_export(self) -> None:
        if self.has_class("-comparing"):
            self._ask_export()
        else:
            self._hold_preview()
            self._load_many(export=True)

    def _ask_export(self) -> None:
        comparison = self._compare.of_rates
        if comparison is not None:
            name = comparison.sources[0].scenario if len(comparison.sources) == 1 else "comparison"

            def asked(target: Target | None) -> None:
                if target is not None:
                    self._export(comparison, target)

            self.app.push_screen(ExportDialog(_file_name(name)), asked)

    @work(group="export")
    async def _export(self, comparison: Comparison, target: Target) -> None:
        path = str(typed_path(target.path))
        try:
            await asyncio.to_thread(export, comparison, FORMATS[target.format], path)
        except ProblemError as error:
            self._warn(sentence(error.problems[0]))
        else:
            self.notify(f"written: {clean(Path(path).absolute(), 300)}", markup=False)

    def action_timeline(self) -> None:
        entry = self.here
        if entry is None:
            return
        if entry.state == "running":
            self.raidtui.follow_run(entry.run)
        elif entry.on_server:
            self.raidtui.open_run(entry.run)
        elif entry.path is not None:
            self.raidtui.open_result(entry.path)

    def action_use(self) -> None:
        if self.here is not None:
            self._hold_preview()
            self._use(self.here)

    @work(exclusive=True, group="open")
    async def _use(self, entry: Entry) -> None:
        if (found := await self._read([entry])) is None:
            return
        result = found[0]
        bind = {role: tuple(disk.id for disk in disks) for role, disks in result.binding.items()}
        self.raidtui.change_draft(Draft(result.scenario, bind), f"scenario of {entry.scenario or entry.run}", anew=True)
        await self.app.switch_mode("compose")

    def action_copy(self) -> None:
        entry, result = self.here, self._view.result
        if entry is None:
            return
        if self.has_class("-opened") and self._view.page == "commands" and result is not None:
            self.app.copy_to_clipboard(commands_text(result))
            self.notify("the commands were copied", timeout=3)
        elif entry.path is not None:
            self.app.copy_to_clipboard(str(entry.path.absolute()))
            self.notify(f"copied: {clean(entry.path, 300)}", timeout=3, markup=False)

    def action_add_file(self) -> None:
        def check(text: str) -> str:
            path = typed_path(text)
            if str(path.absolute()) in self._list.entries:
                return "the file is in the list already"
            try:
                return "" if path.is_file() else "the file does not exist"
            except OSError as error:  # no permission, or a name that is too long
                return f"the file cannot be read: {error.strerror}"

        self.app.push_screen(AskText("Open a result file", "Path of the file", check=check, yes="Open"), self._add_file)

    def _add_file(self, text: str | None) -> None:
        if text:
            entry = self._list.add(typed_path(text).absolute())
            self._open(entry.key, focus=True)

    def gone(self, entry: Entry) -> None:
        self._to_list()
        if self._opened is not None and self._opened.key == entry.key:
            self._opened = None
            self._view.show(None)
            self._show_error("the file was deleted")
            self.remove_class("-opened")
        self._list.forget(entry)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey actions that are not possible now; hide those of other views."""
        if not self.is_mounted:
            return True
        comparing, opened = self.has_class("-comparing"), self.has_class("-opened") and not self.has_class("-comparing")
        if action in ("page", "cell"):
            if self._view.result is None or comparing or not (opened or not self.has_class("-narrow")):
                return False
            return action == "page" or self._view.page in OF_A_CELL
        if action == "pairs":
            return comparing and self._compare.has_pairs and not self._compare.shows_sweep
        if action == "metric":
            return comparing and self._compare.has_metrics and not self._compare.shows_sweep
        if action == "charts":
            return comparing and not (self._compare.has_class("-beside") or self._compare.shows_sweep)
        if action == "workload":
            return comparing and self._compare.has_charts and not self._compare.follows_cursor
        if action == "sweep":
            return comparing and self._compare.has_sweeps
        if action in ("baseline", "turn"):
            return comparing and not (self._compare.shows_pairs or self._compare.shows_sweep)
        if action == "search":
            return not (opened or comparing)
        here = self.here
        if action in ("about", "pin"):
            return True if self.may_keep(action, here) and not comparing else None
        if action in ("timeline", "use", "copy", "delete", "compare", "export"):
            if comparing:
                return action == "export"
            if action in ("compare", "export") and self._list.marked:
                return True
            if here is None or (here.problem and action not in ("copy", "delete")):
                return None
            if action == "delete":
                return True if self.may_keep(action, here) else None
            return None if action == "copy" and here.path is None and not opened else True
        return True


def _file_name(text: str) -> str:
    kept = "".join(char if char.isalnum() or char in "._+-" else "-" for char in text)
    return kept.strip("-.")[:60] or "comparison"
