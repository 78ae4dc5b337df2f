"""Entries of the library: result files and runs, their table rows, and the reader of their results."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rich.text import Text

from raidtui.base.text import clean
from raidtui.front.about import NOTHING, About
from raidtui.front.files import read_bytes, results_folder
from raidtui.front.library import growing
from raidtui.model.jsonio import MAX_RESULT_BYTES
from raidtui.model.problem import Exit
from raidtui.model.protocol import RunInfo
from raidtui.model.result import Result
from raidtui.results.extract import lean_extract
from raidtui.results.library import Known
from raidtui.results.load import read_result
from raidtui.tui.widgets.glyphs import glyphs
from raidtui.tui.widgets.table_line import Column
from raidtui.tui.widgets.table_view import Rows

BATCH = 100
"""Number of files in a batch."""


class Entry(NamedTuple):
    """One line of the library: a file, a run, or a run with its result file."""

    key: str
    run: str = ""
    path: Path | None = None
    scenario: str = ""
    title: str = ""
    host: str = ""
    started: str = ""
    cells: int = 0
    """Number of cells measured so far."""
    planned: int | None = None
    """Number of planned cells; None for a file."""
    valid: int | None = None
    """Number of valid cells; None for a run without a file."""
    exit: int | None = None
    rehearsal: bool = False
    complete: bool = False
    state: str = ""
    problem: str = ""
    """Reason why the file cannot be read."""
    on_server: bool = False
    """True if the server has this run's records."""
    about: About = NOTHING
    """Name, note, tags and pin that the operator gave the file."""

    @property
    def words(self) -> str:
        """Text that searches look through, in lower case."""
        name = self.path.name if self.path else ""
        kind = "rehearsal" if self.rehearsal else ""
        said = (self.scenario, self.title, self.host, self.started, self.run, self.state, name, kind, self.about.words)
        return " ".join(said).casefold()


_BY_EXIT = {
    Exit.DONE: "done",
    Exit.BUG: "failed",
    Exit.REFUSED: "refused",
    Exit.BUILD_FAILED: "not built",
    Exit.INVALID: "invalid",
    Exit.LEFT_BEHIND: "left behind",
    Exit.CANCELLED: "cancelled",
}
_LOOKS = {
    "unreadable": "alert", "interrupted": "alert", "left behind": "alert", "failed": "alert", "not built": "warn",
    "invalid": "warn", "cancelled": "warn", "not ended": "warn", "running": "accent",
}  # fmt: skip


def state_word(exit_code: int | None) -> str:
    """Return how a run ended, in one or two words."""
    if exit_code is None:
        return "not ended"
    return _BY_EXIT.get(Exit(exit_code), "ended") if exit_code in set(Exit) else "ended"


class FileEntries:
    """Files of the results folder, from the index, and other files; each is read again only after a change."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int], Entry]] = {}

    def all(self, given: Iterable[Path] = ()) -> Iterator[list[Entry]]:
        """Yield named files and those of the results folder in batches, indexed files first.

        Files that the index skips (a pipe, a name that is not text) are included with their problem. Raises OSError if the
        folder cannot be used.
        """
        yield from self.read([path.absolute() for path in given])
        seen: set[Path] = set()
        for batch in growing():
            seen.update(known.path for known in batch)
            yield [entry_of_known(known) for known in batch]
        yield from self.read([path for path in results_folder().glob("*.json") if path not in seen])

    def read(self, paths: Sequence[Path]) -> Iterator[list[Entry]]:
        """Yield entries in batches, so that the first are shown before the last are read."""
        for start in range(0, len(paths) or 1, BATCH):
            yield [self._entry(path) for path in paths[start : start + BATCH]]

    def _entry(self, path: Path) -> Entry:
        try:
            info = path.stat()
            stamp = (info.st_mtime_ns, info.st_size)
            known = self._known.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            entry = entry_of(path, info)
            self._known[path] = stamp, entry
        except (OSError, ValueError, RecursionError) as error:
            entry = unreadable(path, error)
        return entry


def entry_of(path: Path, info: os.stat_result) -> Entry:
    """Read the entry of a result file. Raises OSError, ValueError or RecursionError for other files."""
    if not stat.S_ISREG(info.st_mode):
        raise ValueError("not a regular file")
    if info.st_size > MAX_RESULT_BYTES:
        raise ValueError(f"the file is larger than {MAX_RESULT_BYTES >> 20} MiB")
    found, exit_code = lean_extract(path.read_bytes())
    return entry_of_known(Known(
        path, found.run, clean(found.scenario, 80), clean(found.title, 200), clean(found.host, 60),
        clean(found.started, 40), len(found.points), sum(point.valid for point in found.points), exit_code,
        found.rehearsal, found.complete, "",
    ))  # fmt: skip


def entry_of_known(known: Known) -> Entry:
    """Return the entry of an indexed file."""
    if known.problem:
        return unreadable(known.path, known.problem)
    return Entry(
        str(known.path), known.run, known.path, known.scenario, known.title, known.host, known.started, known.cells, None,
        known.valid, known.exit, bool(known.rehearsal), bool(known.complete), state_word(known.exit),
    )  # fmt: skip


def unreadable(path: Path, reason: object) -> Entry:
    """Return the entry of a file that cannot be read."""
    if isinstance(reason, OSError) and reason.strerror:
        reason = reason.strerror
    try:
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(path.stat().st_mtime))
    except OSError:
        started = ""
    return Entry(str(path), path=path, scenario=clean(path.name, 80), started=started, state="unreadable",
                 problem=clean(reason, 300))  # fmt: skip


def entry_of_run(info: RunInfo, host: str) -> Entry:
    """Return the entry of a run on the server."""
    state = state_word(info.exit) if info.state == "finished" else clean(info.state, 20)
    return Entry(
        f"run:{info.run}", info.run, None, clean(info.scenario, 80), "", clean(host, 60), clean(info.started, 30),
        info.cells_done, info.cells, None, info.exit, info.rehearsal, info.cells_done == info.cells, state, on_server=True,
    )  # fmt: skip


def merge_runs(
    files: Iterable[Entry], runs: Iterable[Entry], said: Mapping[str, About] | None = None, folder: Path | None = None
) -> list[Entry]:
    """Return files and runs, pinned ones first, then the newest. A run and its file become one entry.

    `said` is what the operator says about files of `folder`, by their names.
    """
    by_run = {entry.run: entry for entry in runs}
    found: list[Entry] = []
    kept: set[str] = set()
    for entry in files:
        if said and entry.path is not None and entry.path.parent == folder and entry.path.name in said:
            entry = entry._replace(about=said[entry.path.name])
        run = by_run.get(entry.run) if entry.run else None
        if run is not None:
            kept.add(entry.run)
            state = run.state if run.state in ("running", "interrupted", "recovered") else entry.state
            entry = entry._replace(on_server=True, planned=run.planned, state=state)
        found.append(entry)
    found += [entry for run, entry in by_run.items() if run not in kept]
    return sorted(found, key=lambda entry: (entry.about.pinned, entry.started, entry.key), reverse=True)


def matching(entries: Iterable[Entry], words: str) -> list[Entry]:
    """Return the entries that contain every word."""
    wanted = words.casefold().split()
    return [entry for entry in entries if all(word in entry.words for word in wanted)] if wanted else list(entries)


class _Field(NamedTuple):
    column: Column
    cell: Callable[[Entry], str | Text]
    sort_key: Callable[[Entry], str | int]


def _cells(entry: Entry) -> str:
    of = entry.planned if entry.planned is not None else entry.cells
    done = entry.valid if entry.valid is not None else entry.cells
    return glyphs().absent if entry.problem else f"{done}/{of}"


def _name(entry: Entry) -> str:
    tags = "".join(f" #{tag}" for tag in entry.about.tags)
    return clean(f"{'* ' if entry.about.pinned else ''}{entry.about.name or entry.scenario or glyphs().absent}{tags}", 120)


def _title(entry: Entry) -> str:
    return clean(entry.about.note) if entry.about.note else entry.title or entry.problem


def _mark(entry: Entry) -> str | Text:
    if entry.rehearsal:
        return Text("rehearsal", "warn")
    ended = entry.state not in ("running", "unreadable")
    return Text("partial", "warn") if ended and not entry.complete else ""


_FIELDS = {field.column.key: field for field in (
    _Field(Column("scenario", "Scenario", 14, help="Name of the scenario", flexible=True),
           _name, lambda entry: entry.about.name or entry.scenario),
    _Field(Column("title", "Title", 20, help="Title of the scenario, or your note", flexible=True),
           _title, lambda entry: entry.title),
    _Field(Column("started", "Started (UTC)", 16, help="When the run began"),
           lambda entry: entry.started[:16].replace("T", " "), lambda entry: entry.started),
    _Field(Column("host", "Server", 14, help="Server of the run"),
           lambda entry: entry.host or glyphs().absent, lambda entry: entry.host),
    _Field(Column("cells", "Cells", 7, "right", "Measured of planned; for a file, valid of measured"),
           _cells, lambda entry: entry.planned or entry.cells),
    _Field(Column("exit", "Exit", 4, "right", "Exit code of the run"),
           lambda entry: glyphs().absent if entry.exit is None else str(entry.exit),
           lambda entry: -1 if entry.exit is None else entry.exit),
    _Field(Column("state", "State", 11, help="How the run ended, or that it is running"),
           lambda entry: Text(entry.state, _LOOKS.get(entry.state, "")), lambda entry: entry.state),
    _Field(Column("mark", "", 9, help="rehearsal or partial: not suitable for comparing"),
           _mark, lambda entry: entry.rehearsal),
)}  # fmt: skip
SORTS = {key: field.sort_key for key, field in _FIELDS.items()}
"""Sort key by column."""


def columns_for(width: int) -> tuple[Column, ...]:
    """Return the columns for a table of so many cells, without the least important ones in a narrow one."""
    needed = {"title": 112, "host": 92, "exit": 92, "cells": 66, "mark": 66}
    return tuple(field.column for key, field in _FIELDS.items() if width >= needed.get(key, 0))


class LibraryRows(Rows):
    """Table rows of the entries, for these columns."""

    def __init__(self, entries: Sequence[Entry], columns: Sequence[Column]) -> None:
        self._entries = {entry.key: entry for entry in entries}
        self._columns = columns
        self.keys = list(self._entries)

    def cells(self, key: str) -> Sequence[str | Text]:
        entry = self._entries[key]
        return [_FIELDS[column.key].cell(entry) for column in self._columns]

    def state(self, key: str) -> str:
        """Return the style of a row: unreadable files are dim."""
        return "dim" if self._entries[key].problem else ""


_KEPT: Final = 12


class Opener:
    """Reader of results that keeps the latest ones."""

    def __init__(self, fetch: Callable[[str], Awaitable[bytes]]) -> None:
        """`fetch` requests a run's result from the server."""
        self._fetch = fetch
        self._kept: dict[Entry, Result] = {}

    async def result(self, entry: Entry) -> Result:
        """Return the result of an entry. Raises ProblemError if the file or run cannot be read."""
        if (known := self._kept.pop(entry, None)) is None:
            if entry.path is not None:
                path = str(entry.path)
                known = await asyncio.to_thread(lambda: read_result(read_bytes(path), path))
            else:
                raw = await self._fetch(entry.run)
                known = await asyncio.to_thread(read_result, raw, entry.run)
        self._kept[entry] = known
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return known
