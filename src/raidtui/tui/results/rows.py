"""The library as rows of a table, with the columns that there is room for."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from raidtui.tui.results.library import STATE_LOOKS, Entry
from raidtui.tui.widgets.glyphs import glyphs
from raidtui.tui.widgets.table_line import Column

SCENARIO = Column("scenario", "Scenario", 14, help="Name of the scenario", flexible=True)
TITLE = Column("title", "Title", 20, help="What the scenario says of itself", flexible=True)
STARTED = Column("started", "Started (UTC)", 16, help="When the run began")
HOST = Column("host", "Server", 14, help="Where it ran")
CELLS = Column("cells", "Cells", 7, "right", "Measured of planned; for a file, valid of measured")
EXIT = Column("exit", "Exit", 4, "right", "Exit code of the run")
STATE = Column("state", "State", 11, help="How it ended, or that it goes on")
MARK = Column("mark", "", 9, help="A rehearsal, or not complete: not good for comparing")


def columns_for(width: int) -> tuple[Column, ...]:
    """Those that fit."""
    if width >= 112:
        return (SCENARIO, TITLE, STARTED, HOST, CELLS, EXIT, STATE, MARK)
    if width >= 92:
        return (SCENARIO, STARTED, HOST, CELLS, EXIT, STATE, MARK)
    if width >= 66:
        return (SCENARIO, STARTED, CELLS, STATE, MARK)
    return (SCENARIO, STARTED, STATE)


class LibraryRows:
    """Entries for a table whose columns are `columns`."""

    def __init__(self, entries: Sequence[Entry], columns: Sequence[Column]) -> None:
        self._entries = {entry.key: entry for entry in entries}
        self._columns = columns
        self.keys = list(self._entries)

    def cells(self, key: str) -> Sequence[str | Text]:
        """One row."""
        entry = self._entries[key]
        return [_CELLS[column.key](entry) for column in self._columns]

    def state(self, key: str) -> str:
        """The look of a whole row: broken ones are dim, the words say the rest."""
        return "dim" if self._entries[key].problem else ""


def _cells(entry: Entry) -> str:
    of = entry.planned if entry.planned is not None else entry.cells
    done = entry.valid if entry.valid is not None else entry.cells
    return glyphs().absent if entry.problem else f"{done}/{of}"


def _mark(entry: Entry) -> str | Text:
    if entry.rehearsal:
        return Text("rehearsal", "warn")
    ended = entry.state not in ("running", "unreadable")
    return Text("partial", "warn") if ended and not entry.complete else ""


_CELLS = {
    "scenario": lambda entry: entry.scenario or glyphs().absent,
    "title": lambda entry: entry.title or entry.problem,
    "started": lambda entry: entry.started[:16].replace("T", " "),
    "host": lambda entry: entry.host or glyphs().absent,
    "cells": _cells,
    "exit": lambda entry: glyphs().absent if entry.exit is None else str(entry.exit),
    "state": lambda entry: Text(entry.state, STATE_LOOKS.get(entry.state, "")),
    "mark": _mark,
}

SORTS = {
    "scenario": lambda entry: entry.scenario,
    "title": lambda entry: entry.title,
    "started": lambda entry: entry.started,
    "host": lambda entry: entry.host,
    "cells": lambda entry: entry.planned or entry.cells,
    "exit": lambda entry: -1 if entry.exit is None else entry.exit,
    "state": lambda entry: entry.state,
    "mark": lambda entry: entry.rehearsal,
}
"""What a column is sorted by."""
