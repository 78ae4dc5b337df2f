"""Cutting fio's output into reports: JSON objects one after another, with messages between them, in pieces of any size."""

from __future__ import annotations

from typing import Final

MAX_REPORT_BYTES: Final = 16 << 20
_MAX_TALK_BYTES: Final = 64 << 10
# fio indents what is inside an object, and JSON strings hold no bare newline: a brace in the first column is the outermost.
_END: Final = b"\n}"


class Splitter:
    """Feed it bytes as they arrive; it gives back every object that is complete. What is no report is kept in `talk`."""

    def __init__(self) -> None:
        self.talk = b""
        """Text outside of reports, such as `fio: terminating on signal 15`; cut after 64 KiB."""
        self._buffer = bytearray()
        self._searched = 0
        self._inside = False

    @property
    def rest(self) -> bytes:
        """What was fed and is no complete report: a report that was cut off."""
        return bytes(self._buffer) if self._inside else b""

    def feed(self, data: bytes) -> list[bytes]:
        """Complete reports, in order. Raises ValueError when one grows beyond all reason."""
        self._buffer += data
        reports: list[bytes] = []
        while True:
            if not self._inside and not self._enter():
                return reports
            end = self._buffer.find(_END, self._searched)
            if end < 0:
                # The end may be cut through: look at the last byte again.
                self._searched = max(0, len(self._buffer) - len(_END) + 1)
                if len(self._buffer) > MAX_REPORT_BYTES:
                    raise ValueError(f"a report of more than {MAX_REPORT_BYTES} bytes")
                return reports
            end += len(_END)
            reports.append(bytes(self._buffer[:end]))
            del self._buffer[:end]
            self._inside, self._searched = False, 0

    def _enter(self) -> bool:
        start = self._buffer.find(b"{")
        before = bytes(self._buffer[: start if start >= 0 else len(self._buffer)])
        self.talk = (self.talk + before)[:_MAX_TALK_BYTES]
        del self._buffer[: len(before)]
        self._inside = start >= 0
        return self._inside
