"""Feed of records to the screen: from the engine while a run goes on, from a journal, or from a result file."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal, NamedTuple

from textual.message import Message

from raidtui.client.engine_client import EngineClient
from raidtui.front.follow import CLOSED, Back, Ended, Follower, Lost
from raidtui.front.phrases import ranking_line
from raidtui.model import event as events
from raidtui.model.event import Record
from raidtui.model.frame import SECTOR_BYTES, Frame
from raidtui.model.plan import CellPlan, Plan, Step, block_name
from raidtui.model.problem import Problem, fail
from raidtui.model.result import Cell, DeviceUse, Result

_MOST_AT_ONCE = 500
"""Records of one batch, so that a long journal does not delay keys."""
_LOOK_S = 0.5
_TOGETHER_S = 0.05
"""Records that arrive within this time are sent together, since each message wakes the whole screen."""


class FeedState(NamedTuple):
    """State of the feed."""

    word: Literal["reading", "lost", "ended"] = "reading"
    problem: Problem | None = None
    """Reason why it was lost, or why it ended before the run did."""


@dataclass
class RunSaid(Message):
    """Records of a run, in order and each once, and the state of the feed after them."""

    feed: RunFeed
    records: Sequence[Record]
    state: FeedState


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
        """Send no more messages. The run goes on."""
        self._closed.set()
        if self._follower is not None:
            self._follower.close()
        if (client := self._client) is not None:
            # Closing waits for the engine's end, which is nothing the screen has to wait for.
            threading.Thread(target=client.close, daemon=True).start()

    def _open(self) -> EngineClient:
        """Open a connection that `close` can end. Raises ProblemError."""
        if self._closed.is_set():
            raise fail(CLOSED, "the run is no longer followed")
        client = self._client = self._connect()
        if self._closed.is_set():
            client.close()
            raise fail(CLOSED, "the run is no longer followed")
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
    return FeedState("lost" if isinstance(item, Lost) else "ended", item.error.problems[0] if item.error else None)


_GAP_S = 1.0
"""Between two cells whose times are not known."""


def records_of(result: Result) -> list[Record]:
    """Yield records about the cells as a journal has them: samples, devices and verdicts, at their times."""
    found = sorted(_events(result), key=lambda one: one[0])
    return [Record(number, round(at_s, 3), result.started, event) for number, (at_s, event) in enumerate(found, 1)]


def _events(result: Result) -> Iterator[tuple[float, events.AnyEvent]]:
    begins = _begins(result)
    yield 0.0, events.RunStarted(result.run, _plan(result), result.machine, 0, result.version)
    for problem in result.problems:
        yield 0.0, events.Noted(problem.message, "warning")
    for ranked in result.ranking:
        yield 0.0, events.Noted(ranking_line(ranked))
    for number, (cell, begin_s) in enumerate(zip(result.cells, begins, strict=True), 1):
        yield from _cell(cell, number, len(result.cells), begin_s)
    end_s = max((begin_s + cell.seconds for cell, begin_s in zip(result.cells, begins, strict=True)), default=0.0)
    for built in result.layouts:
        if built.problem is not None:
            step = f"build {block_name(built.layout, built.round, again=built.again)}"
            yield end_s, events.StepStarted(step, f"build {built.layout}, round {built.round}", "build")
            yield end_s, events.StepFailed(step, built.problem, built.seconds, built.commands)
    if result.exit is not None:
        finished_s = _seconds(result.started, result.finished or "") or 0.0
        yield max(end_s, finished_s), events.RunFinished(result.exit, result.outcome)


def _plan(result: Result) -> Plan:
    found = result.cells
    steps = tuple(Step(one.id, "measure", _title(one), "measure", cell=one.id, seconds=one.seconds) for one in found)
    cells = tuple(
        CellPlan(one.id, one.layout, one.workload, one.round, one.part, again=one.again, sweep=one.sweep) for one in found
    )
    seconds = sum(one.seconds for one in found)
    return Plan(result.plan_digest, "", result.scenario, result.options, result.binding, steps, cells, (), seconds, None)


def _title(cell: Cell) -> str:
    return f"{cell.id}: measure"


def _begins(result: Result) -> list[float]:
    """Return the start of each cell in seconds of the run; one after another if the file does not tell."""
    begins: list[float] = []
    at_s = 0.0
    for cell in result.cells:
        told = _seconds(result.started, cell.started)
        begin_s = at_s if told is None else max(at_s, told)
        begins.append(begin_s)
        at_s = begin_s + cell.seconds + (_GAP_S if told is None else 0.0)
    return begins


def _seconds(start: str, moment: str) -> float | None:
    """Return the seconds between two wall clock labels."""
    try:
        return (datetime.fromisoformat(moment) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None


def _cell(cell: Cell, number: int, of: int, begin_s: float) -> Iterator[tuple[float, events.AnyEvent]]:
    yield begin_s, events.StepStarted(cell.id, _title(cell), "measure", cell=cell.id)
    roles = {name: use.role or "member" for name, use in cell.devices.items()}
    yield begin_s, events.CellStarted(cell.id, number, of, roles)
    for sample in cell.samples:
        yield begin_s + min(sample.at_s, cell.seconds or sample.at_s), events.WorkloadSampled(cell.id, sample)
    for frame in _frames(cell, begin_s):
        yield frame.at_s, events.FrameTaken(frame)
    end_s = begin_s + cell.seconds
    yield end_s, events.CellDone(cell)
    yield end_s, events.StepDone(cell.id, "done", cell.seconds, (cell.command,) if cell.command else ())


def _frames(cell: Cell, begin_s: float) -> Iterator[Frame]:
    """Yield frames of counters whose differences are the rates of the result's series."""
    networks = {name: [0.0] * 8 for name, use in cell.networks.items() if use.series}
    if not cell.devices and not networks:
        return
    counters = {name: [0.0] * 17 for name in cell.devices}
    yield _frame(counters, networks, begin_s, None)
    for index, (before_s, at_s) in enumerate(pairwise((0.0, *cell.device_at_s))):
        span_s = at_s - before_s
        if span_s <= 0:
            continue
        for name, use in cell.devices.items():
            _count(counters[name], use, index, span_s)
        for name, of in networks.items():
            of[0] += _entry(cell.networks[name].series, "received_bytes_per_s", index) * span_s
            of[4] += _entry(cell.networks[name].series, "sent_bytes_per_s", index) * span_s
        yield _frame(counters, networks, begin_s + min(at_s, cell.seconds or at_s), span_s)


def _frame(
    counters: dict[str, list[float]], networks: dict[str, list[float]], at_s: float, span_s: float | None
) -> Frame:
    devices, moved = ({name: " ".join(str(round(value)) for value in values) for name, values in of.items()}
                      for of in (counters, networks))  # fmt: skip
    return Frame(at_s, at_s, span_s, whole=True, devices=devices, networks=moved)


def _entry(series: Mapping[str, Sequence[float | None]], column: str, index: int) -> float:
    values = series.get(column, ())
    return (values[index] or 0.0) if index < len(values) else 0.0


def _count(counters: list[float], use: DeviceUse, index: int, span_s: float) -> None:
    """Add one entry of a device's series to its counters."""

    def at(column: str) -> float:
        return _entry(use.series, column, index)

    for first, ios, moved, await_ms in ((0, "reads_per_s", "read_bytes_per_s", "read_await_ms"),
                                        (4, "writes_per_s", "written_bytes_per_s", "write_await_ms")):  # fmt: skip
        count = at(ios) * span_s
        counters[first] += count
        counters[first + 2] += at(moved) * span_s / SECTOR_BYTES
        counters[first + 3] += at(await_ms) * count
    counters[9] += at("util_percent") * 10 * span_s
    counters[10] += at("queue_length") * 1000 * span_s
