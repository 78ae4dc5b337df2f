"""The application's one connection to the engine: opened in the background, and opened again whenever it is lost."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from raidtui.client.places import ENGINE_START
from raidtui.model.problem import Problem, ProblemError, bug, fail

if TYPE_CHECKING:
    from textual.app import App

    from raidtui.client.engine_client import EngineClient
    from raidtui.model.protocol import DiskList, Hello

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 8.0


class LinkState(NamedTuple):
    """State of the connection. While connecting for the first time: neither `hello` nor `problem`."""

    hello: Hello | None = None
    """Greeting of the engine that answers; None if there is none."""
    problem: Problem | None = None
    """Reason why there is no engine."""
    retry_at: float | None = None
    """Time of the next attempt, by the monotonic clock."""
    waited_s: float = 0.0
    """Seconds since a started engine has not answered."""
    said: str = ""
    """Output of its command (ssh, sudo) meanwhile."""
    known: bool = False
    """An engine has answered before: runs that were going on then may go on now."""
    restarted: bool = False
    """The server was started anew since then: what ran there was interrupted."""

    @property
    def up(self) -> bool:
        return self.hello is not None


class Link:
    """Keeps a connection open. It calls `on_change` and `on_disks` from a thread of its own."""

    def __init__(
        self, connect: Callable[[], EngineClient], *, on_change: Callable[[LinkState], None],
        on_disks: Callable[[DiskList], None], first: EngineClient | None = None
    ) -> None:  # fmt: skip
        """`first` is a connection that was already opened, where opening it had to ask for a password."""
        self._connect = connect
        self._on_change = on_change
        self._on_disks = on_disks
        self._first = first
        self._client: EngineClient | None = None
        self._state = LinkState()
        self._boot_id = ""
        self._closing = threading.Event()
        self._hurry = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="link", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the connection, without waiting for its end. Runs go on without it."""
        self._closing.set()
        self._hurry.set()
        if (client := self._client) is not None:
            threading.Thread(target=client.close, name="link-close", daemon=True).start()

    def retry(self, opened: EngineClient | None = None) -> None:
        """Try again now, not when the pause is over; use a connection that was opened in the meantime."""
        self._first = opened
        self._hurry.set()
        if self._state.up and self._state.restarted:
            self._say(self._state._replace(restarted=False))

    def waited(self, waited_s: float, said: str) -> None:
        """Report that the started engine has not answered yet. Raises ProblemError to end the waiting."""
        if threading.current_thread() is not self._thread:
            return
        if self._hurry.is_set():
            raise fail(ENGINE_START, "the waiting was given up", remedy="It is tried again.")
        self._say(self._state._replace(waited_s=waited_s, said=said))

    def connect(self) -> EngineClient:
        """Open another connection, for a stream that has to outlive this one. Raises ProblemError. Blocks."""
        return self._connect()

    async def call(self, method: str, params: Any = None, type_: Any = Any) -> Any:
        """Send one request and return its answer. Raises ProblemError: the engine's refusal, or `engine-lost`."""
        return await asyncio.to_thread(self._opened().call, method, params, type_)

    async def call_with_progress(
        self, method: str, params: Any, type_: type[Any], progress_type: type[Any], show: Callable[[Any], None]
    ) -> Any:  # fmt: skip
        """Send one request, pass its events to `show` from another thread, and return its answer. Raises ProblemError."""
        call = self._opened().call_with_progress
        return await asyncio.to_thread(call, method, params, type_, progress_type, show)

    async def result(self, run: str) -> bytes:
        """Return the result file of a run. Raises ProblemError."""
        return await asyncio.to_thread(self._opened().result, run)

    def _opened(self) -> EngineClient:
        from raidtui.client.engine_client import ENGINE_LOST  # the first frame does without it

        if (client := self._client) is None:
            raise fail(ENGINE_LOST, "there is no connection to the engine", remedy="It is being tried again.")
        return client

    def _keep(self) -> None:
        from raidtui.client.engine_client import ENGINE_LOST

        pause_s = _FIRST_PAUSE_S
        while not self._closing.is_set():
            self._hurry.clear()
            began = time.monotonic()
            try:
                self._session()
                problem = Problem(ENGINE_LOST.code, "the engine ended the connection")
            except ProblemError as error:
                problem = error.problems[0]
            except Exception as error:  # the thread's boundary: without it nothing would be tried again
                problem = bug(error)
            self._client = None
            if self._closing.is_set():
                return
            # A connection that held for a while was a good one: the next attempt may be at once.
            pause_s = _FIRST_PAUSE_S if time.monotonic() - began > _LONGEST_PAUSE_S else pause_s
            self._say(LinkState(problem=problem, retry_at=time.monotonic() + pause_s, known=bool(self._boot_id),
                                restarted=self._state.restarted))  # fmt: skip
            self._hurry.wait(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)

    def _session(self) -> None:
        """Open a connection and stay with it until it ends. Raises ProblemError."""
        from raidtui.model.protocol import DiskList

        given, self._first = self._first, None
        client = given or self._connect()
        try:
            self._client = client
            before, self._boot_id = self._boot_id, client.hello.boot_id
            restarted = self._state.restarted or before not in ("", self._boot_id)
            self._say(LinkState(hello=client.hello, known=True, restarted=restarted))
            for found in client.stream("watch-disks", None, DiskList):
                self._on_disks(found)
        finally:
            client.close()

    def _say(self, state: LinkState) -> None:
        self._state = state
        self._on_change(state)


def complain(app: App[Any], error: ProblemError) -> None:
    """Show why a request failed, as a notice."""
    from raidtui.front.phrases import sentence  # the first frame does without it

    app.notify("\n".join(map(sentence, error.problems)), severity="error", timeout=15, markup=False)
