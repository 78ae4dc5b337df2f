"""Serve the protocol on stdin and stdout: requests in, events and answers out, each request in a thread of its own."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from raidtui import __version__
from raidtui.engine import methods
from raidtui.inventory import boot_id
from raidtui.model.convert import decode, encode
from raidtui.model.problem import Exit, Problem, ProblemError, bug, fail
from raidtui.model.protocol import (
    MAX_LINE_BYTES,
    PROTOCOL,
    EventReply,
    FailureReply,
    Hello,
    Reply,
    Request,
    ResultReply,
)

_FINISH_S: Final = 120.0


def serve() -> int:
    """Answer requests until stdin closes. Runs go on: they are not this process's children's lives."""
    os.umask(0o077)
    # A dying ssh session sends SIGHUP; a recovery that is under way is better finished.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # Libraries print to descriptor 1 as they please; the protocol keeps a copy and gives them stderr.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return Server(out).serve()


class Server:
    """One connection."""

    def __init__(self, out: Any) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def serve(self) -> int:
        self._send(Hello(PROTOCOL, __version__, socket.gethostname(), os.geteuid() == 0, boot_id()))
        decoder = msgspec.json.Decoder(Request)
        busy: list[tuple[threading.Thread, float | None]] = []
        while line := sys.stdin.buffer.readline(MAX_LINE_BYTES):
            try:
                request = decoder.decode(line)
            except msgspec.DecodeError as error:
                self._send(FailureReply(0, (Problem("protocol", f"not a request: {error}", exit=int(Exit.BUG)),)))
                continue
            thread = threading.Thread(target=self._answer, args=(request,), daemon=True)
            thread.start()
            method = methods.METHODS.get(request.method)
            patience_s = None if method is not None and method.to_the_end else _FINISH_S
            busy = [(other, for_s) for other, for_s in busy if other.is_alive()] + [(thread, patience_s)]
        self._closed.set()
        for thread, patience_s in busy:
            # What changes the machine is finished; what only streams sees `_closed`.
            thread.join(patience_s)
        return 0

    def _answer(self, request: Request) -> None:
        try:
            call = methods.METHODS.get(request.method)
            if call is None:
                raise fail("protocol", f"this engine has no method {request.method[:40]!r}", exit=Exit.BUG)
            params = decode(call.params, request.params, request.method)
            answer = call.do(params, self._closed.is_set)
            if isinstance(answer, Iterator):
                for event in answer:
                    self._send(EventReply(request.id, msgspec.Raw(encode(event))))
                answer = None
            self._send(ResultReply(request.id, msgspec.Raw(encode(answer))))
        except ProblemError as error:
            self._send(FailureReply(request.id, error.problems))
        except BrokenPipeError:
            self._closed.set()
        except Exception as error:  # the boundary: the other side gets it in words, with where it happened
            self._send(FailureReply(request.id, (bug(error, request.method),)))

    def _send(self, message: Hello | Reply) -> None:
        if self._closed.is_set() and not isinstance(message, Hello):
            return
        line = encode(message) + b"\n"
        try:
            with self._lock:
                while line:
                    line = line[self._out.write(line) :]
        except BrokenPipeError:
            self._closed.set()


