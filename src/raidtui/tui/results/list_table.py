"""The list of runs and results, with the columns that it has room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from raidtui.tui.results.library import Entry
from raidtui.tui.results.rows import LibraryRows, columns_for
from raidtui.tui.widgets.live_table import LiveTable


class LibraryTable(LiveTable):
    """Runs and results, the newest first."""

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
        """Other entries."""
        self._entries = entries
        self.show(LibraryRows(entries, self.columns))

    def on_resize(self, event: events.Resize) -> None:
        """As many columns as fit."""
        columns = columns_for(self.size.width)  # an event may be older than the size
        if columns != self.columns:
            self.columns = columns
            self.present(self._entries)
        super().on_resize(event)
