"""The one module that starts processes.

Every argv is a list, and no shell is started: `sh -c 'echo VALUE > FILE'` in plans and journals stands for what raidtui
writes itself. Every child has a deadline, or is given up if nothing progresses any more. It is ended with SIGTERM before
SIGKILL, and nothing here waits without limit: a process in uninterruptible sleep (a hung disk) survives SIGKILL, and
`subprocess.run` with a timeout would then block for good.
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from raidtui.base import attention
from raidtui.base.attention import Watch
from raidtui.base.silence import Silent

PIPE = subprocess.PIPE
DEVNULL = subprocess.DEVNULL
STDOUT = subprocess.STDOUT

TOOL_DIRS = ("/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin")
CLEAN_ENV = {"PATH": ":".join(TOOL_DIRS), "LC_ALL": "C", "TZ": "UTC"}
MAX_OUTPUT_BYTES = 64 << 20
TERM_GRACE_S = 5.0
KILL_GRACE_S = 5.0


class Finished(NamedTuple):
    """Result of a process that ended. `code` is negative if a signal ended it."""

    argv: tuple[str, ...]
    code: int
    out: bytes
    err: bytes
    seconds: float

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "backslashreplace")

    @property
    def error_text(self) -> str:
        return self.err.decode("utf-8", "backslashreplace").strip()


class ToolError(Exception):
    """A tool could not be started, failed, printed too much, or did not answer in time."""

    def __init__(self, argv: Sequence[str], reason: str, finished: Finished | None = None) -> None:
        super().__init__(f"{' '.join(argv)}: {reason}")
        self.argv = tuple(argv)
        self.reason = reason
        self.finished = finished


class ToolTimeout(ToolError):
    """The deadline passed."""


class ToolStuck(ToolError):
    """Error of a process without progress, or of one that survived SIGKILL (uninterruptible sleep)."""

    def __init__(self, argv: Sequence[str], reason: str, disk: str = "") -> None:
        super().__init__(argv, reason)
        self.disk = disk
        """The kernel's name of the disk that does not answer, where one is known."""


def find_tool(name: str) -> str | None:
    """Return the path of a tool in the system's own directories, or None. The caller's PATH is never used."""
    for folder in TOOL_DIRS:
        path = f"{folder}/{name}"
        if os.access(path, os.X_OK):
            return path
    return None


class Child:
    """A running process that can be ended without waiting forever: SIGTERM first, then SIGKILL."""

    def __init__(self, popen: subprocess.Popen[bytes], argv: tuple[str, ...]) -> None:
        self._popen = popen
        self.argv = argv
        self.pid = popen.pid

    @property
    def stdin(self) -> IO[bytes] | None:
        return self._popen.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        return self._popen.stdout

    @property
    def stderr(self) -> IO[bytes] | None:
        return self._popen.stderr

    def poll(self) -> int | None:
        return self._popen.poll()

    def wait(self, timeout_s: float | None) -> int | None:
        """Return the exit code; None if the process still runs after `timeout_s` (None: wait for its end)."""
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def signal(self, number: int) -> None:
        self._popen.send_signal(number)

    def end(self, term_grace_s: float = TERM_GRACE_S, kill_grace_s: float = KILL_GRACE_S) -> int | None:
        """Send SIGTERM, then SIGKILL. Return the exit code; None if even SIGKILL did not end it in time."""
        for number, grace_s in ((signal.SIGTERM, term_grace_s), (signal.SIGKILL, kill_grace_s)):
            if self.poll() is None:
                with contextlib.suppress(PermissionError):  # sudo is root's: it ends when its pipe does
                    self.signal(number)
            if (code := self.wait(grace_s)) is not None:
                return code
        return None


def end_session(child: Child) -> None:
    """End a process that leads a session of its own, and what it started there: SIGTERM, then SIGKILL."""
    for number, grace_s in ((signal.SIGTERM, 1.0), (signal.SIGKILL, KILL_GRACE_S)):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        child.wait(grace_s)


def spawn(
    argv: Sequence[str],
    *,
    stdin: int | IO[bytes] | None = DEVNULL,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    pass_fds: Sequence[int] = (),
    new_session: bool = False,
) -> Child:
    """Start a process. `env` is its whole environment (default: `CLEAN_ENV`). Raises ToolError when it cannot start."""
    argv = tuple(argv)
    try:
        popen = subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=dict(CLEAN_ENV if env is None else env),
            cwd=cwd,
            pass_fds=tuple(pass_fds),
            start_new_session=new_session,
        )
    except OSError as error:
        raise ToolError(argv, f"cannot be started: {error.strerror}") from error
    return Child(popen, argv)


def run(
    argv: Sequence[str],
    *,
    timeout_s: float | None = None,
    silence_s: float | None = None,
    input_bytes: bytes | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    pass_fds: Sequence[int] = (),
    check: bool = True,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
    watched: bool = True,
) -> Finished:
    """Run a process to its end and return its exit code and output.

    Raises ToolTimeout after `timeout_s`. Without `timeout_s` it is supervised: raises ToolStuck if neither it, nor its
    children, nor a disk of the present attention did anything for the attention's limit (or `silence_s`), and the error
    with which the attention ends it. Raises ToolStuck also if it cannot be killed; ToolError if its output exceeds
    `max_output_bytes` or, with `check`, if its exit code is not 0. Without `watched` this process sleeps until the
    other ends: a third one supervises both, and would take regular looks of this one for progress.
    """
    argv = tuple(argv)
    began = time.monotonic()
    child = spawn(
        argv,
        stdin=PIPE if input_bytes is not None else DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        env=env,
        cwd=cwd,
        pass_fds=pass_fds,
    )
    tick_s = attention.TICK_S if watched else None
    tick = _tick_of(child, timeout_s, silence_s) if watched else lambda: None
    try:
        out, err = _exchange(child, input_bytes or b"", tick, tick_s, max_output_bytes)
        while (code := child.wait(tick_s)) is None:
            tick()
    except BaseException as error:
        started = attention.descendants(child.pid)
        left = [child.pid] if child.end() is None else []
        if (instead := given_up(argv, error, left + end_all(started))) is not None:
            raise instead from error
        raise
    finally:
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()
    finished = Finished(argv, code, out, err, time.monotonic() - began)
    if check and code != 0:
        raise ToolError(argv, f"ended with {code}: {finished.error_text or finished.text.strip()}", finished)
    return finished


def name_of(argv: Sequence[str]) -> str:
    """Return the name of a command in messages: `mkfs.ext4`, `lvm lvcreate`, `zpool destroy`."""
    tool, verb = argv[0].rpartition("/")[2], argv[1] if len(argv) > 1 else ""
    return f"{tool} {verb}" if verb.isalpha() else tool


def end_all(pids: Sequence[int]) -> list[int]:
    """End processes with SIGTERM, then SIGKILL; return those that even SIGKILL did not end."""
    left: dict[int, int] = {}
    for pid in pids:
        with suppress(OSError):
            left[os.pidfd_open(pid)] = pid
    opened = list(left)
    for number, grace_s in ((signal.SIGTERM, TERM_GRACE_S), (signal.SIGKILL, KILL_GRACE_S)):
        until_s = time.monotonic() + grace_s
        for fd in left:
            with suppress(OSError):
                signal.pidfd_send_signal(fd, number)
        while left and (wait_s := until_s - time.monotonic()) > 0:
            ended = select.poll()
            for fd in left:
                ended.register(fd, select.POLLIN)
            for fd, _ in ended.poll(1000 * wait_s):
                del left[fd]
    for fd in opened:
        os.close(fd)
    return list(left.values())


def _tick_of(child: Child, timeout_s: float | None, silence_s: float | None) -> Callable[[], None]:
    if timeout_s is None:
        return Watch(name_of(child.argv), lambda: attention.work_of([child.pid]), silence_s).tick
    until_s = time.monotonic() + timeout_s

    def tick() -> None:
        if time.monotonic() > until_s:
            raise TimeoutError(f"no answer within {timeout_s:g} s")

    return tick


def given_up(argv: Sequence[str], error: BaseException, left: list[int]) -> ToolError | None:
    """Return the error to raise instead of `error` for a process that was given up, and perhaps could not be killed."""
    immortal = [f"process {pid} waits in the kernel and cannot be killed" for pid in left]
    if isinstance(error, Silent):
        return ToolStuck(argv, "; ".join([error.text, *immortal]), error.disk)
    if isinstance(error, TimeoutError):
        return ToolTimeout(argv, "; ".join([str(error), *immortal]))
    return ToolStuck(argv, "; ".join(immortal)) if immortal and isinstance(error, Exception) else None


def _exchange(child: Child, data: bytes, tick: Callable[[], None], tick_s: float | None, limit: int) -> tuple[bytes, bytes]:
    """Feed stdin and drain both pipes until they close, within the size limit; `tick` raises to give up."""
    assert child.stdout is not None
    assert child.stderr is not None
    chunks: dict[int, bytearray] = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    out_fd, err_fd = chunks
    pending = memoryview(data)
    with selectors.DefaultSelector() as selector:
        for fd in chunks:
            selector.register(fd, selectors.EVENT_READ)
        if child.stdin is not None:
            os.set_blocking(child.stdin.fileno(), False)
            selector.register(child.stdin, selectors.EVENT_WRITE)
        while selector.get_map():
            tick()
            for key, _ in selector.select(tick_s):
                if key.fileobj is child.stdin:
                    assert child.stdin is not None
                    try:
                        pending = pending[os.write(key.fd, pending[:65536]) :]
                    except BrokenPipeError:
                        pending = pending[:0]
                    if not pending:
                        selector.unregister(child.stdin)
                        child.stdin.close()
                    continue
                if not (chunk := os.read(key.fd, 1 << 16)):
                    selector.unregister(key.fd)
                    continue
                chunks[key.fd] += chunk
                if sum(map(len, chunks.values())) > limit:
                    raise ToolError(child.argv, f"printed more than {limit} bytes")
    return bytes(chunks[out_fd]), bytes(chunks[err_fd])
