"""Bring the disks of an interrupted run back to blank: undo, by UUID, what its journal says was created, and nothing else.

May be run any number of times, and interrupted anywhere itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from raidtui import inventory
from raidtui.base.paths import PACKAGE
from raidtui.base.proc import ToolError, find_tool, run
from raidtui.engine.run import claims, runs
from raidtui.engine.run.journal import Journal
from raidtui.engine.run.launch import has_systemd, unit_name
from raidtui.engine.run.runs import RUNNING
from raidtui.engine.step_args import common_args
from raidtui.gate.admit import admit_for_recovery
from raidtui.gate.last_look import same
from raidtui.inventory import Signature
from raidtui.inventory.signatures import signatures
from raidtui.model.disk import Fingerprint
from raidtui.model.event import RecoverFinished, RecoverStarted, StepStarted
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.protocol import RecoveredDisk, RecoveredRun, RecoverProgress
from raidtui.stack.action import BoundAction, signatures_left
from raidtui.stack.blank import DisksToBlank, blank
from raidtui.stack.builder.process import Builder
from raidtui.stack.calls import bounded
from raidtui.stack.catalog import bind
from raidtui.stack.context import Context
from raidtui.stack.nodes import is_suspended
from raidtui.stack.teardown import found_foreign_data

JOURNAL_UNREADABLE: Final = Refusal(
    "journal-unreadable",
    "A run's journal is damaged",
    "A line of the journal is not a record, or was written by another version of raidtui. Only the journal tells "
    "what the run created, so nothing is taken apart, and the disks stay held.",
    "Try the version that wrote it. Otherwise look at what the disks carry, and move the run's folder away.",
)
NOT_OWED: Final = Refusal(
    "not-owed",
    "The run left nothing on that disk",
    "Only a disk that an interrupted run may have written to can be left out of its recovery.",
    "Name the run, and one of the disks that `raidtui recover RUN` could not give back.",
)
DISK_MISSING: Final = Refusal(
    "disk-missing",
    "A disk of an interrupted run is missing",
    "The disk may still carry data of the run.",
    "Plug it in and run `raidtui recover` again. If it is gone for good: `raidtui recover RUN --without DISK`.",
)

_TRIES: Final = 4
_PAUSE_S: Final = 0.5
_LEFTOVER_GRACE_S: Final = 5.0


Report = Callable[[RecoverProgress], None]


def recover(run_name: str, without: Collection[str] = (), report: Report = lambda _: None) -> Iterator[RecoveredRun]:
    """Recover one run, or (empty name) every run that left something.

    `without`: ids of disks of the named run that are not looked for, nor written to, any more. `report` receives the
    current action, from any thread.
    Raises ProblemError: `running` for a run that still runs; `not-owed` for disks that the named run does not owe.
    """
    if run_name:
        yield _recover(runs.folder_of(run_name), without, report)
        return
    if without:
        raise fail(NOT_OWED, "disks are left out of one run: name it", remedy="raidtui recover RUN --without DISK")
    for folder in runs.all_folders():
        story = runs.story_of(folder)
        state = runs.state_of(folder, story)
        if state == "interrupted" or (state == "finished" and story.owed):
            yield _recover(folder, (), report)
        elif state != "running" and runs.is_open(folder):
            _recover(folder, (), report)


def _recover(folder: Path, without: Collection[str], report: Report) -> RecoveredRun:
    lock = runs.own(folder, may_be_ended=False)
    if lock is None:
        if runs.owner(folder) == 0:
            raise fail(RUNNING, f"run {folder.name} is being recovered already", place=folder.name, exit=Exit.REFUSED,
                       remedy=f"raidtui attach {folder.name}")  # fmt: skip
        raise fail(RUNNING, f"run {folder.name} is still running", place=folder.name, exit=Exit.REFUSED,
                   remedy=f"raidtui cancel {folder.name}")  # fmt: skip
    try:
        story = runs.story_of(folder)
        interrupted = runs.state_of(folder, story, owned=False) == "interrupted"
        if story.unreadable and not interrupted:
            return RecoveredRun(folder.name, 0)
        if story.unreadable:
            return RecoveredRun(folder.name, int(Exit.LEFT_BEHIND), (), (_unreadable(folder, story),))
        if unknown := sorted(set(without) - set(story.owed)):
            raise fail(NOT_OWED, f"run {folder.name} left nothing on disk {unknown[0]}", place=unknown[0],
                       remedy="It left something on: " + (", ".join(story.owed) or "no disk"))  # fmt: skip
        if not (story.owed or story.left or interrupted):
            if runs.is_open(folder):
                runs.close(folder)  # it was killed after its last record
            return RecoveredRun(folder.name, 0)
        try:
            _done(story.made)
        except ProblemError as error:  # steps of another version: undoing half of them would be worse than none
            problems = tuple(replace(one, remedy=f"{one.remedy} {_by_its_own(folder)}".strip())
                             for one in error.problems)  # fmt: skip
            return RecoveredRun(folder.name, int(Exit.LEFT_BEHIND), (), problems)
        journal = Journal(folder)
        recovery = _Recovery(folder, story, {*story.given_up, *without}, report)
        try:
            journal.append(RecoverStarted(f"pid {os.getpid()}"))
            done = recovery.go()
            blanked, undone = tuple(dict.fromkeys(recovery.blanked)), tuple(sorted(recovery.undone))
            journal.append(RecoverFinished(done.exit, done.problems, blanked, tuple(without), undone))
            return done
        finally:
            recovery.builder.close()
            journal.close()
            runs.close(folder)
    finally:
        os.close(lock)


def _unreadable(folder: Path, story: runs.Story) -> Problem:
    return Problem(
        JOURNAL_UNREADABLE.code,
        f"the journal of run {folder.name} cannot be read, so that nothing can be undone by it: {story.unreadable}",
        str(folder),
        f"Look at what its disks carry ({', '.join(story.owed)}). They are held by the run until its folder is moved away. "
        f"{_by_its_own(folder)}".strip(),
        int(Exit.LEFT_BEHIND),
    )


def _by_its_own(folder: Path) -> str:
    """Return the command that recovers a run with the version that made it; empty if that is this one, or gone."""
    code = runs.code_of(folder)
    if code in (None, PACKAGE.parent):
        return ""
    command = f"{sys.executable} -I {code}/raidtui/__main__.py recover {folder.name}"
    return f"The version that made the run may be able to; as root there: {command}"


class _Recovery:
    def __init__(self, folder: Path, story: runs.Story, given_up: Collection[str], report: Report) -> None:
        self.folder = folder
        self.story = story
        self.made = story.made
        self.given_up = given_up
        self._report = report
        self.actions: list[str] = []
        self.blanked: list[str] = []
        """Ids of disks that carry nothing of the run any more."""
        self.undone: set[str] = set()
        """UUIDs of what is gone or put back."""
        self.problems: list[Problem] = []
        self.builder = Builder(folder / "work")

    def go(self) -> RecoveredRun:
        """Stop what runs, undo what was made, make the disks blank. Exit 0, or 6 with what is still left."""
        _end_leftovers(self.folder)
        prints = {print_.id: print_ for print_ in runs.disks_of(self.folder)}
        owed = [prints[disk] for disk in self.story.owed if disk not in self.given_up]
        self._leave_alone([prints[disk] for disk in self.given_up])
        for attempt in range(_TRIES):
            # udev may assemble an array again the moment it was stopped: that is what the other tries are for.
            self.problems = put_to_use(self._context({}), self.made, lambda steps: signatures_left(_done(steps)))
            self._undo(self._context({}))
            present = self._present(owed)
            if self._blank(present) and not self.problems:
                break
            if found_foreign_data(self.problems):
                break
            time.sleep(_PAUSE_S * (attempt + 1))
        missing = [p for p in owed if p.id not in {found.id for found in self._present(owed)}]
        self.problems += [
            Problem(DISK_MISSING.code, f"disk {p.id} is not here; it may carry data of run {self.folder.name}", p.id,
                    f"Plug it in and recover again. If it is gone for good: {self._leaving_out(p.id)}",
                    exit=int(Exit.LEFT_BEHIND))
            for p in missing
        ]  # fmt: skip
        code = Exit.LEFT_BEHIND if self.problems else Exit.DONE
        actions, disks = tuple(dict.fromkeys(self.actions)), tuple(self._outcomes(owed, missing))
        return RecoveredRun(self.folder.name, int(code), actions, tuple(self.problems), disks)

    def _leave_alone(self, given_up: list[Fingerprint]) -> None:
        """Count objects that were built only on given-up disks as given up."""
        here = {print_.id for print_ in self._present(given_up)}
        used = {step.step: set(common_args(step).disks) for step in self.story.made}
        theirs = [s for s in self.story.made if here & used[s.step] and used[s.step] <= set(self.given_up)]
        self.made = tuple(step for step in self.story.made if step not in theirs)
        self.undone |= {step.creates.uuid for step in theirs if step.creates}

    def _undo(self, context: Context) -> None:
        for step in reversed(self.made):
            action = bind(step.action, step.args)
            if found_foreign_data(self.problems) and action.leaves():
                continue  # foreign objects may be built on it
            self._tell(f"undoing: {step.title}")
            try:
                with claims.held(self.folder.name, step):
                    outcome = context.attend(action.undo)
            except ProblemError as error:
                self.problems += error.problems
                self.undone -= {step.creates.uuid} if step.creates else set()
                continue
            if step.creates and not outcome.facts.get("missing"):  # a device that was not looked at may have remains
                self.undone.add(step.creates.uuid)
            if outcome.result not in ("nothing to do", "already there"):
                self.actions.append(f"{step.title}: {outcome.result}")

    def _blank(self, present: list[Fingerprint]) -> bool:
        """Make these disks blank. False, with the problems noted, when one of them could not be; the others are.

        None of them is touched if the teardown stopped at foreign data: it may be on any of them.
        """
        left = [print_ for print_ in present if print_.id not in self.blanked]
        if not left:
            return True
        if found_foreign_data(self.problems):
            return False
        # A disk that was pulled, or a machine that was switched off, may have been put to other use before it came back:
        # nameless data must be the run's only on disks that never left.
        permits, refused = admit_for_recovery(
            self.folder.name, left, signatures_left(_done(self.made)), inventory.unmoved(left)
        )
        self.problems += [self._with_way_out(problem) for problem in refused]
        if not permits:
            return False
        context = self._context({permit.fingerprint.id: permit for permit in permits})
        context.written |= context.permits.keys()
        try:
            self._undo(context)
            if found_foreign_data(self.problems):
                return False
            self._tell(f"making blank: {', '.join(sorted(context.permits))}")
            outcome = blank(context, DisksToBlank(tuple(f"disk:{disk}" for disk in sorted(context.permits))))
            self.problems += [self._with_way_out(problem) for problem in outcome.problems]
            self.blanked += outcome.facts["blank"]
            self.actions += [f"{disk}: made blank ({proof['method']})" for disk, proof in outcome.facts["blank"].items()]
        finally:
            for permit in permits:
                permit.close()
        return not self.problems

    def _outcomes(self, owed: list[Fingerprint], missing: list[Fingerprint]) -> Iterator[RecoveredDisk]:
        for print_ in owed:
            why = "; ".join(problem.message for problem in self.problems if problem.place == print_.id)
            if print_.id in self.blanked:
                yield RecoveredDisk(print_.id, "blank")
            elif print_ in missing:
                yield RecoveredDisk(print_.id, "missing", why)
            else:
                yield RecoveredDisk(print_.id, "left", why or "; ".join(problem.message for problem in self.problems))
        yield from (RecoveredDisk(disk, "given up") for disk in self.story.owed if disk in self.given_up)

    def _with_way_out(self, problem: Problem) -> Problem:
        """Add the way to give up the disk, for problems of disks that may belong to someone else by now."""
        if problem.place not in self.story.owed:
            return problem
        text = f"If the disk is somebody else's by now: {self._leaving_out(problem.place)}"
        return replace(problem, remedy=f"{problem.remedy}. {text}" if problem.remedy else text)

    def _leaving_out(self, disk: str) -> str:
        return f"raidtui recover {self.folder.name} --without {disk}"

    def _present(self, wanted: list[Fingerprint]) -> list[Fingerprint]:
        here = {(print_.serial, print_.wwid) for print_ in inventory.present()}
        return [p for p in wanted if (p.serial, p.wwid) in here]

    def _tell(self, text: str, fraction: float | None = None) -> None:
        self._report(RecoverProgress(self.folder.name, text, fraction))

    def _context(self, permits: dict) -> Context:  # type: ignore[type-arg]
        prints = runs.disks_of(self.folder)
        disks = inventory.kernel_names(prints)
        context = Context(self.folder.name, self.folder, permits, self._tell, threading.Event(), disks, self.builder)
        context.ours = lambda: signatures_left(_done(self.made))
        context.unmoved = inventory.unmoved(print_ for print_ in prints if print_.id not in self.given_up)
        return context


def _done(steps: Sequence[StepStarted]) -> list[BoundAction]:
    return [bind(step.action, step.args) for step in steps]


def _end_leftovers(folder: Path) -> None:
    """End what a killed runner left running: its service's cgroup, and any process that works in the run's folder."""
    if has_systemd() and (systemctl := find_tool("systemctl")):
        # No such service, or systemd does not answer: the processes are looked for below in any case.
        with contextlib.suppress(ToolError):
            run((systemctl, "kill", "--signal=KILL", f"{unit_name(folder.name)}.service"), timeout_s=20, check=False)
    deadline = time.monotonic() + _LEFTOVER_GRACE_S
    while (left := _working_in(folder / "work")) and time.monotonic() < deadline:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.1)


def _working_in(folder: Path) -> list[int]:
    """Processes whose working directory is the run's own: fio is started there, and nothing else ever is."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if (process / "cwd").readlink() == folder and int(process.name) != os.getpid():
                found.append(int(process.name))
        except OSError:
            continue
    return found


LEFTOVER_FOREIGN: Final = Refusal(
    "leftover-foreign",
    "Foreign data on an array or volume of an interrupted run",
    "An array or volume of the run carries data that the run did not write. Nothing was taken apart, and no disk "
    "was made blank.",
    "Copy what is needed, or wipe it (`wipefs -a`), then run `raidtui recover` again.",
)


def put_to_use(
    context: Context, made: Sequence[StepStarted], leaves: Callable[[Sequence[StepStarted]], list[Signature]]
) -> list[Problem]:
    """One problem (`leftover-foreign`) for each device of these steps that carries what the run did not put there.

    Known by a signature with a UUID or a label that is not among what these steps leave. What cannot be read says nothing,
    nor does content that no tool knows.
    """
    problems = []
    for name in dict.fromkeys(_devices(context, made)):
        with context.attended():
            # What was put there in between may be the run's: a tool that outlived it ends its work.
            theirs = _strange(name, leaves(made)) and _strange(name, leaves(made))
        if theirs:
            what = f"{theirs[0].type} {theirs[0].label or theirs[0].uuid}"
            problems.append(
                Problem(LEFTOVER_FOREIGN.code, f"/dev/{name} carries {what}, which the run did not create", f"/dev/{name}",
                        f"If nobody needs it: wipefs -a /dev/{name}, then: raidtui recover", int(Exit.LEFT_BEHIND))
            )  # fmt: skip
    return problems


def _devices(context: Context, made: Iterable[StepStarted]) -> Iterator[str]:
    """Kernel names of what these steps made, and of its partitions, where it is there and answers."""
    for step in made:
        try:
            members = bind(step.action, step.args).members(context)
        except (OSError, ProblemError):
            continue  # not there, half made, or just going
        for name in (name for name, role in members.items() if name and role == "target" and not is_suspended(name)):
            yield name
            yield from sorted(path.parent.name for path in Path("/sys/class/block", name).glob("*/partition"))


def _strange(name: str, ours: Sequence[Signature]) -> list[Signature]:
    try:
        found = bounded(partial(_signatures_on, name), f"reading /dev/{name}")
    except (OSError, ProblemError):
        return []
    return [one for one in found if (one.uuid or one.label) and not any(same(one, own) for own in ours)]


def _signatures_on(name: str) -> tuple[Signature, ...]:
    fd = os.open(f"/dev/{name}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return signatures(fd, 0, os.lseek(fd, 0, os.SEEK_END), name)
    finally:
        os.close(fd)
