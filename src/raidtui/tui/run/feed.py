"""The feed of one run: a thread that reads its records over a connection of its own, and posts them in batches."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from textual.message import Message

from raidtui.client.engine_client import EngineClient
from raidtui.front.follow import Back, Ended, Follower, Lost
from raidtui.model.event import Record
from raidtui.model.problem import Problem, ProblemError, fail

_MOST_AT_ONCE = 500
"""Records of one batch: a long journal is read without holding up the keys."""
_LOOK_S = 0.5
_TOGETHER_S = 0.05
"""Records that come within so long of each other are told together: each time wakes the whole screen."""


class FeedState(NamedTuple):
    """State of the feed."""

    word: Literal["reading", "lost", "ended"] = "reading"
    problem: Problem | None = None
    """Reason why it was lost, or why it ended before the run did."""


class RunSaid(Message):
    """Records of a run, in order and each once, and how the feed stands after them."""

    def __init__(self, feed: RunFeed, records: Sequence[Record], state: FeedState) -> None:
        self.feed = feed
        self.records = records
        self.state = state
        super().__init__()


class RunFeed:
    """Follows one run until it has ended or the feed is closed, and comes back by itself when the connection breaks."""

    def __init__(self, connect: Callable[[], EngineClient], run: str, say: Callable[[RunSaid], None]) -> None:
        """`say` is called from a thread."""
        self.run = run
        self._connect = connect
        self._say = say
        self._closed = threading.Event()
        self._client: EngineClient | None = None
        self._follower: Follower | None = None
        self._thread = threading.Thread(target=self._read, name=f"run {run}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """No more messages. The run goes on."""
        self._closed.set()
        if self._follower is not None:
            self._follower.close()
        if (client := self._client) is not None:
            # Closing waits for the engine's end, which is nothing the screen has to wait for.
            threading.Thread(target=client.close, daemon=True).start()

    def _open(self) -> EngineClient:
        """A connection that `close` can end. Raises ProblemError."""
        if self._closed.is_set():
            raise fail("closed", "nobody follows the run any more")
        client = self._client = self._connect()
        if self._closed.is_set():
            client.close()
            raise fail("closed", "nobody follows the run any more")
        return client

    def _read(self) -> None:
        follower = self._follower = Follower(self._open, self.run, patience_s=math.inf)
        state = FeedState()
        while not self._closed.is_set() and state.word != "ended":
            records: list[Record] = []
            before, wait_s, whole_by = state, _LOOK_S, 0.0
            while len(records) < _MOST_AT_ONCE and (item := follower.next(wait_s)) is not None:
                if not records:
                    whole_by = time.monotonic() + _TOGETHER_S
                wait_s = max(0.0, whole_by - time.monotonic())
                if isinstance(item, Record):
                    records.append(item)
                else:
                    state = _after(item)
                    break
            if (records or state != before) and not self._closed.is_set():
                self._say(RunSaid(self, records, state))


def _after(item: Lost | Back | Ended) -> FeedState:
    if isinstance(item, Back):
        return FeedState()
    word: Literal["lost", "ended"] = "lost" if isinstance(item, Lost) else "ended"
    return FeedState(word, _first(item.error))


def _first(error: ProblemError | None) -> Problem | None:
    return None if error is None else error.problems[0]
