"""Run a benchmark tool: pass on its output, and end it in any case."""

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
from raidtui.base.text import clean, clean_lines
from raidtui.model.mark import Coded
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.model.refusals import STUCK

TERM_GRACE_S: Final = 15.0
_IN_KERNEL_S: Final = 60.0
"""Twice the kernel's timeout for a disk command (30 s by default)."""
_TICK_S: Final = 0.2
_PIPE_BYTES: Final = 1 << 20
_MAX_OUTPUT_BYTES: Final = 1 << 20

TOOL_NOT_STARTED: Final = Refusal(
    "tool-not-started",
    "The benchmark tool could not be started",
    "The system refused to start the process.",
    "The message gives the reason; usual reasons are a full process table and missing memory.",
)
STOPPED_EARLY: Final = Refusal(
    "stopped-early",
    "The workload did not run to its end",
    "The workload was stopped, or ended before it had run as long or moved as much as it was asked to.",
    "Look for other marks of the cell and at dmesg, and run the cell again (--layout, --workload).",
)


class Ended(NamedTuple):
    """Exit code and complete output of a tool."""

    code: int
    out: str
    err: str
    span_s: float
    stopped: bool
    overdue: bool

    def problems(self, tool: str) -> list[str]:
        """Return a sentence for each reason why the numbers of `tool` are not valid."""
        found: list[str] = []
        if self.stopped:
            found.append(Coded(STOPPED_EARLY.code, "the workload was stopped before its end"))
        if self.overdue:
            found.append(f"{tool} exceeded its time limit and was ended: a device probably hangs (see dmesg)")
        if self.code != 0 and not (self.stopped or self.overdue):
            said = clean((self.err.strip() or self.out.strip()).splitlines()[-1] if self.err or self.out else "")
            how = f"signal {-self.code}" if self.code < 0 else f"exit code {self.code}"
            found.append(f"{tool} ended with {how}" + (f": {said}" if said else " and no message"))
        return found


class Bounds(NamedTuple):
    """Limits after which a tool is ended: total time, and time without `Process.moved`; None: no limit."""

    limit_s: float | None
    patience_s: float | None = None


class Process:
    """A running tool. `follow` waits for its end and passes on its output; `close` ends it in any case."""

    def __init__(
        self, argv: Sequence[str], fds: Sequence[int], folder: Path, bounds: Bounds, refusal: Refusal = TOOL_NOT_STARTED
    ) -> None:
        """Start it. Raises ProblemError (`refusal`)."""
        name = Path(argv[0]).name
        self._name = name
        try:
            self._child = proc.spawn(
                argv, stdout=proc.PIPE, stderr=proc.PIPE, env={"LC_ALL": "C"}, cwd=folder, pass_fds=fds
            )
        except proc.ToolError as error:
            raise fail(refusal, error.reason, place=name, exit=Exit.INVALID, remedy=refusal.way_out) from error
        self._bounds = bounds
        self._began = self._moved = time.monotonic()
        self._began_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
        self._kill_at: float | None = None
        self.stopped = self.overdue = False
        self.span_s = self.asleep_s = 0.0
        """Wall time of the tool, and the part of it in which the machine was suspended."""

    def moved(self) -> None:
        """Note that the tool has done something."""
        self._moved = time.monotonic()

    def follow(self, on_out: Callable[[bytes], None], on_err: Callable[[bytes], None], stop: threading.Event) -> int:
        """Wait for the tool's end and return its exit code. Raises ProblemError (`stuck`) if not even SIGKILL ends it."""
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        # A whole report of fio fits into the pipe, so that fio never waits for its reader.
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._child.stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        with selectors.DefaultSelector() as selector:
            selector.register(self._child.stdout, selectors.EVENT_READ, on_out)
            selector.register(self._child.stderr, selectors.EVENT_READ, on_err)
            while selector.get_map() and not self._refuses_to_end(stop):
                for key, _ in selector.select(_TICK_S):
                    if data := os.read(key.fd, 1 << 18):
                        key.data(data)
                    else:
                        selector.unregister(key.fileobj)
        return self._exit_code()

    def close(self) -> None:
        """End the tool if it still runs, without waiting forever."""
        if self._child.poll() is None:
            self._child.end(term_grace_s=1.0)
        for pipe in (self._child.stdout, self._child.stderr):
            if pipe is not None:
                pipe.close()

    def _refuses_to_end(self, stop: threading.Event) -> bool:
        """Send SIGTERM when the tool has to end; return True if it did not end within the grace period."""
        now = time.monotonic()
        if self._kill_at is not None:
            return now > self._kill_at
        limit_s, patience_s = self._bounds
        self.stopped = stop.is_set()
        self.overdue = not self.stopped and (
            (limit_s is not None and now - self._began > limit_s)
            or (patience_s is not None and now - self._moved > patience_s)
        )
        if self.stopped or self.overdue:
            self._kill_at = now + TERM_GRACE_S
            if self._child.poll() is None:
                self._child.signal(signal.SIGTERM)
        return False

    def _exit_code(self) -> int:
        """Return the exit code of a tool that closed its pipes or was asked to end.

        If the operator stopped it, a disk may just be slow: the tool counts as stuck only after the kernel's own timeout.
        """
        code = self._child.wait(TERM_GRACE_S if self._kill_at is None else 0.0)
        if code is None:
            code = self._child.end(term_grace_s=1.0, kill_grace_s=_IN_KERNEL_S if self.stopped else proc.KILL_GRACE_S)
        self.span_s = time.monotonic() - self._began
        self.asleep_s = time.clock_gettime(time.CLOCK_BOOTTIME) - self._began_boot - self.span_s
        if code is None:
            text = f"process {self._child.pid} waits in the kernel and cannot be killed after {self.span_s:.0f} s"
            raise fail(STUCK, f"{self._name}: {text}", place=self._name, remedy=STUCK.way_out, exit=Exit.LEFT_BEHIND)
        return code


def follow(
    argv: Sequence[str],
    fds: Sequence[int],
    folder: Path,
    *,
    limit_s: float,
    stop: threading.Event,
    on_line: Callable[[str], None],
) -> Ended:
    """Run a tool to its end, until `stop` is set, or for `limit_s`; pass each line of stdout and stderr to `on_line`.

    Raises ProblemError: `tool-not-started`, or `stuck` if not even SIGKILL ends the tool.
    """
    out, err = _Lines(on_line), _Lines(on_line)
    process = Process(argv, fds, folder, Bounds(limit_s))
    try:
        code = process.follow(out.take, err.take, stop)
    finally:
        process.close()
    return Ended(code, out.text, err.text, process.span_s, process.stopped, process.overdue)


class _Lines:
    """One stream of output: its text, and each line once it is complete (progress ends with a carriage return)."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._output = bytearray()
        self._rest = b""

    @property
    def text(self) -> str:
        return clean_lines(bytes(self._output))

    def take(self, data: bytes) -> None:
        data = data.replace(b"\r", b"\n")
        self._output += data[: max(0, _MAX_OUTPUT_BYTES - len(self._output))]
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._on_line(clean(line))
