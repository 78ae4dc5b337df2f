"""Read lines from a pipe in bounded memory: the writer may never end a line."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from typing import Final

_CHUNK_BYTES: Final = 1 << 16
_LOOK_MS: Final = 5000


class LineTooLong(Exception):
    """A line is longer than the limit. Nothing of it is kept."""


class LineReader:
    """The lines of one descriptor, one reader at a time."""

    def __init__(self, fd: int, given_up: Callable[[], bool] | None = None) -> None:
        """`given_up` is called every few seconds without data; if it returns True, that is the end as well."""
        self._fd = fd
        self._given_up = given_up
        self._chunk = b""
        self._at = 0

    def next(self, limit: int) -> bytearray | None:
        """Return the next line without its line break; None at the end.

        Raises LineTooLong for a line of more than `limit` bytes, as soon as that is known; `skip` passes over what is left.
        """
        line = bytearray()
        while self._fill():
            end = self._chunk.find(b"\n", self._at)
            until = len(self._chunk) if end < 0 else end
            if len(line) + until - self._at > limit:
                raise LineTooLong
            line += memoryview(self._chunk)[self._at : until]
            self._at = until + (end >= 0)
            if end >= 0:
                return line
        return line or None

    def skip(self) -> None:
        """Pass over the rest of a line."""
        while self._fill():
            end = self._chunk.find(b"\n", self._at)
            self._at = len(self._chunk) if end < 0 else end + 1
            if end >= 0:
                return

    def _fill(self) -> bool:
        """Make unread bytes available; return False at the end."""
        if self._at >= len(self._chunk):
            self._chunk, self._at = self._more(), 0
        return bool(self._chunk)

    def _more(self) -> bytes:
        if self._given_up is not None:
            poll = select.poll()
            poll.register(self._fd, select.POLLIN)
            while not poll.poll(_LOOK_MS):
                if self._given_up():
                    return b""
        return os.read(self._fd, _CHUNK_BYTES)
