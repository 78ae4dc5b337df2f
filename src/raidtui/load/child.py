"""Run a benchmark tool other than fio: pass on its output line by line, and end it in any case."""

from __future__ import annotations

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


def exit_code_of(child: proc.Child, *, asked: bool, stopped: bool) -> int | None:
    """Return the exit code of a tool that closed its pipes or was `asked` to end; None if it cannot be killed.

    If the operator stopped it, a disk may just be slow: the tool counts as stuck only after the kernel's own timeout.
    """
    code = child.wait(0.0 if asked else TERM_GRACE_S)
    if code is None:
        code = child.end(term_grace_s=1.0, kill_grace_s=_IN_KERNEL_S if stopped else proc.KILL_GRACE_S)
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
    try:
        child = proc.spawn(argv, stdout=proc.PIPE, stderr=proc.PIPE, env={"LC_ALL": "C"}, cwd=folder, pass_fds=fds)
    except proc.ToolError as error:
        raise fail(TOOL_NOT_STARTED, error.reason, place=argv[0], exit=Exit.INVALID,
                   remedy=TOOL_NOT_STARTED.way_out) from error  # fmt: skip
    try:
        return _Run(child, on_line).to_its_end(limit_s, stop)
    finally:
        if child.poll() is None:
            child.end(term_grace_s=1.0)
        for pipe in (child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()


class _Run:
    def __init__(self, child: proc.Child, on_line: Callable[[str], None]) -> None:
        assert child.stdout is not None
        assert child.stderr is not None
        self._child = child
        self._on_line = on_line
        self._output = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
        self._rest = dict.fromkeys(self._output, b"")

    def to_its_end(self, limit_s: float, stop: threading.Event) -> Ended:
        began = time.monotonic()
        stopped = overdue = False
        kill_at: float | None = None
        with selectors.DefaultSelector() as selector:
            for fd in self._output:
                selector.register(fd, selectors.EVENT_READ)
            while selector.get_map() and (kill_at is None or time.monotonic() < kill_at):
                for key, _ in selector.select(_TICK_S):
                    if not self._take(key.fd):
                        selector.unregister(key.fd)
                stopped = stopped or stop.is_set()
                overdue = not stopped and time.monotonic() - began > limit_s
                if kill_at is None and (stopped or overdue):
                    kill_at = time.monotonic() + TERM_GRACE_S
                    if self._child.poll() is None:
                        self._child.signal(signal.SIGTERM)
        code = exit_code_of(self._child, asked=kill_at is not None, stopped=stopped)
        if code is None:
            text = f"{self._child.argv[0]} (process {self._child.pid}) waits in the kernel and cannot be killed"
            raise fail(STUCK, text, place=self._child.argv[0], remedy=STUCK.way_out, exit=Exit.LEFT_BEHIND)
        out, err = (clean_lines(bytes(output)) for output in self._output.values())
        return Ended(code, out, err, time.monotonic() - began, stopped, overdue)

    def _take(self, fd: int) -> bool:
        """Read available output; return False at its end. Progress lines end with a carriage return."""
        data = os.read(fd, 1 << 16)
        if not data:
            return False
        data = data.replace(b"\r", b"\n")
        output = self._output[fd]
        output += data[: max(0, _MAX_OUTPUT_BYTES - len(output))]
        *lines, self._rest[fd] = (self._rest[fd] + data).split(b"\n")
        for line in lines:
            self._on_line(clean(line))
        return True
