"""Connections to many servers, and requests to all of them at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

import msgspec

from raidtui.base.text import clean, named
from raidtui.client.engine_client import EngineClient
from raidtui.client.places import ENGINE_START, place, unattended
from raidtui.model.problem import Exit, ProblemError, bug, fail
from raidtui.model.refusals import SERVER_TWICE

T = TypeVar("T")
Waiting = Callable[[Sequence[str], float], None]
"""Called every ten seconds without an answer, with the servers that did not answer yet and the seconds so far."""

STARTS: Final = 10
"""Connections that are started at the same time; the runs themselves go on all at once. From 10 unfinished logins on an
sshd, for example that of a jump host, drops some (MaxStartups in sshd_config(5))."""
_UNREAD_BYTES: Final = 256 << 10
"""Limit of unread answers of one server, so that all servers together stay below 100 MiB."""
_HELLO_S: Final = 120.0
_TALK_S: Final = 10.0


class Fleet:
    """Servers by their names in `--on`, each with one connection. Use it as a context manager."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.engines: dict[str, EngineClient] = {}
        """Open connections."""
        self.failed: dict[str, ProblemError] = {}
        """Servers that take no part any more, and why."""
        self.notes: list[str] = []
        """Sentences about what these servers are to each other."""
        self._starts = threading.BoundedSemaphore(STARTS)

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        engines, self.engines = self.engines, {}
        each(engines, lambda name: engines[name].close(), lambda _, __: None)

    def connect(self, name: str) -> EngineClient:
        """Open a connection to one server, in its turn. Raises ProblemError."""
        with self._starts:
            where = unattended(place(name))._replace(name=name)  # problems name the server as --on does
            engine = EngineClient(where, _give_up(name), unread_bytes=_UNREAD_BYTES)
        engine.waiting = None
        return engine

    def open(self, waiting: Waiting) -> None:
        """Connect to all servers; those that are not reached are in `failed`. Raises ProblemError (`server-twice`)."""

        def opened(name: str, outcome: EngineClient | ProblemError) -> None:
            if isinstance(outcome, ProblemError):
                self.failed[name] = outcome
            else:
                self.engines[name] = outcome

        each(self.names, self.connect, opened, waiting)
        self._check_twice()

    def ask(
        self, work: Callable[[EngineClient], T], done: Callable[[str, T | ProblemError], None], waiting: Waiting
    ) -> None:
        """Do `work` on all open connections at once, and call `done` in this thread with each outcome as it comes."""
        engines = dict(self.engines)
        each(engines, lambda name: work(engines[name]), done, waiting)

    def drop(self, name: str, error: ProblemError) -> None:
        """Let a server take no part any more."""
        self.failed[name] = error
        if (engine := self.engines.pop(name, None)) is not None:
            engine.close()

    def _check_twice(self) -> None:
        """Refuse two names of one running kernel, and note machines that were copied."""
        kernels: dict[str, list[str]] = {}
        machines: dict[str, list[str]] = {}
        for name in self.names:
            if name in self.engines:
                hello = self.engines[name].hello
                kernels.setdefault(hello.boot_id, []).append(name)
                machines.setdefault(hello.machine_id, []).append(name)
        for boot_id, same in kernels.items():
            if boot_id and len(same) > 1:
                raise fail(SERVER_TWICE, f"{_and(same)} are the same running machine", place="--on",
                           remedy="Name it once. Nothing was touched.")  # fmt: skip
        for machine_id, same in machines.items():
            if machine_id and len(same) > 1:
                self.notes.append(f"{_and(same)} have the same machine-id, but were booted at different times: "
                                  "copies of one installation")  # fmt: skip


def _and(names: Sequence[str]) -> str:
    return " and ".join(clean(name, 80) for name in names) if len(names) == 2 else named([clean(n, 80) for n in names], 6)


def _give_up(name: str) -> Callable[[float, str], None]:
    def look(waited_s: float, said: str) -> None:
        if waited_s > _HELLO_S:
            raise fail(ENGINE_START, f"no answer within {_HELLO_S:g} s{f': {said}' if said else ''}", place=name,
                       remedy="Does `ssh HOST` answer?")  # fmt: skip

    return look


def each(
    names: Iterable[str], work: Callable[[str], T], done: Callable[[str, T | ProblemError], None],
    waiting: Waiting = lambda _, __: None,
) -> None:  # fmt: skip
    """Do `work` for all names at once in threads, and call `done` in this thread with each outcome as it comes."""
    outcomes: SimpleQueue[tuple[str, T | ProblemError]] = SimpleQueue()

    def one(name: str) -> None:
        outcome: T | ProblemError
        try:
            outcome = work(name)
        except Exception as error:  # a thread's boundary: what went wrong is told with the server's name
            outcome = of_server(name, error if isinstance(error, ProblemError) else ProblemError(bug(error)))
        outcomes.put((name, outcome))

    left = dict.fromkeys(names)
    for name in left:
        threading.Thread(target=one, args=(name,), daemon=True).start()
    began = time.monotonic()
    while left:
        try:
            name, outcome = outcomes.get(timeout=_TALK_S)
        except Empty:
            waiting(tuple(left), time.monotonic() - began)
            continue
        del left[name]
        done(name, outcome)


def of_server(name: str, error: ProblemError) -> ProblemError:
    """Return the problems with the server's name before their place."""
    return ProblemError(*(
        msgspec.structs.replace(one, place=name if one.place in ("", name) else f"{name}: {one.place}")
        for one in error.problems
    ))  # fmt: skip


_GRAVEST_FIRST: Final = (
    Exit.LEFT_BEHIND, Exit.BUG, Exit.BUILD_FAILED, Exit.CANCELLED, Exit.INVALID, Exit.REFUSED, Exit.USAGE, Exit.DONE,
)  # fmt: skip


def gravest(codes: Iterable[int]) -> Exit:
    """Return the exit code that promises least; 0 without any."""
    found = set(codes)
    return next((code for code in _GRAVEST_FIRST if code in found), Exit.DONE)


def exit_of_runs(runs: Sequence[int], others: Sequence[int]) -> Exit:
    """Return the exit code of runs on many servers, and of the `others`, on which nothing began.

    3 and 2 promise that nothing was touched: they remain where no run began anywhere. Else a server without a run is a gap
    in what was measured, as an invalid cell is.
    """
    if not runs:
        return gravest(others)
    return gravest([*runs, *(Exit.INVALID if code in (Exit.REFUSED, Exit.USAGE) else code for code in others)])
