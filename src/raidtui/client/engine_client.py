"""Client of the engine's protocol. The engine is not trusted: memory is bounded and broken messages are clear errors."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final, TypeVar

import msgspec

from raidtui import __version__
from raidtui.base.lines import LineReader, LineTooLong
from raidtui.base.proc import PIPE, Child, ToolError, spawn
from raidtui.base.text import clean
from raidtui.client.inbox import MOST_UNREAD_BYTES, Answer, Inboxes, RawFailure
from raidtui.client.places import ENGINE_START, Place, last_words, not_reached
from raidtui.model.convert import encode
from raidtui.model.event import LIVE, Record, RecoverFinished, RunFinished
from raidtui.model.jsonio import MAX_RESULT_BYTES
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.protocol import (
    MAX_HELLO_BYTES,
    MAX_MESSAGE_BYTES,
    MAX_REQUEST_BYTES,
    PROTOCOL,
    UNREADABLE,
    EventReply,
    Hello,
    Pieces,
    Request,
    ResultReply,
    excess,
)
from raidtui.model.refusals import FILE
from raidtui.model.type_info import ready

ENGINE_ANSWER: Final = Refusal(
    "engine-answer",
    "The engine's answer cannot be used",
    "A message of the engine was no valid message of raidtui's protocol, exceeded a size limit, or did not answer the "
    "request. The connection was closed and the message was ignored.",
    "Make sure that login scripts (.bashrc) print nothing for commands run over ssh.",
)
ENGINE_LOST: Final = Refusal(
    "engine-lost",
    "The connection to the engine was lost",
    "The connection to the storage server broke, or the engine ended. Runs continue without it, unless the server "
    "itself went down.",
    "`raidtui runs` lists the runs; `raidtui attach` follows one again.",
)
ENGINE_VERSION: Final = Refusal(
    "engine-version",
    "raidtui has different versions here and there",
    "The two versions do not use the same protocol.",
    "raidtui starts its own code on a server; see what answers there instead.",
)

T = TypeVar("T")
P = TypeVar("P")
Waiting = Callable[[float, str], None]
"""Called about once a second while the engine does not answer, with the seconds so far and the output of its command. An
exception ends the waiting."""

_HELLO_PATIENCE_S: Final = 900.0
_LOOK_S: Final = 1.0
_MOST_NOISE_BYTES: Final = 1 << 20
"""Largest output of a login before the hello, in bytes."""
_KEPT_NOISE_BYTES: Final = 8 << 10
"""Length of its end that is kept for messages, in bytes."""
_MOST_STRAYS: Final = 1000
"""Largest number of answers to requests that were never made: more of them end the connection."""
_EXITS: Final = frozenset(Exit)
_MESSAGES: Final = msgspec.json.Decoder(Hello | EventReply | ResultReply | RawFailure)
_PROBLEMS: Final = msgspec.json.Decoder(Annotated[tuple[Problem, ...], msgspec.Meta(max_length=1000)])


class EngineClient:
    """One engine process. Requests may be made from several threads; use it as a context manager."""

    def __init__(self, place: Place, waiting: Waiting | None = None, *, unread_bytes: int = MOST_UNREAD_BYTES) -> None:
        """Start the engine and wait for its hello. `unread_bytes` limits the answers to a request that wait to be read.

        Raises ProblemError: `unreachable`, `engine-start`, `engine-answer` or `engine-version`.
        """
        self.place = place
        try:
            self._child: Child = spawn(place.argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=place.env,
                                       new_session=place.unattended)  # fmt: skip
        except ToolError as error:
            raise fail(ENGINE_START, str(error), place=place.name, remedy="Is that command installed here?") from None
        self.waiting = waiting
        self._sending = threading.Lock()
        self._inboxes = Inboxes(unread_bytes)
        self._changed = self._inboxes.changed
        self._next_id = 1
        self._strays = 0
        self._noise = bytearray()
        self._greeting: Hello | None = None
        self._over: ProblemError | None = None
        """Reason why no more replies are read; None while they are."""
        self._errors = threading.Thread(target=self._read_errors, daemon=True)
        self._errors.start()
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
        """End the engine. Runs continue in processes of the server."""
        self._stop(self._lost())
        # A request that the engine does not read blocks its sender until the engine ends.
        if self._child.stdin is not None and self._sending.acquire(timeout=0.2):
            with contextlib.suppress(OSError):
                self._child.stdin.close()
            self._sending.release()
        if self._child.wait(2.0) is None:
            self._child.end(term_grace_s=2.0)

    def call(self, method: str, params: Any = None, type_: type[T] | Any = Any) -> Any:
        """Send a request and return its answer of type `type_`. Raises ProblemError."""
        with self._asked(method, params) as number:
            answer = self._next(number, patient=True)
            if isinstance(answer.reply, EventReply):
                raise self._wrong(f"it answered {method} with a stream")
            return self._decoded(answer, msgspec.json.Decoder(ready(type_)), method)

    def call_with_progress(
        self, method: str, params: Any, type_: type[T], progress_type: type[P], show: Callable[[P], None]
    ) -> T:
        """Send one request, pass its progress events to `show`, and return the answer. Raises ProblemError."""
        decoder = msgspec.json.Decoder(ready(progress_type))
        with self._asked(method, params) as number:
            while isinstance((answer := self._next(number)).reply, EventReply):
                show(self._decoded(answer, decoder, method))
            result: T = self._decoded(answer, msgspec.json.Decoder(ready(type_)), method)
            return result

    def stream(self, method: str, params: Any = None, type_: type[T] | Any = Any) -> Iterator[Any]:
        """Send a request and yield the events of its answer, of type `type_`. Raises ProblemError."""
        decoder = msgspec.json.Decoder(ready(type_))
        with self._asked(method, params) as number:
            while isinstance((answer := self._next(number)).reply, EventReply):
                yield self._decoded(answer, decoder, method)

    def follow(self, run: str, after: int = 0) -> Iterator[tuple[Record, int]]:
        """Yield the records of a run after number `after` until it has ended, each with its size in bytes."""
        decoder = msgspec.json.Decoder(ready(Record))
        lasting = 0
        with self._asked("follow", {"run": run, "after": after}) as number:
            while isinstance((answer := self._next(number)).reply, EventReply):
                record: Record = self._decoded(answer, decoder, "follow")
                if record.seq <= after:
                    raise self._wrong(f"record {record.seq} of the run came after record {after}")
                if isinstance(record.event, (RunFinished, RecoverFinished)) and record.event.exit not in _EXITS:
                    raise self._wrong(f"the run ended with the unknown exit code {record.event.exit}")
                lasting += 0 if isinstance(record.event, LIVE) else answer.size
                if lasting > MAX_RESULT_BYTES:
                    raise self._wrong(f"the run's steps and cells have more than {MAX_RESULT_BYTES >> 20} MiB")
                after = record.seq
                yield record, answer.size

    def result(self, run: str) -> bytes:
        """Return the result file of a run. Its pieces are collected in a temporary file."""
        decoder = msgspec.json.Decoder(bytes)
        with tempfile.TemporaryFile() as pieces, self._asked("result", {"run": run}) as number:
            while isinstance((answer := self._next(number)).reply, EventReply):
                pieces.write(self._decoded(answer._replace(excess=""), decoder, "result"))
                if pieces.tell() > MAX_RESULT_BYTES:
                    raise self._wrong(f"the result has more than {MAX_RESULT_BYTES >> 20} MiB")
            if not (came := pieces.tell()):
                assert isinstance(answer.reply, ResultReply)
                return bytes(answer.reply.result)
            said: Pieces = self._decoded(answer, msgspec.json.Decoder(ready(Pieces)), "result")
            if said.size_bytes != came:
                raise self._wrong(f"{came} of {said.size_bytes} bytes of the result came")
            pieces.seek(0)
            return pieces.read()

    # Requests.

    @contextlib.contextmanager
    def _asked(self, method: str, params: Any) -> Iterator[int]:
        """Send a request and yield its number. Answers after the end of the context are dropped."""
        with self._changed:
            number = self._next_id
            self._next_id += 1
        line = encode(Request(number, method, msgspec.to_builtins({} if params is None else params))) + b"\n"
        if len(line) > MAX_REQUEST_BYTES:
            raise fail(FILE, f"what is to be sent has {len(line)} bytes; an engine takes {MAX_REQUEST_BYTES >> 20} MiB",
                       remedy="A scenario has at most 1 MiB. Of a result only the part that a plan needs is sent."
                       )  # fmt: skip
        self._inboxes.open(number)
        try:
            self._send(line)
            yield number
        finally:
            self._inboxes.close(number)

    def _send(self, line: bytes) -> None:
        assert self._child.stdin is not None
        try:
            with self._sending:
                self._child.stdin.write(line)
                self._child.stdin.flush()
        except (OSError, ValueError):
            with self._changed:  # the reading thread finds the reason
                self._changed.wait_for(lambda: self._over, 2.0)
            raise ProblemError(*(self._over or self._lost()).problems) from None

    def _next(self, number: int, *, patient: bool = False) -> Answer:
        """Return the next answer. With `patient`, `waiting` is called about once a second."""
        began = time.monotonic()
        while (answer := self._inboxes.get(number, _LOOK_S)) is None:
            if patient and self.waiting is not None:
                self.waiting(time.monotonic() - began, last_words(bytes(self._noise)))
        if isinstance(answer.reply, RawFailure):
            raise self._refused(answer, answer.reply)
        return answer

    def _refused(self, answer: Answer, reply: RawFailure) -> ProblemError:
        """Return the error of a refusal. Without problems or with exit code 0 it is a broken answer."""
        problems = self._read(answer.excess, reply.problems, _PROBLEMS, "a refusal")
        if not problems:
            return self._wrong("it refused the request without a reason")
        if any(problem.exit not in _EXITS or problem.exit == Exit.DONE for problem in problems):
            return self._wrong(f"it refused with exit code {problems[0].exit}: {clean(problems[0].message)}")
        return ProblemError(*problems)

    def _decoded(self, answer: Answer, decoder: msgspec.json.Decoder[Any], method: str) -> Any:
        reply = answer.reply
        assert not isinstance(reply, RawFailure)
        raw = reply.event if isinstance(reply, EventReply) else reply.result
        return self._read(answer.excess, raw, decoder, f"its answer to {method}")

    def _read(self, more: str, raw: msgspec.Raw, decoder: msgspec.json.Decoder[Any], what: str) -> Any:
        try:
            if not more:
                return decoder.decode(raw)
        except UNREADABLE as error:
            more = clean(error, 200)
        raise self._wrong(f"{what} is refused: {more}")

    # Hello.

    def _greet(self) -> Hello:
        began = time.monotonic()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._greeting or self._over, _LOOK_S)
                hello, over = self._greeting, self._over
            if hello is not None:
                break
            if over is not None:
                raise over
            waited_s = time.monotonic() - began
            if waited_s > _HELLO_PATIENCE_S:
                raise fail(ENGINE_START, f"no answer within {_HELLO_PATIENCE_S:g} s{self._said()}", place=self.place.name,
                           remedy="Does `ssh HOST` answer?")  # fmt: skip
            if self.waiting is not None:
                self.waiting(waited_s, last_words(bytes(self._noise)))
        if hello.protocol != PROTOCOL:
            raise fail(
                ENGINE_VERSION,
                f"raidtui {clean(hello.version)} there speaks protocol {hello.protocol}, raidtui {__version__} here speaks "
                f"{PROTOCOL}",
                place=self.place.name,
                remedy="Another raidtui answered than the one that was started.",
            )
        return hello

    # Errors that end the connection.

    def _wrong(self, what: str) -> ProblemError:
        """Return the error of a message that breaks the protocol or exceeds a limit."""
        return fail(
            ENGINE_ANSWER,
            f"the engine's answer cannot be used: {what}",
            place=self.place.name,
            remedy="Check that it is raidtui that answers there. What it was asked to do may have begun: `raidtui runs` "
            "lists the runs.",
        )

    def _lost(self) -> ProblemError:
        code = self._child.poll()
        ended = "" if code is None else f" (it ended with {code})"
        return fail(
            ENGINE_LOST,
            f"the connection to the engine was lost{ended}{self._said()}",
            place=self.place.name,
            remedy="Runs go on without it, unless the server itself went down: `raidtui runs` lists them, `raidtui attach` "
            "comes back to one.",
        )

    def _said(self) -> str:
        text = last_words(bytes(self._noise))
        return f"; its output:\n{text}" if text else ""

    def _stop(self, why: ProblemError) -> None:
        with self._changed:
            self._over = self._over or why
            self._inboxes.end(self._over)

    # Reading.

    def _read_errors(self) -> None:
        assert self._child.stderr is not None
        with self._child.stderr as pipe, contextlib.suppress(OSError, ValueError):
            while chunk := pipe.read1(1 << 16):  # type: ignore[attr-defined]
                self._heard(chunk)

    def _heard(self, words: bytes) -> None:
        """Keep the end of the output that is no message, for error messages."""
        with self._changed:
            self._noise += words[-_KEPT_NOISE_BYTES:]
            del self._noise[:-_KEPT_NOISE_BYTES]

    def _read_replies(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as pipe:
            try:
                self._take_all(LineReader(pipe.fileno()))
                # The rest of stderr holds the reason.
                code = self._child.wait(1.0)
                self._errors.join(1.0)
                early = self._greeting is None
                why = not_reached(self.place, code, last_words(bytes(self._noise))) if early else self._lost()
            except ProblemError as error:
                why = error
            except MemoryError:
                why = self._wrong("there is too little memory here to read it")
            self._stop(why)
        self._child.end(term_grace_s=2.0)

    def _take_all(self, lines: LineReader) -> None:
        """Deliver messages until the engine ends or this client is closed. Raises ProblemError (`engine-answer`)."""
        noise = 0
        while self._over is None:
            limit = MAX_MESSAGE_BYTES if self._greeting else MAX_HELLO_BYTES
            try:
                line = lines.next(limit)
            except LineTooLong:
                raise self._wrong(f"a line of it has more than {limit >> 10} KiB") from None
            if line is None:
                return
            if self._greeting is None and not line.startswith(b"{"):
                if self._brings(bytes(line)):
                    continue
                # A login banner or a shell's greeting; it can only come before the hello.
                noise += len(line) + 1
                if noise > _MOST_NOISE_BYTES:
                    raise self._wrong(f"{_MOST_NOISE_BYTES >> 20} MiB came before its hello")
                self._heard(bytes(line) + b"\n")
                continue
            size = len(line)
            try:
                message = _MESSAGES.decode(line)
            except UNREADABLE as error:
                raise self._wrong(f"{clean(error, 200)}, in the line {clean(bytes(line[:80]))}") from None
            more = excess(line)
            del line  # keeps the peak memory at one line and its message
            self._take(message, size, more)
            del message

    def _brings(self, line: bytes) -> bool:
        """Send raidtui's code if this line asks for it. Return True if it did."""
        if (code := self.place.code) is None:
            return False
        from raidtui.remote.start import code_message, wanted_line

        if line.strip() != wanted_line(code.version).encode():
            return False
        self._heard(b"raidtui's code is copied there\n")
        # A server that does not take it ends, and says why.
        with contextlib.suppress(OSError, ValueError), self._sending:
            assert self._child.stdin is not None
            self._child.stdin.write(code_message(code))
            self._child.stdin.flush()
        return True

    def _take(self, message: Hello | EventReply | ResultReply | RawFailure, size: int, more: str) -> None:
        if isinstance(message, Hello):
            if self._greeting is not None:
                raise self._wrong("it sent a second hello")
            if more:
                raise self._wrong(f"its hello is refused: {more}")
            with self._changed:
                self._greeting = message
                self._changed.notify_all()
            return
        if self._greeting is None:
            raise self._wrong("it sent a reply before its hello")
        answer = Answer(message, size, more)
        if isinstance(message, RawFailure) and message.id == 0:
            # The engine could not read the number of the request.
            raise self._refused(answer, message)
        if self._inboxes.put(answer, self._wrong("it sent an answer faster than it was read, and held up the others")):
            return
        with self._changed:
            asked = 0 < message.id < self._next_id
        # Answers to closed requests are late, not wrong.
        self._strays += not asked
        if self._strays > _MOST_STRAYS:
            raise self._wrong(f"{_MOST_STRAYS} answers to requests that were never made")
