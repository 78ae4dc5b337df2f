"""Unread answers of an engine, bounded in bytes, for any number of concurrent requests."""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import Final, NamedTuple

import msgspec

from raidtui.model.problem import ProblemError
from raidtui.model.protocol import EventReply, Reply, ResultReply


class RawFailure(Reply, frozen=True, tag="failure"):
    """A `FailureReply` whose problems are not decoded yet."""

    problems: msgspec.Raw


class Answer(NamedTuple):
    """One message of the engine about one request."""

    reply: EventReply | ResultReply | RawFailure
    size: int
    """Size of the message, in bytes."""
    excess: str
    """Reason why the message must not be decoded, or empty; see `model.wire.excess`."""


MOST_UNREAD_BYTES: Final = 4 << 20
"""Largest size of the answers to one request that are unread or being read. A single message may be larger."""


class _Inbox:
    """The answers to one request."""

    def __init__(self) -> None:
        self.answers: deque[Answer] = deque()
        self.held = 0
        """Size of the last answer handed out; it is released when the next one is requested."""
        self.size = 0
        self.failed: ProblemError | None = None

    def has_room(self, size: int, most_bytes: int) -> bool:
        return not self.size or self.size + size <= most_bytes


class Inboxes:
    """The answers to all open requests; thread-safe.

    If the reader of a stream is slower than the engine, the engine's pipe is not read and the engine waits. If that would
    block the answer to another request, the stream fails.
    """

    def __init__(self, most_bytes: int = MOST_UNREAD_BYTES) -> None:
        self.changed = Condition()
        self._most_bytes = most_bytes
        self._open: dict[int, _Inbox] = {}
        self._ended: ProblemError | None = None

    def open(self, number: int) -> None:
        with self.changed:
            self._open[number] = _Inbox()
            self.changed.notify_all()

    def close(self, number: int) -> None:
        """Forget the request; later answers to it are dropped."""
        with self.changed:
            self._open.pop(number, None)
            self.changed.notify_all()

    def put(self, answer: Answer, overrun: ProblemError) -> bool:
        """Deliver an answer once there is room for it. Return False if its request is closed.

        `overrun` is the error of a stream that blocks another request.
        """
        with self.changed:
            while (inbox := self._open.get(answer.reply.id)) is not None and self._ended is None:
                if inbox.failed is not None:
                    break
                if inbox.has_room(answer.size, self._most_bytes):
                    inbox.answers.append(answer)
                    inbox.size += answer.size
                    self.changed.notify_all()
                    break
                if len(self._open) > 1:
                    inbox.failed = overrun
                    self.changed.notify_all()
                    break
                self.changed.wait()
            return inbox is not None

    def get(self, number: int, timeout_s: float) -> Answer | None:
        """Return the next answer, or None if none came in time. Raises ProblemError if no more answers can come."""
        with self.changed:
            inbox = self._open[number]
            inbox.size -= inbox.held
            inbox.held = 0
            self.changed.notify_all()
            while not inbox.answers:
                if (error := inbox.failed or self._ended) is not None:
                    raise ProblemError(*error.problems)
                if not self.changed.wait(timeout_s):
                    return None
            answer = inbox.answers.popleft()
            inbox.held = answer.size
            return answer

    def end(self, error: ProblemError) -> None:
        """End all requests with this error. The first error counts."""
        with self.changed:
            self._ended = self._ended or error
            self.changed.notify_all()
