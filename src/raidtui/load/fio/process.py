"""Running fio: its reports as they come, an end that always comes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base import proc
from raidtui.base.silence import LIMIT_S
from raidtui.base.text import clean_lines
from raidtui.load.child import TERM_GRACE_S, last_word
from raidtui.load.fio.report import Report, read_report
from raidtui.load.fio.stream import Splitter
from raidtui.load.fio.verdict import Ended
from raidtui.load.reasons import REASONS
from raidtui.model.problem import Exit, fail

PATIENCE_S: Final = LIMIT_S
_TICK_S: Final = 0.2
_PIPE_BYTES: Final = 1 << 20
_MAX_STDERR_BYTES: Final = 64 << 10


class Bounds(NamedTuple):
    """When raidtui ends fio: after `limit_s`, or when no operation was done for `patience_s`; None: not for that."""

    limit_s: float | None
    patience_s: float | None = None


class Process:
    """One fio. `follow` runs it to its end, calling `on_report` for every report; `close` ends it whatever happened."""

    def __init__(self, argv: Sequence[str], fds: Sequence[int], folder: Path, bounds: Bounds) -> None:
        self.last: Report | None = None
        self._argv = tuple(argv)
        self._bounds = bounds
        self._splitter = Splitter()
        self._stderr = bytearray()
        self._unread = ""
        try:
            self._child = proc.spawn(argv, stdout=proc.PIPE, stderr=proc.PIPE, env={}, cwd=folder, pass_fds=fds)
        except proc.ToolError as error:
            raise fail("fio-not-started", error.reason, place="fio", remedy=REASONS["fio-not-started"][2],
                       exit=Exit.INVALID) from error  # fmt: skip
        self._began = time.monotonic()
        self._began_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
        self._changed = self._began
        self._stopped = self._overdue = False
        self._kill_at: float | None = None

    def follow(self, on_report: Callable[[Report], None], stop: threading.Event) -> Ended:
        """Raises ProblemError (code `stuck`) when not even SIGKILL ends it."""
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        # fio must never wait for its reader: a whole report fits into the pipe.
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._child.stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        with selectors.DefaultSelector() as selector:
            selector.register(self._child.stdout, selectors.EVENT_READ, on_report)
            selector.register(self._child.stderr, selectors.EVENT_READ, None)
            while selector.get_map() and not self._given_up(stop):
                for key, _ in selector.select(_TICK_S):
                    data = os.read(key.fd, 1 << 18)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.data is None:
                        self._stderr += data[: _MAX_STDERR_BYTES - len(self._stderr)]
                    else:
                        self._take(data, on_report)
        return self._ended()

    def close(self) -> None:
        """End it if it still runs. Does not wait for good."""
        if self._child.poll() is None:
            self._child.end(term_grace_s=1.0)
        for pipe in (self._child.stdout, self._child.stderr):
            if pipe is not None:
                pipe.close()

    def _take(self, data: bytes, on_report: Callable[[Report], None]) -> None:
        for report in self._reports(data):
            if self.last is None or report.group.ios != self.last.group.ios:
                self._changed = time.monotonic()
            self.last = report
            on_report(report)

    def _reports(self, data: bytes) -> list[Report]:
        try:
            return [read_report(raw) for raw in self._splitter.feed(data)]
        except ValueError as error:
            self._unread = self._unread or str(error)
            return []

    def _given_up(self, stop: threading.Event) -> bool:
        """Ask fio to end when it has to; True when it was given time enough and still has not."""
        now = time.monotonic()
        if self._kill_at is not None:
            return now > self._kill_at
        limit_s, patience_s = self._bounds
        self._stopped = stop.is_set()
        self._overdue = not self._stopped and (
            (limit_s is not None and now - self._began > limit_s)
            or (patience_s is not None and now - self._changed > patience_s)
        )
        if self._stopped or self._overdue:
            self._kill_at = now + TERM_GRACE_S
            if self._child.poll() is None:
                self._child.signal(signal.SIGTERM)
        return False

    def _ended(self) -> Ended:
        # Both pipes are closed, or it was given up: in either case there is nothing more to wait for.
        code = last_word(self._child, asked=self._kill_at is not None, stopped=self._stopped)
        span_s = time.monotonic() - self._began
        if code is None:
            raise fail(
                "stuck",
                f"fio (process {self._child.pid}) waits in the kernel and cannot be killed after {span_s:.0f} s",
                place="fio",
                remedy=REASONS["stuck"][2],
                exit=Exit.LEFT_BEHIND,
            )
        return Ended(
            code=code,
            stderr=clean_lines(bytes(self._stderr)),
            talk=clean_lines(self._splitter.talk),
            span_s=span_s,
            asleep_s=time.clock_gettime(time.CLOCK_BOOTTIME) - self._began_boot - span_s,
            stopped=self._stopped,
            overdue=self._overdue,
            cut=bool(self._splitter.rest),
            unread=self._unread,
        )
