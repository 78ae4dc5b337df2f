"""Results that were kept on this machine, behind one index, and exports of their comparison."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from raidtui.base.paths import cache_folder
from raidtui.front.files import check_output, read_bytes, results_folder
from raidtui.model.problem import Refusal, fail
from raidtui.model.refusals import FILE, OUTPUT
from raidtui.model.result import Result
from raidtui.results.comparison import Comparison
from raidtui.results.extract import Extract
from raidtui.results.formats import Format
from raidtui.results.library import Known, Library
from raidtui.results.load import read_result

NO_KEPT_RESULT: Final = Refusal(
    "no-kept-result",
    "No matching result",
    "No result kept on this machine contains all of these words.",
    "`raidtui results` lists the kept results; a result file may also be named by its path.",
)

MOST_COMPARED = 2000
"""Largest number of results compared at once; of more, the newest are taken."""
_MOST_READ = 40
"""Largest number of results read whole, with the data for charts and histograms; of more, the index is used."""


@contextmanager
def library(folder: Path | None = None) -> Iterator[Library]:
    """Open the refreshed library of `folder`, by default the results folder. Raises ProblemError (`file`)."""
    try:
        index = _index_of(folder)
        found = _refreshed(folder or results_folder(), index)
    except OSError as error:
        raise fail(FILE, f"the folder of results cannot be used: {error.strerror or error}",
                   place=str(error.filename or folder or "")) from None  # fmt: skip
    with closing(found) as made:
        try:
            yield made
        except sqlite3.DatabaseError as error:
            raise fail(FILE, f"the index of results cannot be used: {error}", place=str(index),
                       remedy="It may be deleted: it is made anew from the results.") from None  # fmt: skip


def growing() -> Iterator[list[Known]]:
    """Yield the growing list of results in the results folder: first those in the index, then those that had to be read.

    An index that cannot be used is done without: all files are read, and nothing is kept. What came before comes again.
    Raises OSError where the folder cannot be used.
    """
    for index in (_index_of(None), None):
        try:
            with closing(Library(results_folder(), index)) as made:
                for paths in made.refreshing():
                    yield made.known(paths)
                return
        except sqlite3.Error:
            if index is None:
                raise


def _index_of(folder: Path | None) -> Path | None:
    """Return the index file of `folder` (None: the results folder), or None if there is no place to keep one."""
    name = "results" if folder is None else f"results-{sha256(str(folder.resolve()).encode()).hexdigest()[:16]}"
    try:
        return cache_folder() / f"{name}.sqlite"
    except OSError:
        return None


def _refreshed(folder: Path, kept: Path | None) -> Library:
    for index in (kept, None):
        made = None
        try:
            made = Library(folder, index)
            made.refresh()
            return made
        except sqlite3.Error:
            if made is not None:
                made.close()
            if index is None:
                raise
    raise AssertionError("an index in memory can always be used")


def found_results(
    words: str, folder: Path | None = None, most: int | None = MOST_COMPARED
) -> tuple[list[Result | Extract], list[Known]]:
    """Return at most `most` results with all of these words, newest first, and the index entries of all.

    `folder` is the results folder if None. Raises ProblemError (`no-kept-result`).
    """
    with library(folder) as known:
        found = [one for one in known.search(words) if not one.problem]
        if not found:
            message = f"no kept result has the words {words!r}" if words else "there are no kept results"
            raise fail(NO_KEPT_RESULT, message, remedy="`raidtui results` lists them.")
        if len(found) > _MOST_READ:
            return [*known.extracts([one.path for one in found[:most]])], found
    return [read_result(read_bytes(str(one.path)), one.path.name) for one in found], found


def export(comparison: Comparison, format_: Format, path: str) -> None:
    """Write it to `path`, a new file. Raises ProblemError (`output`)."""
    check_output(path)
    write_new(path, format_.write(comparison))


def write_new(path: str, data: bytes) -> None:
    """Write data to a new file. Raises ProblemError (`output`)."""
    try:
        with Path(path).open("xb") as file:
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                Path(path).unlink(missing_ok=True)  # created here: no part of a comparison stays behind
                raise
    except FileExistsError:
        raise fail(OUTPUT, "it exists already", place=path, remedy="Choose another name.") from None
    except OSError as error:
        raise fail(OUTPUT, f"it cannot be written: {error.strerror or error}", place=path) from None
