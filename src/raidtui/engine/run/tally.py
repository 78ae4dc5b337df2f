"""The result as a fold over a run's events: the same events always give the same result."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from raidtui.base.files import write_atomic
from raidtui.engine.run.ranking import Rankings
from raidtui.engine.step_args import common_args
from raidtui.model.convert import decode, encode, plain
from raidtui.model.disk import Disk
from raidtui.model.event import CellDone, Noted, Record, RunFinished, RunStarted, Skipped, StepDone, StepFailed, StepStarted
from raidtui.model.links import Links
from raidtui.model.plan import OnHost, Plan, Step, block_parts
from raidtui.model.problem import Exit, Problem, Refusal
from raidtui.model.refusals import NOTE
from raidtui.model.result import RESULT_SCHEMA, Built, Cell, Result, Tuned

RESULT_NOT_SAVED: Final = Refusal(
    "result-not-saved",
    "The result could not be saved",
    "The filesystem of the run's folder is full, read-only or broken. The measured numbers are in the journal.",
    "Make space; `raidtui attach RUN` shows the journal.",
)


class Tally:
    """Takes records in order; `result()` is what they amount to so far."""

    def __init__(self) -> None:
        self._disks: tuple[Disk, ...] = ()
        self._start: RunStarted | None = None
        self._started = ""
        self._finished: RunFinished | None = None
        self._ended: str | None = None
        self._steps: dict[str, Step] = {}
        self._last_steps: dict[str, str] = {}
        """Block → the id of its last step."""
        self._rounds: dict[str, set[int]] = {}
        self._built: dict[str, Built] = {}
        self._cells: list[Cell] = []
        self._notes: list[Problem] = []
        self._rankings: Rankings | None = None
        self._links: Links | None = None

    def set_disks(self, disks: tuple[Disk, ...]) -> None:
        """The run's disks as the gate saw them."""
        self._disks = disks

    def cells(self) -> tuple[Cell, ...]:
        """Return the cells measured so far."""
        return tuple(self._cells)

    def add(self, record: Record) -> None:
        """Take the next record."""
        event = record.event
        if isinstance(event, RunStarted):
            self._start, self._started = event, record.wall
            self._steps = {step.id: step for step in event.plan.steps}
            self._last_steps = {step.block: step.id for step in event.plan.steps}
            self._rounds = _rounds(event.plan)
            self._rankings = Rankings(event.plan)
        elif isinstance(event, StepStarted):
            self._begin_block(event.block)
        elif isinstance(event, StepDone):
            self._step_done(event)
        elif isinstance(event, StepFailed):
            self._step_failed(event)
        elif isinstance(event, CellDone):
            self._cells.append(event.cell)
            self.rankings.done(event.cell)
        elif isinstance(event, Skipped):
            self.rankings.skip(event.cells)
        elif isinstance(event, Noted) and event.level == "warning":
            self._notes.append(Problem(NOTE.code, event.text))
        elif isinstance(event, RunFinished):
            self._finished, self._ended = event, record.wall

    def save(self, folder: Path) -> Problem | None:
        """Write the result so far into the run's folder; before the run has begun, there is none. Return what is wrong."""
        if self._start is not None:
            try:
                write_atomic(folder / "result.json", encode(self.result()))
            except OSError as error:
                return RESULT_NOT_SAVED.problem(f"result.json: {error.strerror}", place=str(folder), exit=Exit.INVALID,
                                                remedy=RESULT_NOT_SAVED.way_out)  # fmt: skip
        return None

    @property
    def rankings(self) -> Rankings:
        """The rankings, which know the cells that are still needed. Raises ValueError before the run began."""
        if self._rankings is None:
            raise ValueError("the run has not begun")
        return self._rankings

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
            complete=finished is not None and len(self._cells) + self.rankings.skipped == len(plan.cells),
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
            ranking=self.rankings.ranked(),
            hosts=plan.hosts,
            links=self._links,
        )

    def _begin_block(self, block: str) -> None:
        if not block or block in self._built:
            return
        layout, number, again = block_parts(block)
        plan = self._start.plan if self._start else None
        asked = {**plan.scenario.get("layouts", {}), **plan.ceilings}.get(layout) if plan else None
        rounds = len(self._rounds.get(block, ())) or 1
        self._built[block] = Built(layout, number, "built", asked=asked, rounds=rounds, again=again,
                                    hosts_have=self._hosts_have(block))  # fmt: skip

    def _hosts_have(self, block: str) -> str:
        """Return what each host has of the devices of a building; empty if the storage server loads them itself."""
        measured = (step for step in self._steps.values() if step.block == block and step.action == "measure")
        on = decode(tuple[OnHost, ...], next((step.args.get("on", ()) for step in measured), ()), block)
        return on[0].words if on else ""

    def _step_done(self, event: StepDone) -> None:
        step = self._steps[event.step]
        if found := event.facts.get("links"):
            self._links = decode(Links, found, event.step)
        if not step.block:
            return
        built = self._built[step.block]
        facts = {name: value for name, value in event.facts.items() if name not in ("tuning", "preconditioned")}
        changes: dict[str, object] = {}
        if preconditioned := event.facts.get("preconditioned"):
            changes["preconditioned"] = str(preconditioned)
        if tuned := event.facts.get("tuning"):
            changes["tuning"] = _with_tuning(built.tuning, tuned)
        if step.phase in ("build", "teardown"):
            changes["commands"] = (*built.commands, *event.commands)
        if step.phase == "build":
            changes["seconds"] = round(built.seconds + event.seconds, 3)
            name = common_args(step).name or step.action
            if facts:
                changes["read_back"] = {**built.read_back, name: {**built.read_back.get(name, {}), **facts}}
            changes["initial_sync"] = facts.get("initial_sync", built.initial_sync)
            changes["size_bytes"] = facts.get("size_bytes", built.size_bytes)
        if step.phase == "teardown":
            changes["taken_down"] = step.id == self._last_steps[step.block] and not event.problems
        self._built[step.block] = msgspec.structs.replace(built, **changes)

    def _step_failed(self, event: StepFailed) -> None:
        step = self._steps[event.step]
        if step.block and step.phase == "build":
            self.rankings.failed({other.cell for other in self._steps.values() if other.block == step.block and other.cell})
        if step.block and step.phase in ("build", "teardown"):
            built = self._built[step.block]
            self._built[step.block] = msgspec.structs.replace(
                built,
                status="failed" if step.phase == "build" else built.status,
                problem=built.problem or event.problem,
                commands=(*built.commands, *event.commands),
            )


def _rounds(plan: Plan) -> dict[str, set[int]]:
    """The rounds that are measured on each building."""
    of_cell = {cell.id: cell.round for cell in plan.cells}
    found: dict[str, set[int]] = {}
    for step in plan.steps:
        if step.cell in of_cell:
            found.setdefault(step.block, set()).add(of_cell[step.cell])
    return found


def _with_tuning(known: dict[str, Tuned], facts: dict[str, dict[str, str]]) -> dict[str, Tuned]:
    """Return the tuning with the values that a step set or restored."""
    values = {what: {**plain(known[what]), **new} if what in known else new for what, new in facts.items()}
    return {**known, **{what: decode(Tuned, value, what) for what, value in values.items()}}
