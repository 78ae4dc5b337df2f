"""Whole results, read in a thread from a file or fetched from the server; the last few are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from raidtui.front.files import read_bytes
from raidtui.model.result import Result
from raidtui.results.load import read_result
from raidtui.tui.results.library import Entry

_KEPT: Final = 12


class Opener:
    """Reads results on demand."""

    def __init__(self, fetch: Callable[[str], Awaitable[bytes]]) -> None:
        """`fetch` asks the server for a run's result."""
        self._fetch = fetch
        self._kept: dict[Entry, Result] = {}

    async def result(self, entry: Entry) -> Result:
        """The result of an entry. Raises ProblemError: what is wrong with the file, or with the run."""
        if (known := self._kept.pop(entry, None)) is None:
            if entry.path is not None:
                known = await asyncio.to_thread(_of_file, str(entry.path))
            else:
                raw = await self._fetch(entry.run)
                known = await asyncio.to_thread(read_result, raw, entry.run)
        self._kept[entry] = known
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return known


def _of_file(path: str) -> Result:
    return read_result(read_bytes(path), path)
