"""Speak the protocol with an engine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import msgspec

from raidtui import __version__
from raidtui.base.proc import PIPE, Child, ToolError, spawn
from raidtui.base.text import clean, clean_lines
from raidtui.client.places import Place
from raidtui.model.convert import encode
from raidtui.model.event import Record
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.model.protocol import (
    PROTOCOL,
    EventReply,
    FailureReply,
    FromEngine,
    Hello,
    Request,
    ResultReply,
)

T = TypeVar("T")
_HELLO_TIMEOUT_S = 60.0
_MAX_NOISE_LINES = 200


class EngineClient:
    """One engine process. Requests may be made from several threads; use it as a context manager."""

    def __init__(self, place: Place) -> None:
        """Start the engine. Raises ProblemError: `engine-start`, `engine-lost` or `engine-version`."""
        self.place = place
        try:
            self._child: Child = spawn(place.argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=place.env)
        except ToolError as error:
            raise fail("engine-start", str(error), place=place.name, exit=Exit.BUG) from None
        self._lock = threading.Lock()
        self._next_id = 1
        self._waiting: dict[int, SimpleQueue[FromEngine | None]] = {}
        self._noise: list[bytes] = []
        self._hello: SimpleQueue[Hello | None] = SimpleQueue()
        threading.Thread(target=self._read_errors, daemon=True).start()
        threading.Thread(target=self._read_replies, daemon=True).start()
        try:
            self.hello = self._greet()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> EngineClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the engine. Runs go on: they are not its children's lives."""
        if self._child.stdin is not None:
            # What was still to be sent to a dead engine fails once more here.
            with self._lock, contextlib.suppress(OSError):
                self._child.stdin.close()
        if self._child.wait(2.0) is None:
            self._child.end(term_grace_s=2.0)

    def call(self, method: str, params: Any = None, type_: type[T] | Any = Any) -> Any:
        """One request, one answer of type `type_`. Raises ProblemError with what the engine refused."""
        for reply in self._exchange(method, params):
            if isinstance(reply, ResultReply):
                return msgspec.json.decode(reply.result, type=type_)
        raise AssertionError("unreachable: an exchange ends with a result or raises")

    def stream(self, method: str, params: Any = None, type_: type[T] | Any = Any) -> Iterator[Any]:
        """One request whose answer is a stream of events of type `type_`; ends when the engine says so."""
        decoder = msgspec.json.Decoder(type_)
        for reply in self._exchange(method, params):
            if isinstance(reply, EventReply):
                yield decoder.decode(reply.event)

    def follow(self, run: str, after: int = 0) -> Iterator[Record]:
        """The records of a run after number `after`, as they come, until it has ended."""
        yield from self.stream("follow", {"run": run, "after": after}, Record)

    def _exchange(self, method: str, params: Any) -> Iterator[EventReply | ResultReply]:
        queue: SimpleQueue[FromEngine | None] = SimpleQueue()
        with self._lock:
            number = self._next_id
            self._next_id += 1
            self._waiting[number] = queue
            self._send(Request(number, method, msgspec.to_builtins({} if params is None else params)))
        try:
            while True:
                reply = queue.get()
                if reply is None:
                    raise self._lost()
                if isinstance(reply, FailureReply):
                    raise ProblemError(*reply.problems)
                assert isinstance(reply, (EventReply, ResultReply))
                yield reply
                if isinstance(reply, ResultReply):
                    return
        finally:
            self._waiting.pop(number, None)

    def _send(self, request: Request) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(encode(request) + b"\n")
            self._child.stdin.flush()
        except (OSError, ValueError):
            raise self._lost() from None

    def _greet(self) -> Hello:
        try:
            hello = self._hello.get(timeout=_HELLO_TIMEOUT_S)
        except Empty:
            raise fail("engine-start", f"no answer within {_HELLO_TIMEOUT_S:g} s{self._said()}", place=self.place.name,
                       remedy="Is raidtui installed there?", exit=Exit.BUG) from None  # fmt: skip
        if hello is None:
            raise self._lost()
        if hello.protocol != PROTOCOL:
            raise fail(
                "engine-version",
                f"raidtui {clean(hello.version)} there speaks protocol {hello.protocol}, raidtui {__version__} here speaks "
                f"{PROTOCOL}",
                place=self.place.name,
                remedy="Install the same version of raidtui on both sides.",
                exit=Exit.BUG,
            )
        return hello

    def _lost(self) -> ProblemError:
        code = self._child.wait(1.0)
        ended = "" if code is None else f" (it ended with {code})"
        return fail(
            "engine-lost",
            f"the connection to the engine was lost{ended}{self._said()}",
            place=self.place.name,
            remedy="Runs go on without it: `raidtui runs` lists them, `raidtui attach` comes back to one.",
            exit=Exit.BUG,
        )

    def _said(self) -> str:
        text = clean_lines(b"".join(self._noise)[-2000:]).strip()
        return f"; it said:\n{text}" if text else ""

    def _read_errors(self) -> None:
        assert self._child.stderr is not None
        for line in self._child.stderr:
            if len(self._noise) < _MAX_NOISE_LINES:
                self._noise.append(line)

    def _read_replies(self) -> None:
        assert self._child.stdout is not None
        decoder = msgspec.json.Decoder(FromEngine)
        greeted = False
        for line in self._child.stdout:
            try:
                message = decoder.decode(line)
            except msgspec.DecodeError:
                # A login banner or a shell's greeting before the engine speaks; after that there is no such thing.
                if not greeted and len(self._noise) < _MAX_NOISE_LINES:
                    self._noise.append(line)
                continue
            if isinstance(message, Hello):
                greeted = True
                self._hello.put(message)
            elif (queue := self._waiting.get(message.id)) is not None:
                queue.put(message)
        self._hello.put(None)
        for queue in list(self._waiting.values()):
            queue.put(None)
