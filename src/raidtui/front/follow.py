"""Start a run and follow its records over a connection that may break."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from raidtui.base.text import clean
from raidtui.client.engine_client import EngineClient
from raidtui.model.event import Record
from raidtui.model.plan import Plan
from raidtui.model.problem import ProblemError, Refusal, bug, fail
from raidtui.model.protocol import PlanRequest, RunList, Started, StartRequest

CLOSED: Final = Refusal(
    "closed",
    "The run is no longer followed",
    "The screen or command that followed the run was closed while records still arrived. The run is not affected.",
    "`raidtui attach RUN` follows it again.",
)

PATIENCE_S = 60.0
"""Time for which a broken connection is retried, in seconds."""

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 8.0
_WORTH_A_RETRY = frozenset({"engine-lost", "engine-start", "unreachable"})
_MOST_BYTES = 4 << 20
"""Limit of records that were read ahead. One record may be larger, alone."""


class Lost(NamedTuple):
    """The connection broke and is being retried."""

    error: ProblemError


class Back(NamedTuple):
    """The connection was restored."""

    restarted: bool = False
    """True if the server was rebooted in between, which interrupted its runs."""


class Ended(NamedTuple):
    """No more records follow; `error` is the reason if the run has not ended."""

    error: ProblemError | None = None


Item = Record | Lost | Back | Ended


class Follower:
    """Reads the records of a run in a thread: in order, each once, across reconnections."""

    def __init__(
        self,
        connect: Callable[[], EngineClient],
        run: str,
        *,
        first: EngineClient | None = None,
        patience_s: float = PATIENCE_S,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        """Start to follow. `first` is an open connection to use first; its owner closes it.

        `most_bytes` limits the records that are read ahead.
        """
        self._connect = connect
        self._run = run
        self._first = first
        self._patience_s = patience_s
        self._most_bytes = most_bytes
        self._after = 0
        self._boot_id = ""
        self._items: deque[tuple[Item, int]] = deque()
        self._size = 0
        self._changed = threading.Condition()
        self._closed = False
        threading.Thread(target=self._follow, daemon=True).start()

    def next(self, timeout_s: float) -> Item | None:
        """Return the next item, or None if none arrived within the time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._items, timeout_s):
                return None
            item, size = self._items.popleft()
            self._size -= size
            self._changed.notify_all()
            return item

    def close(self) -> None:
        """Stop following."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _put(self, item: Item, size: int = 0) -> None:
        """Queue an item, waiting for room: the engine is not read faster than the items are taken."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not self._size or self._size + size <= self._most_bytes)
            if self._closed:
                raise fail(CLOSED, "the run is no longer followed")
            self._items.append((item, size))
            self._size += size
            self._changed.notify_all()

    def _follow(self) -> None:
        try:
            ended = Ended(self._until_ended())
        except Exception as error:  # a thread's boundary: what went wrong is raised where it is shown
            ended = Ended(error if isinstance(error, ProblemError) else ProblemError(bug(error, self._run)))
        with contextlib.suppress(ProblemError):  # closed
            self._put(ended)

    def _until_ended(self) -> ProblemError | None:
        pause_s, lost_at = _FIRST_PAUSE_S, 0.0
        while True:
            before = self._after
            try:
                self._read(announce=bool(lost_at))
            except ProblemError as error:
                if error.problems[0].code not in _WORTH_A_RETRY:
                    return error
                now = time.monotonic()
                if not lost_at or self._after > before:
                    pause_s, lost_at = _FIRST_PAUSE_S, now
                    self._put(Lost(error))
                if now - lost_at > self._patience_s:
                    return error
                time.sleep(pause_s)
                pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)
            else:
                return None

    def _read(self, announce: bool) -> None:
        """Read records until the run has ended. Raises ProblemError."""
        given, self._first = self._first, None
        engine = given or self._connect()
        try:
            before, self._boot_id = self._boot_id, engine.hello.boot_id
            if announce:
                self._put(Back(restarted=before not in ("", self._boot_id)))
            for record, size in engine.follow(self._run, self._after):
                self._after = record.seq
                self._put(record, size)
        finally:
            if given is None:
                engine.close()


_LOOK_FOR_S = 20.0


def start(
    connect: Callable[[], EngineClient], engine: EngineClient, request: PlanRequest, plan: Plan, erase: tuple[str, ...],
    pools: tuple[str, ...],
) -> str:  # fmt: skip
    """Start the plan and return the run's name. Raises ProblemError with what was refused, or when nothing began.

    `erase` and `pools`: the consent, to erase these disks, and to make something in these existing pools.

    A terminal's Ctrl-C reaches the connection's process as well and may end it before its answer; the run that it
    began is then found by the plan's token.
    """
    try:
        started: Started = engine.call("start", StartRequest(request, plan.digest, plan.token, erase, pools), Started)
    except ProblemError as error:
        if error.problems[0].code not in ("engine-lost", "engine-answer"):
            raise
        if (run := _begun(connect, plan.token)) is None:
            raise
        return run
    return started.run


def _begun(connect: Callable[[], EngineClient], token: str) -> str | None:
    deadline = time.monotonic() + _LOOK_FOR_S
    with connect() as engine:
        # An engine whose client is gone may still be about to begin the run.
        while time.monotonic() < deadline:
            found: RunList = engine.call("runs", None, RunList)
            for info in found.runs:
                if info.run.endswith(f"-{token}"):
                    return info.run
            time.sleep(1.0)
    return None


_FIRST_S = 5.0
_EVERY_S = 15.0


class WaitingTalk:
    """Prints the waiting time on stderr, after five seconds and then four times a minute, and new output of ssh or sudo."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._next_s = _FIRST_S
        self._shown = ""

    def __call__(self, waited_s: float, said: str) -> None:
        """Print a line if it is time. `said` is all output of the engine's command; only the new part is shown."""
        if waited_s < _FIRST_S:
            self._next_s = _FIRST_S
            return
        new = said.removeprefix(self._shown).strip() if said.startswith(self._shown) else said
        self._shown = said
        if new:
            print(new, file=sys.stderr)
        if waited_s >= self._next_s:
            self._next_s = (waited_s // _EVERY_S + 1) * _EVERY_S
            print(f"{waiting_words(self._place, waited_s)} (Ctrl-C gives up)", file=sys.stderr, flush=True)


def waiting_words(place: str, waited_s: float) -> str:
    return f"waiting for the engine on {clean(place)}: {waited_s:.0f} s"
