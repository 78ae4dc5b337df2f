"""A kernel table kept open (/proc/diskstats, /proc/stat) and which of its rows changed since it was last read."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

_CHUNK_BYTES = 1 << 15


class Changes(NamedTuple):
    """Result of one reading: text by row name, and names that disappeared. With `whole`, every row is in `rows`."""

    rows: dict[str, str]
    gone: tuple[str, ...]


class Table:
    """Rows with a name in front of numbers that change, found by comparing text: a row is parsed by who looks at it.

    `row` matches from a row's start up to its numbers, with the name in group 1; rows that do not match are skipped (at
    some cost: a table that has one is looked at row by row).
    """

    def __init__(self, path: Path, row: re.Pattern[str], end: bytes | None = None, skip: int = 0) -> None:
        """`end`: the table ends where this text begins; `skip`: number of head lines. Raises OSError without the file."""
        self._row = row
        self._end = end
        self._skip = skip
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._lines: list[str] = []
        self._heads: list[str] = []
        """Text before the numbers of each line: the same text means the same device (diskstats: and numbers)."""
        self._names: list[str] = []

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def read(self, *, whole: bool = False) -> Changes:
        """Read the table once more. Raises OSError."""
        lines = self._rows()
        if len(lines) != len(self._lines) or not all(map(str.startswith, lines, self._heads)):
            # Devices came or went. The kernel hands out a long table in pieces, and a device that leaves between two
            # pieces shifts another one out of sight for this once: only a second reading tells which one left.
            return self._read_anew(self._rows(), whole=whole)
        rows = {
            name: line[len(head) :]
            for name, head, line, before in zip(self._names, self._heads, lines, self._lines, strict=True)
            if whole or line != before
        }
        self._lines = lines
        return Changes(rows, ())

    def _read_anew(self, lines: list[str], *, whole: bool) -> Changes:
        before = dict(zip(self._names, zip(self._heads, self._lines, strict=True), strict=True))
        found = {match[1]: (match[0], line) for line in lines if (match := self._row.match(line))}
        self._names = list(found)
        self._heads = [head for head, _ in found.values()]
        self._lines = [line for _, line in found.values()]
        rows = {
            name: line[len(head) :] for name, (head, line) in found.items() if whole or before.get(name) != (head, line)
        }
        return Changes(rows, tuple(name for name in before if name not in found))

    def _rows(self) -> list[str]:
        pieces = []
        at = 0
        # A file in /proc answers a page at a time, however large the buffer.
        while piece := os.pread(self._fd, _CHUNK_BYTES, at):
            at += len(piece)
            pieces.append(piece)
            if self._end is not None and self._end in piece:
                break
        text = b"".join(pieces)
        if self._end is not None:
            text = text.partition(self._end)[0]
        lines = text.decode("utf-8", "backslashreplace").split("\n")
        return lines[self._skip : -1] if not lines[-1] else lines[self._skip :]


def disk_table(path: Path) -> Table:
    """Return the lines of all block devices: `   8       0 sda 4711 0 …`; major, minor and name identify a device."""
    return Table(path, re.compile(r"\s*\d+\s+\d+\s+(\S+)\s+"))


def cpu_table(path: Path) -> Table:
    """Return the lines of all online cores: `cpu0 4711 0 …`, and the sum of all cores (`cpu`)."""
    return Table(path, re.compile(r"(cpu\d*)\s+"), end=b"intr ")
