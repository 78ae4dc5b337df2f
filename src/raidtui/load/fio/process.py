"""Run fio: pass on its reports, and end it in any case."""

from __future__ import annotations

import resource
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from raidtui.base.silence import LIMIT_S
from raidtui.base.text import clean_lines
from raidtui.load import child
from raidtui.load.child import Bounds
from raidtui.load.fio.report import Report, Splitter, read_report
from raidtui.load.fio.spec import FioSpec
from raidtui.load.fio.verdict import Ended
from raidtui.model.problem import Refusal

PATIENCE_S: Final = LIMIT_S
_MAX_STDERR_BYTES: Final = 64 << 10
_OTHER_OPEN_FILES: Final = 256

FIO_NOT_STARTED: Final = Refusal(
    "fio-not-started",
    "fio could not be started",
    "The system refused to start the process.",
    "The message gives the reason; usual reasons are a full process table and missing memory.",
)


class Process:
    """A running fio. `follow` waits for its end and passes on every report; `close` ends it in any case.

    Its patience is the time without a completed operation.
    """

    def __init__(
        self, argv: Sequence[str], fds: Sequence[int], folder: Path, bounds: Bounds,
        read: Callable[[bytes], Report] = read_report,
    ) -> None:  # fmt: skip
        """`read` decodes a report; it raises ValueError for what is none."""
        self.last: Report | None = None
        self._read = read
        self._splitter = Splitter()
        self._stderr = bytearray()
        self._unread = ""
        self._process = child.Process(argv, fds, folder, bounds, FIO_NOT_STARTED)

    def follow(self, on_report: Callable[[Report], None], stop: threading.Event) -> Ended:
        """Wait for the end of fio. Raises ProblemError (`stuck`) if not even SIGKILL ends it."""
        process = self._process
        code = process.follow(lambda data: self._take(data, on_report), self._take_error, stop)
        return Ended(
            code=code,
            stderr=clean_lines(bytes(self._stderr)),
            text=clean_lines(self._splitter.text),
            span_s=process.span_s,
            asleep_s=process.asleep_s,
            stopped=process.stopped,
            overdue=process.overdue,
            cut=bool(self._splitter.rest),
            unread=self._unread,
        )

    def close(self) -> None:
        """End fio if it still runs, without waiting forever."""
        self._process.close()

    def _take(self, data: bytes, on_report: Callable[[Report], None]) -> None:
        try:
            reports = [self._read(raw) for raw in self._splitter.feed(data)]
        except ValueError as error:
            self._unread = self._unread or str(error)
            return
        for report in reports:
            if self.last is None or report.group.ios != self.last.group.ios:
                self._process.moved()
            self.last = report
            on_report(report)

    def _take_error(self, data: bytes) -> None:
        self._stderr += data[: _MAX_STDERR_BYTES - len(self._stderr)]


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
