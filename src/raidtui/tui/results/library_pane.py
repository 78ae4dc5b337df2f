"""Library pane: the table of results and runs, filtered, marked and opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from raidtui.base.text import clean
from raidtui.front.about import About, abouts, describe
from raidtui.front.files import results_folder
from raidtui.front.phrases import sentence
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import DiskList, RunList
from raidtui.tui.results.library import (
    SORTS,
    Entry,
    FileEntries,
    LibraryRows,
    columns_for,
    entry_of_run,
    matching,
    merge_runs,
)
from raidtui.tui.shared import Seen
from raidtui.tui.widgets.live_table import LiveTable

if TYPE_CHECKING:
    from raidtui.tui.run.desk import RunDesk
    from raidtui.tui.shared import SharedApp


class LibraryTable(LiveTable):
    """Runs and results, the newest first. A LiveTable, not a DataTable: it sends only changed lines while it fills."""

    HELP = """\
## Runs and results

The runs of this server and the result files in the results folder, the newest first. **enter** opens one, **space** marks
one, **c** compares the marked ones. `/` searches by name, title, server, date, state. **t** shows its timeline on the
screen Run, **n** makes its scenario a new draft on the screen Compose. A click on a title sorts.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open", id="results.open", tooltip="Open the result under the cursor"),
        Binding("space", "select", "Mark", id="results.mark", tooltip="Mark it for comparing, or no longer"),
    ]

    def __init__(self, *, id: str, empty: str) -> None:
        super().__init__(columns_for(80), id=id, empty=empty, multi=True)
        self._entries: Sequence[Entry] = ()

    def present(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self.show(LibraryRows(entries, self.columns))

    def on_resize(self, event: events.Resize) -> None:
        columns = columns_for(self.size.width)  # an event may be older than the size
        if columns != self.columns:
            self.columns = columns
            self.present(self._entries)
        super().on_resize(event)


_EMPTY = "no runs and no results yet\n\n2  compose layouts\n3  plan and start a run\no  open a result file"
_NEWEST = ("started", True)


@dataclass
class FilesRead(Message, bubble=False):
    """Message about further files that were read; the `last` message has all of them."""

    entries: list[Entry]
    last: bool
    problem: str = ""


class LibraryPane(Vertical):
    """Runs of the server and result files. The table's messages go on to the screen."""

    DEFAULT_CSS = """
    LibraryPane #results-search { display: none; height: 1; background: $panel; padding: 0 1; }
    LibraryPane #results-search.-open { display: block; }
    LibraryPane #results-search > Static { width: 9; color: $text-muted; }
    LibraryPane #results-search > Input { width: 1fr; background: $panel; }
    LibraryPane LibraryTable { background: $background; }
    """

    class Changed(Message):
        """Entries or marks changed."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, classes="pane")
        self.entries: dict[str, Entry] = {}
        """All entries by key, including those that the search hides."""
        self.folder: Path | None = None
        """The results folder; None until it was read."""
        self._file_entries = FileEntries()
        self._said: Mapping[str, About] = {}
        """Names, notes, tags and pins of files in the results folder, by file name."""
        self._files: dict[str, Entry] = {}
        self._runs: list[Entry] = []
        self._marked: dict[str, None] = {}
        """Marked keys in the order of marking, including those that the search hides."""
        self._sort = _NEWEST
        self._loading = True
        self._runs_known = False
        self._problem = ""
        self._saved = ""
        """Path of the saved result of the run on the screen Run."""
        self.runs_seen: Seen | None = None
        """Time of the server's last list of runs."""
        self._holding_runs: frozenset[str] = frozenset()
        """Runs that hold disks, taken from the list of disks."""

    def compose(self) -> ComposeResult:
        with Horizontal(id="results-search"):
            yield Static("search /")
            yield Input(id="results-search-text", compact=True)
        yield LibraryTable(id="results-table", empty="reading …")

    def on_mount(self) -> None:
        self.border_title = "Runs and results"
        self._app.link_changed.subscribe(self, lambda state: self._read_runs() if state.up else None)
        self._app.disks_changed.subscribe(self, self._disks_changed)
        self._app.desk.changed.subscribe(self, self._run_changed)
        self._holding_runs, self._saved = _holding(self._app.disks), self._app.desk.saved

    @property
    def _app(self) -> SharedApp:
        return cast("SharedApp", self.app)

    @property
    def table(self) -> LibraryTable:
        return self.query_one(LibraryTable)

    @property
    def search(self) -> Input:
        return self.query_one(Input)

    @property
    def here(self) -> Entry | None:
        key = self.table.cursor_key
        return None if key is None else self.entries.get(key)

    @property
    def marked(self) -> list[Entry]:
        """Marked entries, in the order of marking."""
        return [self.entries[key] for key in self._marked]

    def reload(self) -> None:
        self._read_files()
        self._read_runs()

    def _disks_changed(self, disks: DiskList) -> None:
        """Reload if a run began or ended, seen by the disks that it holds."""
        if (holding_runs := _holding(disks)) != self._holding_runs:
            self._holding_runs = holding_runs
            self._reload_in_view()

    def _run_changed(self, desk: RunDesk) -> None:
        if desk.saved != self._saved:
            self._saved = desk.saved
            self._reload_in_view()

    def _reload_in_view(self) -> None:
        """Reload if this screen is shown; it reloads whenever it is shown."""
        if self.screen.is_current:
            self.reload()

    @work(thread=True, exclusive=True, group="files")
    def _read_files(self) -> None:
        worker, found, problem = get_current_worker(), [], ""
        try:
            self.folder, self._said = results_folder(), abouts()
            for batch in self._file_entries.all(self._app.result_files):
                found += batch
                if worker.is_cancelled:
                    return
                self.post_message(FilesRead(batch, last=False))
        except OSError as error:
            problem = f"the results folder cannot be read: {clean(error, 300)}"
        self.post_message(FilesRead(found, last=True, problem=problem))

    def on_files_read(self, message: FilesRead) -> None:
        if message.last:
            self._files = {}
        self._files.update((entry.key, entry) for entry in message.entries)
        self._problem = message.problem
        self._show()
        if message.last and self._loading:
            self._loading = False
            self._show()

    def _read_runs(self) -> None:
        # Only while this screen is shown: listing runs makes the server read every journal.
        if self._app.link_state.up:
            self._ask_runs()

    @work(exclusive=True, group="runs")
    async def _ask_runs(self) -> None:
        try:
            found: RunList = await self._app.link.call("runs", None, RunList)
        except ProblemError as error:
            self._runs_known = True
            if error.problems[0].code != "engine-lost":  # the banner says that one
                self.notify(sentence(error.problems[0]), severity="warning", markup=False)
            return
        hello = self._app.link_state.hello
        self._runs = [entry_of_run(info, hello.host if hello else "") for info in found.runs]
        self.runs_seen = Seen("runs", self._app.now())
        self._show()
        self._runs_known = True

    def newer(self, opened: Entry) -> Entry | None:
        """Return the run's newer entry if it has more cells, has ended, or has a file by now; else None."""
        same = (entry for entry in self.entries.values() if opened.run and entry.run == opened.run)
        now = next(same, opened) if opened.key not in self.entries else self.entries[opened.key]
        return None if (now.key, now.cells, now.state) == (opened.key, opened.cells, opened.state) else now

    def add(self, path: Path) -> Entry:
        """Add a file and put the cursor on it."""
        if path not in self._app.result_files:
            self._app.result_files.append(path)
        entry = next(self._file_entries.read([path]))[0]
        self._files[entry.key] = entry
        self.clear_search()
        self._show()
        self.table.cursor_key = entry.key
        return entry

    def say(self, entry: Entry, about: About) -> None:
        """Keep what the operator says about a file, and show it. Raises ProblemError."""
        if entry.path is not None:
            describe(entry.path, about)
            self._said = abouts()
            self._show()

    def forget(self, entry: Entry) -> None:
        """Remove a deleted file from the list."""
        self._files.pop(entry.key, None)
        self._show()

    def _show(self) -> None:
        """Update the list; the table redraws only changed lines."""
        entries = merge_runs(self._files.values(), self._runs, self._said, self.folder)
        self.entries = {entry.key: entry for entry in entries}
        self._marked = {key: None for key in self._marked if key in self.entries}
        shown = matching(entries, self.search.value)
        key, descending = self._sort
        if self._sort != _NEWEST:
            shown.sort(key=SORTS[key], reverse=descending)
        table = self.table
        if table.empty != (empty := self._empty_words(bool(entries))):
            table.empty = empty
            table.redraw()
        table.sort_by(key, descending)
        # While the list is still filling, a cursor that was not moved stays at the newest.
        at_top = table.cursor_row in (None, 0) and (self._loading or not self._runs_known)
        table.present(shown)
        if at_top and table.row_keys:
            table.cursor_key = table.row_keys[0]
        if (visible := frozenset(self._marked) & frozenset(table.row_keys)) != table.selected:
            table.selected = visible
        self._count(len(shown), len(entries))
        self.post_message(self.Changed())

    def _count(self, shown: int, there: int) -> None:
        count = f"{shown} of {there}" if shown < there else str(there)
        marked = f", {len(self._marked)} marked" if self._marked else ""
        self.border_subtitle = Text(f"! {self._problem}" if self._problem else count + marked)

    def _empty_words(self, some: bool) -> str:
        if self._loading:
            return "reading …"
        if some:
            return f"nothing matches {clean(self.search.value, 40)!r}\n\nescape clears the search"
        return _EMPTY

    def begin_search(self) -> None:
        self.query_one("#results-search").add_class("-open")
        self.search.focus()

    def clear_search(self) -> bool:
        """Clear the search. Return True if there was one."""
        was = bool(self.search.value) or self.search.has_focus
        self.search.value = ""
        self.query_one("#results-search").remove_class("-open")
        if was:
            self.table.focus()
        return was

    def clear_marks(self) -> None:
        self._marked = {}
        self._show()

    @on(Input.Changed)
    def _search_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show()

    @on(Input.Submitted)
    def _search_done(self, event: Input.Submitted) -> None:
        event.stop()
        self.table.focus()

    @on(LiveTable.SelectionChanged)
    def _marks_changed(self, event: LiveTable.SelectionChanged) -> None:
        event.stop()
        # The current keys, not those of the event: others may have been marked since.
        visible, chosen = self.table.row_keys, self.table.selected
        hidden = set(self._marked) - set(visible)
        kept = {key: None for key in self._marked if key in hidden or key in chosen}
        wanted = {**kept, **{key: None for key in visible if key in chosen and key not in kept}}
        if list(wanted) != list(self._marked):
            self._marked = wanted
            self._show()

    @on(LiveTable.HeaderPressed)
    def _sorted(self, event: LiveTable.HeaderPressed) -> None:
        event.stop()
        again = self._sort[0] == event.key
        self._sort = (event.key, not self._sort[1] if again else event.key == "started")
        self._show()


def _holding(disks: DiskList | None) -> frozenset[str]:
    """Runs that hold disks, taken from the list of disks."""
    every = (reason for disk in (disks.disks if disks else ()) for reason in disk.reasons)
    return frozenset(reason.message for reason in every if reason.code == "held")
