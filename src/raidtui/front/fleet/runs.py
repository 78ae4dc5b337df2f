"""Runs on many servers, followed at the same time in bounded memory, and their results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

import msgspec

from raidtui.base.text import clean
from raidtui.front.fleet.files import Outputs
from raidtui.front.fleet.servers import Fleet, of_server
from raidtui.front.follow import Back, Ended, Follower, Lost
from raidtui.front.progress import RunView, advance
from raidtui.model.event import CellDone, Record, RunStarted
from raidtui.model.plan import CellPlan, Plan, Step
from raidtui.model.problem import Exit, ProblemError, bug, fail
from raidtui.model.refusals import OUTPUT, RUN_INTERRUPTED
from raidtui.model.result import Cell
from raidtui.results.extract import Extract, lean_extract
from raidtui.results.load import NOT_A_RESULT

_READ_AHEAD_BYTES: Final = 256 << 10
_MOST_IN_TURN: Final = 64
"""Records of one server that are shown before the next server's."""
_PAUSE_S: Final = 0.1
_MOST_FETCHES: Final = 4
"""Results that are fetched at the same time: each is in memory whole until it is saved."""


class Fetched(NamedTuple):
    """The result of a run was saved, or could not be."""

    path: Path | None = None
    error: ProblemError | None = None


Item = Record | Lost | Back | Ended | Fetched


class ServerRun:
    """State of the run of one server."""

    def __init__(self, server: str, run: str) -> None:
        self.server = server
        self.run = run
        self.view = RunView(run=run)
        self.lost = False
        self.ended = False
        self.error: ProblemError | None = None
        """Reason why its end, or its result, is not known."""
        self.path: Path | None = None
        """File of the result."""
        self.extract: Extract | None = None
        self.complete = False
        """True once nothing more is to be done: ended, and its result saved if it has one."""

    @property
    def exit(self) -> int:
        """Exit code of the run, as far as it is known. A run whose end is not known may have left something behind."""
        if self.view.finished is not None:
            code = self.view.finished.exit
        elif self.view.recovered is not None:
            code = self.view.recovered.exit
        else:
            return int(Exit.LEFT_BEHIND)
        return int(Exit.INVALID) if code == Exit.DONE and self.error is not None else code


class Runs:
    """Follows runs, and fetches the result of each that ended."""

    def __init__(self, fleet: Fleet, runs: dict[str, str], outputs: Outputs) -> None:
        self._fleet = fleet
        self._outputs = outputs
        self.by_server = {server: ServerRun(server, run) for server, run in runs.items()}
        self._followers = {server: self._follower(server, run) for server, run in runs.items()}
        self._fetched: SimpleQueue[tuple[str, Fetched, Extract | None]] = SimpleQueue()
        self._room = threading.Semaphore(_MOST_FETCHES)

    def _follower(self, server: str, run: str) -> Follower:
        return Follower(lambda: self._fleet.connect(server), run, first=self._fleet.engines.get(server),
                        most_bytes=_READ_AHEAD_BYTES)  # fmt: skip

    @property
    def complete(self) -> bool:
        return all(one.complete for one in self.by_server.values())

    def going(self) -> list[ServerRun]:
        """Return the runs that have not ended, as far as is known."""
        return [one for one in self.by_server.values() if not one.ended]

    def items(self) -> Iterator[tuple[ServerRun, Item]]:
        """Yield what came from all servers, each in its turn, once its state was updated. Sleeps shortly if nothing did."""
        came = False
        for server, follower in self._followers.items():
            one = self.by_server[server]
            for _ in range(_MOST_IN_TURN if not one.ended else 0):
                if (item := follower.next(0.0)) is None:
                    break
                came = True
                self._take(one, item)
                yield one, item
                if one.ended:
                    break
        while True:
            try:
                server, fetched, one_extract = self._fetched.get_nowait()
            except Empty:
                break
            came, one = True, self.by_server[server]
            one.path, one.error, one.extract, one.complete = fetched.path, fetched.error or one.error, one_extract, True
            yield one, fetched
        if not came:
            time.sleep(_PAUSE_S)

    def close(self) -> None:
        """Stop following; the runs go on."""
        for follower in self._followers.values():
            follower.close()

    def cancel(self, done: Callable[[str, ProblemError | None], None]) -> None:
        """Ask for the cancellation of all runs that go on, without waiting for the answers."""
        for one in self.going():
            threading.Thread(target=self._cancel, args=(one, done), daemon=True).start()

    def _cancel(self, one: ServerRun, done: Callable[[str, ProblemError | None], None]) -> None:
        try:
            with self._fleet.connect(one.server) as engine:
                engine.call("cancel", {"run": one.run})
        except ProblemError as error:
            done(one.server, error)
        else:
            done(one.server, None)

    def _take(self, one: ServerRun, item: Item) -> None:
        if isinstance(item, Record):
            one.view = advance(one.view, _trimmed(item))
        elif isinstance(item, (Lost, Back)):
            one.lost = isinstance(item, Lost)
        elif isinstance(item, Ended):
            one.ended = True
            one.error = _unknown_end(one, item)
            threading.Thread(target=self._fetch, args=(one,), daemon=True).start()

    def _fetch(self, one: ServerRun) -> None:
        fetched, found = Fetched(), None
        try:
            with self._room:
                fetched, found = self._saved(one)
        except ProblemError as error:
            if error.problems[0].code != "no-result" or one.view.cells:
                fetched = Fetched(error=of_server(one.server, error))
        except OSError as error:
            again = f"raidtui --on {one.server} attach {one.run} -o FILE"
            fetched = Fetched(error=fail(OUTPUT, f"its result could not be saved: {error.strerror}", place=one.server,
                                         remedy=f"The server keeps it: {again}"))  # fmt: skip
        except Exception as error:  # a thread's boundary: the other servers go on
            fetched = Fetched(error=of_server(one.server, ProblemError(bug(error))))
        self._fetched.put((one.server, fetched, found))

    def _saved(self, one: ServerRun) -> tuple[Fetched, Extract | None]:
        """Fetch the result over the old connection if possible, and keep its file and the numbers that are compared."""
        if one.error is not None and one.error.problems[0].code == "engine-lost":
            raise one.error  # it was tried for a minute
        try:
            data = self._fleet.engines[one.server].result(one.run)
        except ProblemError as error:
            if error.problems[0].code != "engine-lost":
                raise
            with self._fleet.connect(one.server) as another:
                data = another.result(one.run)
        plan = one.view.plan
        path = self._outputs.save(data, str(plan.scenario.get("name", "")) if plan else "", one.run, one.server)
        try:
            found, _ = lean_extract(data)
        except (ValueError, RecursionError, msgspec.MsgspecError) as error:
            return Fetched(path, fail(NOT_A_RESULT, f"it cannot be compared: {clean(error)}", place=one.server)), None
        return Fetched(path), found


def _unknown_end(one: ServerRun, ended: Ended) -> ProblemError | None:
    if ended.error is not None:
        return of_server(one.server, ended.error)
    if one.view.finished is not None or one.view.recovered is not None:
        return None
    return ProblemError(RUN_INTERRUPTED.problem(
        "the run ended without a last record: its runner was killed or the server went down", place=one.server,
        remedy=f"`raidtui --on {one.server} recover {one.run}` undoes what it left behind.", exit=Exit.LEFT_BEHIND,
    ))  # fmt: skip


def _trimmed(record: Record) -> Record:
    """Return the record without the numbers of a finished cell and the commands of a plan, of which there are many."""
    event = record.event
    if isinstance(event, CellDone):
        cell = Cell(event.cell.id, event.cell.layout, event.cell.workload, event.cell.round, event.cell.valid)
        return msgspec.structs.replace(record, event=CellDone(cell))
    if isinstance(event, RunStarted):
        return msgspec.structs.replace(record, event=msgspec.structs.replace(event, plan=light(event.plan)))
    return record


def light(plan: Plan) -> Plan:
    """Return a plan with what progress, costs and consent need: arguments and commands of steps are most of its bytes."""
    steps = tuple(
        Step(step.id, step.action, step.title, step.phase, step.block, step.cell, writes_bytes=step.writes_bytes,
             seconds=step.seconds, takes=step.takes) for step in plan.steps
    )  # fmt: skip
    cells = tuple(CellPlan(cell.id, cell.layout, cell.workload, cell.round, cell.part) for cell in plan.cells)
    scenario = {name: plan.scenario[name] for name in ("name", "title", "policy") if name in plan.scenario}
    return msgspec.structs.replace(plan, steps=steps, cells=cells, scenario=scenario, ceilings={})
