"""Serve the protocol on stdin and stdout: requests in, events and answers out, each request in a thread of its own.

Who asks is not trusted: a request is measured before anything is made of it, few are under way at once, and nothing is kept
for a client that does not read.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from raidtui import __version__
from raidtui.base.lines import LineReader, LineTooLong
from raidtui.base.text import clean
from raidtui.engine import methods
from raidtui.engine.server import server
from raidtui.model.convert import decode, encode
from raidtui.model.problem import ProblemError, Refusal, bug, fail
from raidtui.model.protocol import (
    MAX_REQUEST_BYTES,
    PROTOCOL,
    UNREADABLE,
    EventReply,
    FailureReply,
    Hello,
    Reply,
    ResultReply,
    excess,
)

UNKNOWN_REQUEST: Final = Refusal(
    "protocol",
    "The request is unknown",
    "The front end sent a request that this engine does not know: their versions differ.",
    "Install the same version on both sides.",
)
ENGINE_BUSY: Final = Refusal(
    "engine-busy",
    "The engine has too many requests",
    "The engine works on a few requests at a time, and the limit is reached.",
    "Wait for the other requests to end, and try again.",
)

_FINISH_S: Final = 120.0
_MOST_LASTING: Final = 16
"""Requests that may last (`Method.lasts`), at once: more are refused."""
_MOST_SHORT: Final = 8
"""Short requests at once: more wait, and are not read yet."""
_LARGE_BYTES: Final = 64 << 10
"""Requests above this are answered one at a time: what is made of them takes twenty times as much."""
_PATIENCE_S: Final = 8.0
_STUCK_S: Final = 600.0
"""A client that reads nothing for so long is taken for gone."""
_WRITE_BYTES: Final = 4096
"""PIPE_BUF: a pipe that can be written to takes as much without blocking."""


class _Asked(msgspec.Struct, tag="request", tag_field="type"):
    """A `Request` whose parameters are not decoded yet."""

    id: int
    method: str
    params: msgspec.Raw = msgspec.Raw(b"{}")


_REQUESTS: Final = msgspec.json.Decoder(_Asked)
_PARAMS: Final = msgspec.json.Decoder(dict[str, Any])


def serve() -> int:
    """Answer requests until stdin closes. Runs go on: their runners do not depend on this process."""
    os.umask(0o077)
    # A dying ssh session sends SIGHUP; a recovery that is under way is better finished.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if sys.stdin is None or sys.stdout is None:
        print("error: the engine speaks over stdin and stdout, and one of them is closed", file=sys.stderr)
        return 2
    # Libraries print to descriptor 1 as they please; the protocol keeps a copy and gives them stderr.
    out = os.dup(1)
    os.dup2(2, 1)
    return Server(sys.stdin.fileno(), out).serve()


class Server:
    """One connection."""

    def __init__(self, requests: int, out: int) -> None:
        """Reads requests from one descriptor, writes to the other."""
        self._out = out
        self._lock = threading.Lock()
        self._closed = threading.Event()
        """Stop reading requests: answers under way are still sent, streams end."""
        self._gone = threading.Event()
        """The client does not read any more."""
        self._lines = LineReader(requests, self._gone.is_set)
        self._lasting = threading.Semaphore(_MOST_LASTING)
        self._short = threading.Semaphore(_MOST_SHORT)
        self._large = threading.Semaphore(1)
        self._numbers: set[int] = set()

    def serve(self) -> int:
        self._send(Hello(PROTOCOL, __version__, server().host, server().has_root, server().boot_id, server().machine_id))
        busy: list[tuple[threading.Thread, float | None]] = []
        while not self._gone.is_set():
            try:
                line = self._lines.next(MAX_REQUEST_BYTES)
            except LineTooLong:
                self._refuse(0, _no_request(f"it has more than {MAX_REQUEST_BYTES >> 20} MiB"))
                self._lines.skip()
                continue
            if line is None:
                break
            begun = self._begin(line)
            del line
            busy = [(other, for_s) for other, for_s in busy if other.is_alive()] + ([] if begun is None else [begun])
        self._closed.set()
        for thread, patience_s in busy:
            # What changes the machine is finished; what only streams sees `_closed`.
            thread.join(patience_s)
        return 0

    def _begin(self, line: bytearray) -> tuple[threading.Thread, float | None] | None:
        """Begin to answer a request, once there is room for it: the thread, and how long its end is waited for."""
        number = 0
        try:
            asked = _read(line)
            if asked.id in self._numbers:
                raise fail(UNKNOWN_REQUEST, f"request {asked.id} is being answered: another one needs another number")
            number = asked.id
            if (method := methods.METHODS.get(asked.method)) is None:
                raise fail(UNKNOWN_REQUEST, f"this engine has no method {asked.method[:40]!r}")
            taken = self._take_room(method, len(line))
        except ProblemError as error:
            self._refuse(number, error)
            return None
        self._numbers.add(number)
        thread = threading.Thread(target=self._answer, args=(asked, method, taken), daemon=True)
        thread.start()
        return thread, None if method.to_the_end else _FINISH_S

    def _take_room(self, method: methods.Method, size: int) -> list[threading.Semaphore]:
        """Wait for room for one more request, and take it. Raises ProblemError (`engine-busy`)."""
        wanted = [(self._lasting, 0.0)] if method.lasts else [(self._short, _PATIENCE_S)]
        wanted += [(self._large, _PATIENCE_S)] if size > _LARGE_BYTES else []
        taken: list[threading.Semaphore] = []
        for room, patience_s in wanted:
            if not room.acquire(timeout=patience_s):
                _give_back(taken)
                raise fail(ENGINE_BUSY, "the engine answers as many requests of this connection as it takes at once",
                           remedy="Ask again later, or over another connection.")  # fmt: skip
            taken.append(room)
        return taken

    def _answer(self, asked: _Asked, method: methods.Method, taken: list[threading.Semaphore]) -> None:
        number, name = asked.id, asked.method
        try:
            params = _params(asked, method)
            del asked
            answer = method.do(params, self._closed.is_set)
            del params
            if isinstance(answer, Iterator):
                answer = self._stream(number, answer)
            self._finish(number, ResultReply(number, msgspec.Raw(encode(answer))))
        except ProblemError as error:
            self._refuse(number, error)
        except Exception as error:  # the boundary: the other side gets it in words, with where it happened
            self._refuse(number, ProblemError(bug(error, name)))
        finally:
            self._numbers.discard(number)
            _give_back(taken)

    def _stream(self, number: int, events: Iterator[Any]) -> Any:
        """Send events as they come; what the generator returns at its end."""
        while not self._gone.is_set():
            try:
                event = next(events)
            except StopIteration as end:
                return end.value
            self._send(EventReply(number, msgspec.Raw(encode(event))))
        return None

    def _refuse(self, number: int, error: ProblemError) -> None:
        self._finish(number, FailureReply(number, error.problems))

    def _finish(self, number: int, reply: Reply) -> None:
        """Send the last that there is to a request; its number may be used again."""
        self._numbers.discard(number)
        self._send(reply)

    def _send(self, message: Hello | Reply) -> None:
        line = memoryview(encode(message) + b"\n")
        with self._lock:
            while line and not self._gone.is_set():
                try:
                    if not self._can_write():
                        raise BrokenPipeError
                    line = line[os.write(self._out, line[:_WRITE_BYTES]) :]
                except OSError:
                    self._gone.set()
                    self._closed.set()

    def _can_write(self) -> bool:
        """Wait until the client reads on; False when it does not."""
        poll = select.poll()
        poll.register(self._out, select.POLLOUT)
        until = time.monotonic() + _STUCK_S
        while not poll.poll(1000):
            if time.monotonic() > until:
                return False
        return True


def _read(line: bytearray) -> _Asked:
    """Decode a request without its parameters. Raises ProblemError (`protocol`)."""
    if more := excess(line, texts=False):
        raise _no_request(more)
    try:
        asked = _REQUESTS.decode(line)
    except UNREADABLE as error:
        raise _no_request(clean(error, 200)) from None
    if not 0 < asked.id < 1 << 53:
        raise _no_request("its id is no number from 1 to 2⁵³")
    return asked


def _params(asked: _Asked, method: methods.Method) -> Any:
    """Decode the parameters of a request. Raises ProblemError (`protocol`, `schema`)."""
    try:
        params = _PARAMS.decode(asked.params)
    except UNREADABLE as error:
        raise _no_request(clean(error, 200)) from None
    return decode(method.params, params, asked.method)


def _no_request(why: str) -> ProblemError:
    return fail(UNKNOWN_REQUEST, f"not a request: {why}")


def _give_back(taken: list[threading.Semaphore]) -> None:
    for room in taken:
        room.release()
