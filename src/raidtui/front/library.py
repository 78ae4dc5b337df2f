"""The library: every result that was kept on this machine, behind one index."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from raidtui.base.paths import cache_folder
from raidtui.front.inputs import read_bytes
from raidtui.front.results_files import results_folder
from raidtui.model.problem import fail
from raidtui.model.result import Result
from raidtui.results.extract import Extract
from raidtui.results.library.index import Known, Library
from raidtui.results.load import read_result

MOST_COMPARED = 2000
"""Results that are compared at once; of more, the newest."""
_MOST_READ = 40
"""Up to so many are read whole, with what charts and histograms need; of more the index knows enough."""


@contextmanager
def library(folder: Path | None = None) -> Iterator[Library]:
    """The library of `folder`, or of where results are kept, as its files are now. Raises ProblemError (`file`)."""
    index = cache_folder() / "results.sqlite" if folder is None else _index_of(folder)
    try:
        with closing(Library(folder or results_folder(), index)) as made:
            made.refresh()
            yield made
    except sqlite3.OperationalError as error:
        raise fail("file", f"the index of results cannot be used: {error}", place=str(index),
                   remedy="It may be deleted: it is made anew from the results.") from None  # fmt: skip


def found_results(words: str) -> tuple[list[Result | Extract], list[Known]]:
    """Results that have all of these words, the newest first, and what is known of each. ProblemError: `no-kept-result`."""
    with library() as known:
        found = [one for one in known.search(words) if not one.problem]
        if not found:
            raise fail("no-kept-result", f"no kept result has the words {words!r}", remedy="`raidtui results` lists them.")
        if len(found) > _MOST_READ:
            return list(known.extracts([one.path for one in found[:MOST_COMPARED]])), found
    return [read_result(read_bytes(str(one.path)), one.path.name) for one in found], found


def _index_of(folder: Path) -> Path:
    """An index of its own for every other folder."""
    import hashlib

    return cache_folder() / f"results-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}.sqlite"
