"""The one module that starts processes.

Every argv is a list, never a shell string. Every child has a deadline, is ended with SIGTERM before SIGKILL, and nothing
here waits without bound: a process in uninterruptible sleep (a hung disk) survives SIGKILL, and `subprocess.run` with a
timeout would then block for good.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

PIPE = subprocess.PIPE
DEVNULL = subprocess.DEVNULL
STDOUT = subprocess.STDOUT

TOOL_DIRS = ("/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin")
CLEAN_ENV = {"PATH": ":".join(TOOL_DIRS), "LC_ALL": "C", "TZ": "UTC"}
MAX_OUTPUT_BYTES = 64 << 20
TERM_GRACE_S = 5.0
KILL_GRACE_S = 5.0


class Finished(NamedTuple):
    """What a process that ended left behind. `code` is negative when a signal ended it."""

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
    """A tool could not be started, failed, answered too much, or did not answer in time."""

    def __init__(self, argv: Sequence[str], reason: str, finished: Finished | None = None) -> None:
        super().__init__(f"{' '.join(argv)}: {reason}")
        self.argv = tuple(argv)
        self.reason = reason
        self.finished = finished


class ToolTimeout(ToolError):
    """The deadline passed. `stuck` is true when the process did not even die of SIGKILL (uninterruptible sleep)."""

    def __init__(self, argv: Sequence[str], timeout_s: float, *, stuck: bool) -> None:
        super().__init__(argv, f"no answer within {timeout_s:g} s" + (", and it cannot be killed" if stuck else ""))
        self.stuck = stuck


def find_tool(name: str) -> str | None:
    """Absolute path of a tool in the system's own directories, or None. The caller's PATH is never consulted."""
    for folder in TOOL_DIRS:
        path = f"{folder}/{name}"
        if os.access(path, os.X_OK):
            return path
    return None


class Child:
    """A running process that can be ended, politely first, without ever waiting for good."""

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

    def wait(self, timeout_s: float) -> int | None:
        """The exit code, or None if it still runs after `timeout_s`."""
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def signal(self, number: int) -> None:
        self._popen.send_signal(number)

    def end(self, term_grace_s: float = TERM_GRACE_S, kill_grace_s: float = KILL_GRACE_S) -> int | None:
        """SIGTERM, then SIGKILL. The exit code, or None when even SIGKILL did not end it in time."""
        for number, grace_s in ((signal.SIGTERM, term_grace_s), (signal.SIGKILL, kill_grace_s)):
            if self.poll() is None:
                with contextlib.suppress(PermissionError):  # sudo is root's: it ends when its pipe does
                    self.signal(number)
            if (code := self.wait(grace_s)) is not None:
                return code
        return None


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
    timeout_s: float,
    input_bytes: bytes | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    pass_fds: Sequence[int] = (),
    check: bool = True,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
) -> Finished:
    """Run a process to its end and return what it left.

    Raises ToolTimeout after `timeout_s`, ToolError when it answers more than `max_output_bytes` or, with `check`, when it
    ends with anything but 0.
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
    try:
        out, err = _exchange(child, input_bytes or b"", began + timeout_s, timeout_s, max_output_bytes)
        code = child.wait(max(0.0, began + timeout_s - time.monotonic()))
        if code is None:
            raise ToolTimeout(argv, timeout_s, stuck=child.end() is None)
    except BaseException:
        child.end(term_grace_s=1.0)
        raise
    finally:
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()
    finished = Finished(argv, code, out, err, time.monotonic() - began)
    if check and code != 0:
        raise ToolError(argv, f"ended with {code}: {finished.error_text or finished.text.strip()}", finished)
    return finished


def _exchange(child: Child, data: bytes, deadline: float, timeout_s: float, limit: int) -> tuple[bytes, bytes]:
    """Feed stdin and drain both pipes until they close, within the deadline and the size limit."""
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
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise ToolTimeout(child.argv, timeout_s, stuck=child.end() is None)
            for key, _ in selector.select(left_s):
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
                    raise ToolError(child.argv, f"answered more than {limit} bytes")
    return bytes(chunks[out_fd]), bytes(chunks[err_fd])
