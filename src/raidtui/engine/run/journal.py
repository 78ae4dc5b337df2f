"""The journal: append-only events, one JSON record a line. What was not journaled did not happen.

An event that announces or ends a side effect is on stable storage before `append` returns. Live numbers are written at
once but not waited for.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from raidtui.base.files import sync_folder
from raidtui.engine.run.space import FULL
from raidtui.model.convert import encode
from raidtui.model.event import LIVE, AnyEvent, Record
from raidtui.model.problem import Exit, Problem, Refusal

JOURNAL_NAME: Final = "journal.jsonl"
_RESERVE_NAME: Final = "reserve"
_RESERVE_BYTES: Final = 16 << 20
JOURNAL_LOST: Final = Refusal(
    "journal-lost",
    "The journal cannot be written",
    "The filesystem of the run's folder is full, read-only or broken. Everything that could be taken down was taken down.",
    "Make space, then run `raidtui recover`: it looks at the disks themselves.",
)
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError)
"""Errors of msgspec for bytes that are not the expected JSON."""
_DECODER: Final = msgspec.json.Decoder(Record)
_LIVE_LINE: Final = re.compile(
    rb'\{"seq":\d+,"at_s":[\d.e-]+,"wall":"[^"]*","event":\{"kind":"(?:%s)"'
    % b"|".join(str(event.__struct_config__.tag).encode() for event in LIVE)
)
"""Beginning of the line of a live event."""


def wall_clock() -> str:
    """The wall clock as a label: `2026-01-31T12:00:00.000Z`."""
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"


class Journal:
    """The writing end. One writer at a time; safe to call from several threads.

    Space is reserved beforehand, so that a file system that fills up while disks are half built cannot keep the teardown
    from being written down: the reserve is given up then, and `ran_out_of_space` says so.
    """

    def __init__(self, folder: Path) -> None:
        """Open or continue the journal of a run. Raises OSError when the space cannot be reserved."""
        self.path = folder / JOURNAL_NAME
        self._reserve = folder / _RESERVE_NAME
        self.ran_out_of_space = False
        self.failure: OSError | None = None
        """Error by which an event was lost."""
        self._lock = threading.Lock()
        last = deque(enumerate((line for line, _ in read_lines(folder)), 1), maxlen=1)
        self._seq = last[0][0] if last else 0
        # A continued journal goes on in the time of the first writer as well as it can: after its last record.
        self._zero = time.clock_gettime(time.CLOCK_BOOTTIME) - (_second_of(last[0][1]) if last else 0.0)
        _cut_torn_line(self.path)
        self._reserve_space()
        self._fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        sync_folder(folder)

    def append(self, event: AnyEvent) -> Record:
        """Write one event. On return it survives a power cut, unless it is a live number. Raises OSError."""
        with self._lock:
            at_s = round(time.clock_gettime(time.CLOCK_BOOTTIME) - self._zero, 4)
            record = Record(self._seq + 1, at_s, wall_clock(), event)
            live = isinstance(event, LIVE)
            if live and self.ran_out_of_space:
                return record  # what little is left belongs to the teardown
            try:
                self._write(encode(record) + b"\n")
                if not live:
                    os.fdatasync(self._fd)
            except OSError as error:
                self.failure = error
                raise
            self._seq += 1
            return record

    def is_full(self) -> bool:
        """Return True since there was no space for an event but the reserve."""
        return self.ran_out_of_space

    def lost(self) -> Problem | None:
        """Return the problem (`journal-lost`, exit 6) if an event could not be written."""
        if self.failure is None:
            return None
        text = f"the journal cannot be written: {self.failure.strerror}"
        return JOURNAL_LOST.problem(text, place=str(self.path.parent), remedy=JOURNAL_LOST.way_out, exit=Exit.LEFT_BEHIND)

    def close(self) -> None:
        """Give back the reserve; the journal itself stays."""
        self._reserve.unlink(missing_ok=True)
        os.close(self._fd)

    def _reserve_space(self) -> None:
        fd = os.open(self._reserve, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.posix_fallocate(fd, 0, _RESERVE_BYTES)
        finally:
            os.close(fd)

    def _write(self, line: bytes) -> None:
        try:
            self._write_all(line)
        except OSError as error:
            if error.errno not in FULL or self.ran_out_of_space:
                raise
            self.ran_out_of_space = True
            self._reserve.unlink(missing_ok=True)
            _cut_torn_line(self.path)
            self._write_all(line)

    def _write_all(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            left = left[os.write(self._fd, left) :]


def read_journal(folder: Path) -> Iterator[Record]:
    """Yield every record of a run, in order. A torn last line, left by a crash, is ignored."""
    for line, _ in read_lines(folder):
        yield _DECODER.decode(line)


def read_lasting(folder: Path) -> Iterator[Record]:
    """Yield the records without the live numbers, which are most of a long journal and are not even parsed."""
    for line, _ in read_lines(folder):
        if not _LIVE_LINE.match(line):
            yield _DECODER.decode(line)


def read_lines(folder: Path, offset: int = 0) -> Iterator[tuple[bytes, int]]:
    """The records as they stand, one line each, from byte `offset` on; each with the offset after it.

    Line n is the record with number n.
    """
    try:
        file = (folder / JOURNAL_NAME).open("rb")
    except FileNotFoundError:
        return
    with file:
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            yield line, offset


def _second_of(line: bytes) -> float:
    """Return the time of a record; 0 for a damaged line, which must not stop a recovery."""
    with suppress(*UNREADABLE):
        return _DECODER.decode(line).at_s
    return 0.0


def _cut_torn_line(path: Path) -> None:
    """Remove what a crash left of an unfinished line: the next record must begin a line of its own."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        end = os.fstat(fd).st_size
        keep, position = 0, end
        while position > 0:
            start = max(0, position - 65536)
            chunk = os.pread(fd, position - start, start)
            if (newline := chunk.rfind(b"\n")) >= 0:
                keep = start + newline + 1
                break
            position = start
        if keep != end:
            os.ftruncate(fd, keep)
            os.fsync(fd)
    finally:
        os.close(fd)
