"""The result as a fold over a run's events: the same events always give the same result."""

from __future__ import annotations

import msgspec

from raidtui.model.convert import decode, plain
from raidtui.model.disk import Disk
from raidtui.model.event import (
    CellDone,
    Noted,
    Record,
    RunFinished,
    RunStarted,
    StepDone,
    StepFailed,
    StepStarted,
)
from raidtui.model.plan import Step
from raidtui.model.problem import Problem
from raidtui.model.result import RESULT_SCHEMA, Built, Cell, Result, Tuned


class Tally:
    """Takes records in order; `result()` is what they amount to so far."""

    def __init__(self) -> None:
        self._disks: tuple[Disk, ...] = ()
        self._start: RunStarted | None = None
        self._started = ""
        self._finished: RunFinished | None = None
        self._ended: str | None = None
        self._steps: dict[str, Step] = {}
        self._built: dict[str, Built] = {}
        self._cells: list[Cell] = []
        self._notes: list[Problem] = []

    def set_disks(self, disks: tuple[Disk, ...]) -> None:
        """The run's disks as the gate saw them."""
        self._disks = disks

    def add(self, record: Record) -> None:
        """Take the next record."""
        event = record.event
        if isinstance(event, RunStarted):
            self._start, self._started = event, record.wall
            self._steps = {step.id: step for step in event.plan.steps}
        elif isinstance(event, StepStarted):
            self._begin_block(event.block)
        elif isinstance(event, StepDone):
            self._step_done(event)
        elif isinstance(event, StepFailed):
            self._step_failed(event)
        elif isinstance(event, CellDone):
            self._cells.append(event.cell)
        elif isinstance(event, Noted) and event.level == "warning":
            self._notes.append(Problem("note", event.text))
        elif isinstance(event, RunFinished):
            self._finished, self._ended = event, record.wall

    def result(self) -> Result:
        """The result so far. Raises ValueError before the run began."""
        if self._start is None:
            raise ValueError("the run has not begun")
        plan, finished = self._start.plan, self._finished
        return Result(
            schema=RESULT_SCHEMA,
            version=self._start.version,
            run=self._start.run,
            plan_digest=plan.digest,
            rehearsal=plan.options.quick,
            complete=finished is not None and len(self._cells) == len(plan.cells),
            started=self._started,
            finished=self._ended,
            exit=finished.exit if finished else None,
            outcome=finished.outcome if finished else "running",
            scenario=plan.scenario,
            options=plan.options,
            binding=plan.binding,
            machine=self._start.machine,
            disks=self._disks,
            layouts=tuple(self._built.values()),
            cells=tuple(self._cells),
            problems=(*self._notes, *(finished.problems if finished else ())),
        )

    def _begin_block(self, block: str) -> None:
        if not block or block in self._built:
            return
        layout, _, number = block.rpartition("#")
        asked = self._start.plan.scenario.get("layouts", {}).get(layout) if self._start else None
        self._built[block] = Built(layout, int(number), "built", asked=asked)

    def _step_done(self, event: StepDone) -> None:
        step = self._steps[event.step]
        if not step.block:
            return
        built = self._built[step.block]
        facts = {name: value for name, value in event.facts.items() if name != "tuning"}
        changes: dict[str, object] = {}
        if tuned := event.facts.get("tuning"):
            changes["tuning"] = _with_tuning(built.tuning, tuned)
        if step.phase in ("build", "teardown"):
            changes["commands"] = (*built.commands, *event.commands)
        if step.phase == "build":
            changes["seconds"] = round(built.seconds + event.seconds, 3)
            name = str(step.args.get("name", step.action))
            if facts:
                changes["read_back"] = {**built.read_back, name: {**built.read_back.get(name, {}), **facts}}
            changes["initial_sync"] = facts.get("initial_sync", built.initial_sync)
            changes["size_bytes"] = facts.get("size_bytes", built.size_bytes)
        if step.phase == "teardown":
            later = [s for s in self._steps.values() if s.block == step.block and s.id > step.id]
            changes["taken_down"] = not later
        self._built[step.block] = msgspec.structs.replace(built, **changes)

    def _step_failed(self, event: StepFailed) -> None:
        step = self._steps[event.step]
        if step.block and step.phase in ("build", "teardown"):
            built = self._built[step.block]
            self._built[step.block] = msgspec.structs.replace(
                built,
                status="failed" if step.phase == "build" else built.status,
                problem=built.problem or event.problem,
                commands=(*built.commands, *event.commands),
            )


def _with_tuning(known: dict[str, Tuned], facts: dict[str, dict[str, str]]) -> dict[str, Tuned]:
    """With what a step set, or put back again."""
    values = {what: {**plain(known[what]), **new} if what in known else new for what, new in facts.items()}
    return {**known, **{what: decode(Tuned, value, what) for what, value in values.items()}}
