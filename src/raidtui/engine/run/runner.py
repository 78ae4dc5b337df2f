"""The process that executes a plan: every step journaled before it happens and after, taken down whatever happens."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from raidtui import __version__
from raidtui.engine.machine import describe
from raidtui.engine.run import claims, measuring, runs, space
from raidtui.engine.run.conditioning import precondition
from raidtui.engine.run.ending import Ending
from raidtui.engine.run.held import give, recheck
from raidtui.engine.run.journal import Journal
from raidtui.engine.run.layer_marks import daemons_up, unhealthy, watching
from raidtui.engine.run.peers import Peers
from raidtui.engine.run.second_look import look_again
from raidtui.engine.run.tally import Tally
from raidtui.engine.run.target import Family, family_of_step, open_target, reserve
from raidtui.engine.run.watchdog import Watchdog
from raidtui.engine.step_args import Cooldown, Precondition, Prefill, Recheck, decode_args
from raidtui.engine.validity.incidents import LOST
from raidtui.gate.admit import LOOK_S, admit
from raidtui.gate.locks import Lock
from raidtui.gate.permit import Permit
from raidtui.inventory.waiting import twice_if_locked
from raidtui.model.event import (
    AnyEvent,
    CellDone,
    CellStarted,
    DevicesBuilt,
    DisksAdmitted,
    FrameTaken,
    HostSampled,
    Noted,
    RunFinished,
    RunStarted,
    Skipped,
    StepDone,
    StepFailed,
    StepProgressed,
    StepStarted,
    WorkloadSampled,
)  # fmt: skip
from raidtui.model.frame import Frame
from raidtui.model.mark import Mark, of_weight
from raidtui.model.measure import Sample
from raidtui.model.plan import GIVE, KEEP, KEPT, Step, own_disks
from raidtui.model.problem import Exit, Problem, ProblemError, bug, fail
from raidtui.model.refusals import CANCELLED
from raidtui.model.result import Cell, marked
from raidtui.stack import mounts
from raidtui.stack.action import BoundAction, Outcome, signatures_left
from raidtui.stack.builder.process import Builder
from raidtui.stack.catalog import all_layers, bind, builder_modules
from raidtui.stack.context import Context
from raidtui.stack.teardown import found_foreign_data
from raidtui.watch import processes
from raidtui.watch.caches import Caches
from raidtui.watch.sampler import FrameSource, Sampler
from raidtui.watch.temperature import Thermometer
from raidtui.watch.threads import Threads

_PROGRESS_EVERY_S = 0.5


class Runner:
    """One execution of one plan."""

    def __init__(self, folder: Path) -> None:
        lock = runs.own(folder)
        if lock is None:
            raise SystemExit(f"another process works on run {folder.name}")
        self._lock = lock
        self.folder = folder
        self.plan = runs.plan_of(folder)
        self._cells = {cell.id: cell for cell in self.plan.cells}
        self.cancel = threading.Event()
        self.journal = Journal(folder)
        self.tally = Tally()
        self.ending = Ending()
        self._kept = False
        self._listener: Callable[[Frame], None] | None = None
        self._permits: dict[str, Permit] = {}
        self.builder = Builder(folder / "work")
        self.peers = self._new_peers()
        self._claims: list[Lock] = []
        self._done_builds: list[BoundAction] = []
        self._step = ""
        self._last_progress_s = 0.0
        self._memory_bytes = 0

    def run(self) -> Exit:
        """Execute the whole plan. Whatever happens, what was built is taken down and the journal is closed."""
        outcome = Exit.BUG
        mounts.enter_own_namespace()
        try:
            self._note_start()
            if self._admit():
                self._execute()
            if problems := self.peers.end():
                self.ending.failed(Exit.LEFT_BEHIND, problems)
            outcome = self.ending.exit
        except BaseException as error:  # the boundary of the process: journaled, then shown to whoever follows
            self.ending.failed(Exit.LEFT_BEHIND, [(lost := self.journal.lost()) or bug(error)])
            if lost is None:
                raise
            outcome = self.ending.exit
        finally:
            self._emit_if_possible(RunFinished(int(outcome), outcome.words, tuple(self.ending.problems)))
            self._save()
            self.peers.end()
            self.builder.close()
            for permit in self._permits.values():
                permit.close()
            claims.release(self._claims)
            self.journal.close()
            runs.close(self.folder)
            os.close(self._lock)
        return outcome

    def _emit(self, event: AnyEvent) -> None:
        self.tally.add(self.journal.append(event))

    def _emit_if_possible(self, event: AnyEvent) -> None:
        """Journal an event of the teardown, which goes on even if the journal cannot be written any more."""
        try:
            self._emit(event)
        except OSError as error:
            self.ending.failed(Exit.LEFT_BEHIND, [self.journal.lost() or bug(error)])

    def _note_start(self) -> None:
        self._memory_bytes = (machine := describe()).memory_bytes
        self._emit(RunStarted(self.folder.name, self.plan, machine, os.getpid(), __version__))
        if not processes.installed():
            self._emit(Noted(processes.NOT_INSTALLED, "warning"))

    def _save(self) -> None:
        if (problem := self.tally.save(self.folder)) is not None:
            self.ending.failed(Exit.INVALID, [problem])

    def _admit(self) -> bool:
        disks = own_disks(self.plan.binding)
        evidence: dict[str, object] = {}
        reserve(max(1, len(disks)))
        try:
            steps = [step for step in self.plan.steps if not step.host]
            self._claims = claims.take(self.folder.name, claims.claims_of(steps), claims.relied_on(steps))
            self._emit(Noted(f"the disks are searched for data for up to {LOOK_S:.0f} s before the first write"))
            if modules := builder_modules({step.action for step in steps}):
                self.builder.start(*modules)  # it loads while the disks are searched
            self.peers.start()
            permits = admit(self.folder.name, disks, evidence.update)
        except ProblemError as error:
            self.ending.failed(Exit.REFUSED, error.problems)
            return False
        self._permits = {permit.fingerprint.id: permit for permit in permits}
        self.tally.set_disks(tuple(permit.disk for permit in permits))
        self._emit(DisksAdmitted(tuple(self._permits), evidence))
        return True

    def _execute(self) -> None:
        self.context = Context(self.folder.name, self.folder, self._permits, self._report, self.cancel, (), self.builder)
        self.context.ours = lambda: signatures_left(self._done_builds)
        self.watchdog = Watchdog(self._permits, self.cancel, self._emit_if_possible, self.journal.is_full)
        self.thermometer = Thermometer([permit.disk.name for permit in self._permits.values()])
        self.sampler = self._new_sampler()
        self.watchdog.start()
        self.sampler.start()
        try:
            for block, steps in itertools.groupby(self.plan.steps[1:], key=lambda step: step.block):  # 0 is `admit`
                if block:
                    self._block_if_needed(block, list(steps))
                elif not self._straight(list(steps)):
                    break
                if self._ends:
                    break
        finally:
            if self.journal.is_full():
                self.ending.failed(Exit.INVALID, [space.ran_full(space.THIS, self.folder)])
            if self.cancel.is_set() and not self._kept:
                self.ending.failed(Exit.CANCELLED, [Problem(CANCELLED.code, "the run was cancelled", exit=130)])
            for step in self.plan.steps:
                # A run that ended before its first layout has no teardown behind it.
                left = self.context.written - set(self.watchdog.lost)
                if left and not self._kept and step.phase == "teardown" and step.action == "disks.blank":
                    self._take_down([step])
            if self.watchdog.lost and not self.ending.exits:
                lost = [LOST.refusal.problem(f"disk {disk} was lost", exit=Exit.INVALID) for disk in self.watchdog.lost]
                self.ending.failed(Exit.INVALID, lost)
            self.watchdog.stop()
            self.sampler.stop()

    @property
    def _ends(self) -> bool:
        """True if nothing more is built or measured."""
        if self._kept:
            return False
        full = self.journal.is_full() or any(one.code == space.NO_SPACE.code for one in self.ending.problems)
        return full or bool(self.watchdog.lost) or self.cancel.is_set() or Exit.LEFT_BEHIND in self.ending.exits

    def _new_peers(self) -> Peers:
        return Peers(self.folder.name, self.folder, self.plan, heard=lambda host, load: self._emit(HostSampled(host, load)))

    def _new_sampler(self) -> FrameSource:
        threads = Threads(layer.threads for layer in all_layers().values())
        return Sampler(self._frame, thermometer=self.thermometer, threads=threads, caches=Caches())

    def _straight(self, steps: list[Step]) -> bool:
        """Steps before the first and after the last layout. False when one of them failed."""
        for step in steps:
            try:
                self._do(step)
            except ProblemError as error:
                self.ending.failed(Exit.LEFT_BEHIND if step.phase == "finish" else Exit.BUILD_FAILED, error.problems)
                return False
        return True

    def _block_if_needed(self, block: str, steps: list[Step]) -> None:
        """Do a block unless the ranking no longer needs any of its cells."""
        cells = tuple(dict.fromkeys(step.cell for step in steps if step.cell))
        if why := self.tally.rankings.block_not_needed([self._cells[cell] for cell in cells]):
            self._emit(Skipped(cells, why, block))
            self._save()
        else:
            self._block(steps)

    def _block(self, steps: list[Step]) -> None:
        """Build one layout, measure it, and take it down however far it came."""
        phases = {phase: [s for s in steps if s.phase == phase] for phase in ("build", "keep", "measure", "teardown")}
        self._done_builds = []
        try:
            for step in phases["build"]:
                self._do(step)
                self.sampler.watch_md((family := self._family(step)).devices)
                self._emit(DevicesBuilt(*family))
            look_again(steps[0].block, self._done_builds, self.context)
            self._keep(phases["keep"])
            self._measure_all(phases["measure"])
            if phases["measure"] and not self._ends:
                look_again(steps[0].block, self._done_builds, self.context)
        except ProblemError as error:
            self.ending.failed(Exit.BUILD_FAILED, error.problems)
        finally:
            self.sampler.watch_md(())
            if not self._kept:
                self._take_down(phases["teardown"])

    def _keep(self, steps: list[Step]) -> None:
        """Make the layout the operator's. After the first step nothing of it is taken down, whatever fails, and nothing is
        cancelled: the rest makes it whole. Raises ProblemError if the first one fails.
        """
        for step in steps:
            try:
                self._do(step)
            except ProblemError as error:
                if not self._kept:
                    raise
                self.ending.failed(Exit.INVALID, error.problems)
            self._kept = True
            self.context.cancelled = threading.Event()

    def _measure_all(self, steps: list[Step]) -> None:
        for cell, of_cell in itertools.groupby(steps, key=lambda step: step.cell):
            if self._ends:
                return
            if why := self.tally.rankings.not_needed(self._cells[cell]):
                self._emit(Skipped((cell,), why))
            else:
                self._measure(cell, list(of_cell))

    def _measure(self, cell: str, steps: list[Step]) -> None:
        one, family = self._cells[cell], self._family(steps[-1])
        self._emit(CellStarted(cell, self.plan.cells.index(one) + 1, len(self.plan.cells), family.devices, family.parents))
        try:
            for step in steps:
                self._do(step)
        except ProblemError as error:
            marks = [LOST.mark(f"disk {disk} was lost", about=disk) for disk in self.watchdog.lost]
            marks += [Mark(problem.code, problem.message) for problem in error.problems]
            empty = Cell(cell, one.layout, one.workload, one.round, False, (), one.part, again=one.again, sweep=one.sweep)
            self._cell_done(marked(empty, marks))

    def _cell_done(self, cell: Cell) -> None:
        if not cell.valid:
            wrong, invalid = of_weight(cell.marks, "invalid"), int(Exit.INVALID)
            self.ending.failed(Exit.INVALID, [Problem(mark.code, mark.sentence, cell.id, exit=invalid) for mark in wrong])
        self._emit(CellDone(cell))
        self._save()

    def _take_down(self, steps: list[Step]) -> None:
        """Do all teardown steps, even after failures, until one meets foreign data."""
        self.context.cancelled = threading.Event()
        for step in steps:
            if found_foreign_data(self.ending.problems):
                break  # what is below it stays as it is; recovery puts the tuning back
            try:
                twice_if_locked(partial(self._do, step))
            except ProblemError as error:
                gone = [problem for problem in error.problems if self.watchdog.is_of_lost(problem)]
                for problem in gone:
                    text = f"{problem.place} was lost with data of this run on it: `raidtui recover` when it is back"
                    self._emit_if_possible(Noted(text, "warning"))
                if left := [problem for problem in error.problems if problem not in gone]:
                    self.ending.failed(Exit.LEFT_BEHIND, left)
            except Exception as error:  # whatever one step stumbles over, the others still have disks to give back
                self.ending.failed(Exit.LEFT_BEHIND, [bug(error, step.title)])
        self.context.cancelled = self.cancel

    def _do(self, step: Step) -> None:
        """Journal, act, journal. Raises ProblemError after having journaled it."""
        self._step = step.id
        emit = self._emit_if_possible if step.phase == "teardown" else self._emit
        emit(StepStarted(step.id, step.title, step.action, step.block, step.cell, step.creates, args=step.args))
        began = time.monotonic()

        def took() -> float:
            return round(time.monotonic() - began, 3)

        try:
            if step.phase not in ("teardown", "finish") and self.cancel.is_set() and not self._kept:
                raise fail(CANCELLED, "the run was cancelled", exit=Exit.CANCELLED)
            if step.phase == "build" and self.journal.is_full():
                raise ProblemError(space.ran_full(space.THIS, self.folder))
            outcome = self._act(step)
        except ProblemError as error:
            emit(StepFailed(step.id, error.problems[0], took(), error.commands))
            raise
        except Exception as error:
            emit(StepFailed(step.id, bug(error), took()))
            raise
        finally:
            self.context.hold(self._permits)  # what a layer gave back
        emit(StepDone(step.id, outcome.result, took(), outcome.commands, outcome.facts, outcome.problems))
        if outcome.problems:
            raise ProblemError(*outcome.problems)

    def _act(self, step: Step) -> Outcome:
        if step.host or step.action == "links":
            return self.context.attend(lambda _: self.peers.do(step, self.context.keys))
        if step.action in ("recheck", "release"):
            return recheck(decode_args(Recheck, step.args), self.context, self._permits, self.watchdog.lost)
        if step.action == KEEP:
            return Outcome(KEPT)
        if step.action == GIVE:
            self.watchdog.stop()
            return give(self._permits)
        if step.action == "cooldown":
            self.watchdog.stop_measuring.wait(decode_args(Cooldown, step.args).seconds)
            return Outcome("done")
        if step.action == "prefill":
            measured = measuring.prefill(decode_args(Prefill, step.args), step.cell, self._scene(step))
            return Outcome("done", {"written_bytes": measured.summary.written_bytes}, (measured.command,))
        if step.action == "precondition":
            return precondition(decode_args(Precondition, step.args), self._scene(step))
        if step.action == "measure":
            settled = [argv for done in self._done_builds for argv in self.context.attend(done.settle)]
            cell, stuck = measuring.measure(step, self._cells[step.cell], self._scene(step))
            self._cell_done(cell)
            if stuck:
                self.ending.failed(Exit.LEFT_BEHIND, [stuck])
            return Outcome("done", {"valid": cell.valid}, (*settled, cell.command))
        action = bind(step.action, step.args)
        if step.phase == "build":
            self._done_builds.append(action)
        return self.context.attend(action.do)

    def _scene(self, step: Step) -> measuring.Scene:
        return measuring.Scene(
            context=self.context,
            sampler=self.sampler,
            listen=self._listen,
            live=lambda number, sample: self._sampled(step, sample, number),
            stop=self.watchdog.stop_measuring,
            health=lambda: unhealthy(self._done_builds, self.context, self.peers.health()),
            watch=lambda: watching(self._done_builds, self.context),
            devices=self._family(step).devices,
            disks={permit.disk.name: permit.disk for permit in self._permits.values()},
            heat=self.thermometer.heat,
            earlier=self.tally.cells,
            memory_bytes=self._memory_bytes,
            lost=self.watchdog.look,
            target=lambda args: self.peers.loading(step, args) if args.on else open_target(args, self.context),
            work=self.peers.work,
            daemons=lambda: daemons_up(self._done_builds, self.context),
            out_of_space=self.journal.is_full,
        )

    def _family(self, step: Step) -> Family:
        disks = {disk: permit.disk.name for disk, permit in self._permits.items()}
        return family_of_step(step, disks, self._done_builds, self.context)

    def _report(self, text: str, fraction: float | None) -> None:
        now = time.monotonic()
        if now - self._last_progress_s >= _PROGRESS_EVERY_S or fraction == 1.0:
            self._last_progress_s = now
            self._emit(StepProgressed(self._step, text, fraction))

    def _sampled(self, step: Step, sample: Sample, number: int) -> None:
        self._emit(WorkloadSampled(step.cell, sample, prefill=step.action == "prefill", pass_number=number))

    def _listen(self, listener: Callable[[Frame], None] | None) -> None:
        self._listener = listener

    def _frame(self, frame: Frame) -> None:
        self._emit(FrameTaken(frame))
        if (listener := self._listener) is not None:
            listener(frame)
