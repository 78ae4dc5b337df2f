"""Run fio: pass on its reports, and end it in any case."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
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
from raidtui.load.child import TERM_GRACE_S, exit_code_of
from raidtui.load.fio.report import Report, Splitter, read_report
from raidtui.load.fio.spec import FioSpec
from raidtui.load.fio.verdict import Ended
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.model.refusals import STUCK

PATIENCE_S: Final = LIMIT_S
_TICK_S: Final = 0.2
_PIPE_BYTES: Final = 1 << 20
_MAX_STDERR_BYTES: Final = 64 << 10
_OTHER_OPEN_FILES: Final = 256

FIO_NOT_STARTED: Final = Refusal(
    "fio-not-started",
    "fio could not be started",
    "The system refused to start the process.",
    "The message gives the reason; usual reasons are a full process table and missing memory.",
)


class Bounds(NamedTuple):
    """Limits after which fio is ended: total time, and time without a completed operation; None: no limit."""

    limit_s: float | None
    patience_s: float | None = None


class Process:
    """A running fio. `follow` waits for its end and passes on every report; `close` ends it in any case."""

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
            raise fail(FIO_NOT_STARTED, error.reason, place="fio", remedy=FIO_NOT_STARTED.way_out,
                       exit=Exit.INVALID) from error  # fmt: skip
        self._began = time.monotonic()
        self._began_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
        self._changed = self._began
        self._stopped = self._overdue = False
        self._kill_at: float | None = None

    def follow(self, on_report: Callable[[Report], None], stop: threading.Event) -> Ended:
        """Wait for the end of fio. Raises ProblemError (`stuck`) if not even SIGKILL ends it."""
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        # A whole report fits into the pipe, so that fio never waits for its reader.
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._child.stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        with selectors.DefaultSelector() as selector:
            selector.register(self._child.stdout, selectors.EVENT_READ, on_report)
            selector.register(self._child.stderr, selectors.EVENT_READ, None)
            while selector.get_map() and not self._overdue_to_end(stop):
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
        """End fio if it still runs, without waiting forever."""
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

    def _overdue_to_end(self, stop: threading.Event) -> bool:
        """Send SIGTERM when fio has to end; return True if it did not end within the grace period."""
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
        code = exit_code_of(self._child, asked=self._kill_at is not None, stopped=self._stopped)
        span_s = time.monotonic() - self._began
        if code is None:
            raise fail(
                STUCK,
                f"fio (process {self._child.pid}) waits in the kernel and cannot be killed after {span_s:.0f} s",
                place="fio",
                remedy=STUCK.way_out,
                exit=Exit.LEFT_BEHIND,
            )
        return Ended(
            code=code,
            stderr=clean_lines(bytes(self._stderr)),
            text=clean_lines(self._splitter.text),
            span_s=span_s,
            asleep_s=time.clock_gettime(time.CLOCK_BOOTTIME) - self._began_boot - span_s,
            stopped=self._stopped,
            overdue=self._overdue,
            cut=bool(self._splitter.rest),
            unread=self._unread,
        )


def allow_open_files(spec: FioSpec, targets: int) -> None:
    """Raise this process's limit of open files as far as the workload needs and the hard limit allows.

    fio opens all files of a job at once, and the default limit is 1024.
    """
    needed = spec.numjobs * spec.nrfiles * targets + _OTHER_OPEN_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
