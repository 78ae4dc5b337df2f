"""A measuring tool that is not fio: its output line by line as it comes, an end that always comes."""

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
from raidtui.load.reasons import REASONS
from raidtui.model.mark import Coded
from raidtui.model.problem import Exit, fail

TERM_GRACE_S: Final = 15.0
_IN_KERNEL_S: Final = 60.0
"""Twice the time after which the kernel gives a disk's command up (30 s by default)."""
_TICK_S: Final = 0.2
_MAX_OUTPUT_BYTES: Final = 1 << 20


class Ended(NamedTuple):
    """How it ended, and what it said: everything of stdout and stderr."""

    code: int
    out: str
    err: str
    span_s: float
    stopped: bool
    overdue: bool

    def problems(self, tool: str) -> list[str]:
        """Return a sentence for each reason why the numbers of `tool` are no result."""
        found: list[str] = []
        if self.stopped:
            found.append(Coded("stopped-early", "it was stopped before its end"))
        if self.overdue:
            found.append(f"{tool} did not end by itself and was ended: a device probably hangs (see dmesg)")
        if self.code != 0 and not (self.stopped or self.overdue):
            said = clean((self.err.strip() or self.out.strip()).splitlines()[-1] if self.err or self.out else "")
            how = f"signal {-self.code}" if self.code < 0 else f"exit code {self.code}"
            found.append(f"{tool} ended with {how}" + (f": {said}" if said else " and said nothing"))
        return found


def last_word(child: proc.Child, *, asked: bool, stopped: bool) -> int | None:
    """The exit code of a tool that closed its pipes, or was `asked` to end and did not; None when it cannot be killed.

    Where somebody stopped it, a disk may just be slow to answer: not before the kernel gave it up is it called stuck.
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
    """Run it to its end, to `stop`, or for `limit_s`; `on_line` gets every line of its output, of both streams.

    Raises ProblemError: `tool-not-started`, or `stuck` when not even SIGKILL ends it.
    """
    try:
        child = proc.spawn(argv, stdout=proc.PIPE, stderr=proc.PIPE, env={"LC_ALL": "C"}, cwd=folder, pass_fds=fds)
    except proc.ToolError as error:
        raise fail("tool-not-started", error.reason, place=argv[0], exit=Exit.INVALID,
                   remedy=REASONS["tool-not-started"][2]) from error  # fmt: skip
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
        self._said = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
        self._rest = dict.fromkeys(self._said, b"")

    def to_its_end(self, limit_s: float, stop: threading.Event) -> Ended:
        began = time.monotonic()
        stopped = overdue = False
        kill_at: float | None = None
        with selectors.DefaultSelector() as selector:
            for fd in self._said:
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
        code = last_word(self._child, asked=kill_at is not None, stopped=stopped)
        if code is None:
            text = f"{self._child.argv[0]} (process {self._child.pid}) waits in the kernel and cannot be killed"
            raise fail("stuck", text, place=self._child.argv[0], remedy=REASONS["stuck"][2], exit=Exit.LEFT_BEHIND)
        out, err = (clean_lines(bytes(said)) for said in self._said.values())
        return Ended(code, out, err, time.monotonic() - began, stopped, overdue)

    def _take(self, fd: int) -> bool:
        """Read what there is; False at the end. Tools that show progress end their lines with a carriage return."""
        data = os.read(fd, 1 << 16)
        if not data:
            return False
        data = data.replace(b"\r", b"\n")
        said = self._said[fd]
        said += data[: max(0, _MAX_OUTPUT_BYTES - len(said))]
        *lines, self._rest[fd] = (self._rest[fd] + data).split(b"\n")
        for line in lines:
            self._on_line(clean(line))
        return True
