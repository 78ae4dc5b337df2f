"""The runs of this server: a folder each, and what its journal says of it."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeVar

import msgspec

from raidtui.base.files import lock_file, private_folder, write_atomic
from raidtui.base.paths import PACKAGE, state_folder
from raidtui.engine.run.journal import JOURNAL_NAME, UNREADABLE, read_lasting, read_lines
from raidtui.engine.step_args import common_args
from raidtui.inventory import boot_id
from raidtui.model.convert import encode
from raidtui.model.disk import Fingerprint
from raidtui.model.event import (
    CellDone,
    Record,
    RecoverFinished,
    RunFinished,
    RunStarted,
    Skipped,
    StepDone,
    StepStarted,
)
from raidtui.model.plan import KEEP, KEPT, Plan, Step, own_disks
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.model.protocol import RunInfo
from raidtui.model.refusals import NO_RUN
from raidtui.model.type_info import ready

PLAN_CHANGED: Final = Refusal(
    "plan-changed",
    "The plan changed",
    "Scenario, disks or options changed after the plan was shown.",
    "Look at the plan again and consent to that one.",
)
RUNNING: Final = Refusal(
    "running",
    "The run is still running",
    "The operation is possible only when the run has ended, or another process works on the run.",
    "Wait, or cancel it: `raidtui cancel RUN`.",
)
NO_RESULT: Final = Refusal(
    "no-result", "No result yet", "The run has not finished its first cell.", "`raidtui attach` shows its progress."
)

RUN_PATTERN: Final = r"^[0-9]{8}-[0-9]{6}-[0-9a-z]{8}$"
_PLAN_NAME: Final = "plan.json"
_LOCK_NAME: Final = "runner.lock"
_CLOSED_NAME: Final = "closed"
CODE_NAME: Final = "code"
"""Folder of the raidtui that made the run."""
LOG_NAME: Final = "runner.log"
"""Output of a runner that is no service of systemd."""
_ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_Kind = TypeVar("_Kind")
_NO_PLAN: Final = (*UNREADABLE, FileNotFoundError)


def new_token() -> str:
    """Eight random characters for a plan's names."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(8))


def runs_folder() -> Path:
    return private_folder(state_folder() / "runs")


def folder_of(run: str) -> Path:
    """The folder of an existing run. Raises ProblemError (`no-run`)."""
    folder = runs_folder() / run
    if not re.fullmatch(RUN_PATTERN, run) or not folder.is_dir():
        raise fail(NO_RUN, f"there is no run {run[:80]!r}", remedy="`raidtui runs` lists the runs of this server.")
    return folder


def create(plan: Plan, name: str = "") -> tuple[str, Path]:
    """Create the folder of a run with the plan in it, and return name and folder. `name`: default, by the time."""
    run = name or f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{plan.token}"
    folder = private_folder(runs_folder() / run)
    private_folder(folder / "work")
    # A version that runs still name is not removed from the server (`remote/receive.py`).
    write_atomic(folder / CODE_NAME, f"{PACKAGE.parent}\n".encode())
    write_atomic(folder / _PLAN_NAME, encode(plan))
    return run, folder


def code_of(folder: Path) -> Path | None:
    """Return the folder of the raidtui that made a run; None if it is gone."""
    try:
        code = Path((folder / CODE_NAME).read_text().strip())
    except (OSError, UnicodeDecodeError):
        return None
    return code if (code / "raidtui/__main__.py").is_file() else None


def check_token(token: str) -> None:
    """Refuse a token that no plan was shown with, or that a run has already. Raises ProblemError (`plan-changed`).

    The run's folder is named after it, and so is everything that the run makes.
    """
    if not re.fullmatch("[0-9a-z]{8}", token):
        raise fail(PLAN_CHANGED, "the plan was not shown by this raidtui: its token is none", exit=Exit.REFUSED,
                   remedy="Look at the plan again.")  # fmt: skip
    if taken := next((folder.name for folder in all_folders() if folder.name.endswith(f"-{token}")), ""):
        raise fail(PLAN_CHANGED, f"this plan was started already, as run {taken}", exit=Exit.REFUSED,
                   remedy=f"`raidtui attach {taken}` shows it; look at the plan again to start another run.")  # fmt: skip


class _Started(msgspec.Struct):
    plan: msgspec.Raw


class _FirstRecord(msgspec.Struct):
    event: _Started


def _read_plan(folder: Path, kind: type[_Kind]) -> _Kind:
    """Return the plan; if its file is missing or damaged, the copy in the journal's first record."""
    try:
        return msgspec.json.decode((folder / _PLAN_NAME).read_bytes(), type=ready(kind))
    except _NO_PLAN:
        first = next(read_lines(folder), None)
        if first is None:
            raise
        return msgspec.json.decode(msgspec.json.decode(first[0], type=ready(_FirstRecord)).event.plan, type=ready(kind))


def plan_of(folder: Path) -> Plan:
    """Return the plan that a run was started with. Raises one of UNREADABLE, or FileNotFoundError."""
    return _read_plan(folder, Plan)


def disks_of(folder: Path) -> tuple[Fingerprint, ...]:
    """Return the disks of this host that a run was planned on, also by another version of raidtui; none if no plan is
    readable.
    """
    try:
        binding = _read_plan(folder, _Bound).binding
    except _NO_PLAN:
        return ()
    return own_disks(binding)


def steps_of(folder: Path) -> tuple[Step, ...]:
    """Return the planned steps of a run; none if another version of raidtui wrote the plan."""
    try:
        return plan_of(folder).steps
    except _NO_PLAN:
        return ()


def own(folder: Path, *, may_be_ended: bool = True) -> int | None:
    """Become the one process that works on this run: an open descriptor to keep, or None when another process is.

    `may_be_ended`: by a signal, after which it takes down what it built.
    """
    fd = os.open(folder / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    while not lock_file(fd):
        if not lock_file(fd, how=fcntl.LOCK_SH):
            os.close(fd)
            return None
        # Another process reads it in `owner`, for an instant.
        fcntl.flock(fd, fcntl.LOCK_UN)
        time.sleep(0.01)
    if may_be_ended:  # a runner: a recovery may have come before it, when there was nothing to undo yet
        (folder / _CLOSED_NAME).unlink(missing_ok=True)
    os.ftruncate(fd, 0)
    os.pwrite(fd, str(os.getpid() if may_be_ended else 0).encode(), 0)
    return fd


def owner(folder: Path) -> int | None:
    """Return the id of the process that works on this run, 0 if it must not be ended, or None."""
    try:
        fd = os.open(folder / _LOCK_NAME, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        if lock_file(fd, how=fcntl.LOCK_SH):
            return None
        text = os.pread(fd, 20, 0)
        return int(text) if text.isdigit() else 0
    finally:
        os.close(fd)


class _Bound(msgspec.Struct):
    """The part of a plan that is the same in all versions."""

    binding: dict[str, tuple[Fingerprint, ...]]


class Story(NamedTuple):
    """State of a run, folded from its journal."""

    made: tuple[StepStarted, ...]
    """Steps that may have created something, oldest first."""
    left: tuple[str, ...]
    """UUIDs of what was made and nothing after it took away."""
    owed: tuple[str, ...]
    """Ids of disks that may carry what this run wrote."""
    finished: RunFinished | None
    recovered: RecoverFinished | None
    cells_done: int
    cells_skipped: int
    started_at: str
    given_up: tuple[str, ...] = ()
    """Ids of disks that a recovery was told to leave as they are."""
    kept: bool = False
    """True if what was built is the operator's: nothing of it is undone."""
    unreadable: str = ""
    """Reason why the journal cannot be read to its end; then nothing is undone, and every disk of the plan is owed unless
    the run is known to have left nothing.
    """


def fold(records: Iterator[Record]) -> Story:
    """One pass over a journal. Pure."""
    finished: RunFinished | None = None
    recovered: RecoverFinished | None = None
    made: list[StepStarted] = []
    left: set[str] = set()
    owed: dict[str, None] = {}
    alone: set[str] = set()
    erases: dict[str, tuple[str, ...]] = {}
    begun: dict[str, StepStarted] = {}
    elsewhere: set[str] = set()
    cells, skipped, first, kept = 0, 0, "", False
    for record in records:
        event = record.event
        first = first or record.wall
        if isinstance(event, RunStarted):
            recovered = None
            theirs = {disk.id for disks in event.plan.binding.values() for disk in disks if disk.host}
            erases = {step.id: tuple(disk for disk in step.erases if disk not in theirs) for step in event.plan.steps}
            elsewhere = {step.id for step in event.plan.steps if step.host}
        elif isinstance(event, (StepStarted, StepDone)) and event.step in elsewhere:
            continue  # the host's own journal has it
        elif isinstance(event, StepStarted):
            begun[event.step] = event
            if event.creates:
                made.append(event)
                left.add(event.creates.uuid)
            owed.update(dict.fromkeys(erases.get(event.step, ())))
        elif isinstance(event, StepDone):
            step = begun.get(event.step)
            if step and step.action == KEEP and event.outcome == KEPT:
                kept, made, left, owed = True, [], set(), {}
            undone = common_args(step).uuid if step and event.outcome in ("undone", "nothing to do") else None
            if undone and not (step and step.creates):
                left.discard(str(undone))
            if step and not step.creates and event.outcome in ("undone", "nothing to do"):
                # The arguments of layers without a UUID are those of the step that made it.
                left -= {str(one.creates.uuid) for one in made if one.creates and one.args == step.args}
            if step and step.action == "disks.blank":
                for disk in (*event.facts.get("blank", ()), *event.facts.get("unwritten", ())):
                    owed.pop(disk, None)
        elif isinstance(event, CellDone):
            cells += 1
        elif isinstance(event, Skipped):
            skipped += len(event.cells)
        elif isinstance(event, RunFinished):
            finished = event
        elif isinstance(event, RecoverFinished):
            recovered = event
            for disk in (*event.blanked, *event.given_up):
                owed.pop(disk, None)
            alone |= set(event.given_up)
            left.difference_update(event.undone)
            if event.exit == Exit.DONE:
                left, owed = set(), {}
    there, given_up = tuple(sorted(left)), tuple(sorted(alone))
    return Story(tuple(made), there, tuple(owed), finished, recovered, cells, skipped, first, given_up, kept=kept)


def story_of(folder: Path) -> Story:
    """Return the state of a run. A journal that is damaged or of another version does not hide other runs."""
    why = ""

    def readable() -> Iterator[Record]:
        nonlocal why
        try:
            yield from read_lasting(folder)
        except UNREADABLE as error:
            why = str(error)

    story = fold(readable())
    if not why:
        return story
    if (folder / _CLOSED_NAME).exists():
        return story._replace(unreadable=why, left=(), owed=())
    owed = tuple(print_.id for print_ in disks_of(folder))
    return story._replace(unreadable=why, owed=owed, finished=None, recovered=None)


def state_of(folder: Path, story: Story, *, owned: bool | None = None) -> str:
    """Return `running`, `finished`, `recovered`, or `interrupted`: no process works on it, and something is left to undo.

    `owned`: whether a process works on it, if the caller knows better than the lock.
    """
    if owner(folder) is not None if owned is None else owned:
        return "running"
    if story.unreadable:
        return "finished" if (folder / _CLOSED_NAME).exists() else "interrupted"
    if story.recovered and story.recovered.exit == Exit.DONE:
        return "recovered"
    if story.kept or (story.finished and story.finished.exit not in (Exit.LEFT_BEHIND, Exit.BUG)):
        return "finished"
    return "interrupted"


def info(folder: Path) -> RunInfo:
    """One run, as `runs` lists it."""
    story, disks = story_of(folder), disks_of(folder)
    state = state_of(folder, story)
    another_boot = any(print_.boot_id != boot_id() for print_ in disks)
    restarted = state == "interrupted" and story.finished is None and another_boot
    try:
        plan = plan_of(folder)
    except _NO_PLAN:
        return RunInfo(folder.name, "", state, story.started_at, disks, restarted=restarted)
    return RunInfo(
        run=folder.name,
        scenario=str(plan.scenario.get("name", "")),
        state=state,
        started=story.started_at,
        disks=disks,
        exit=story.finished.exit if story.finished else None,
        outcome=story.finished.outcome if story.finished else "",
        cells_done=story.cells_done,
        cells=len(plan.cells) - story.cells_skipped,
        rehearsal=plan.options.quick,
        restarted=restarted,
    )


def all_folders() -> list[Path]:
    """Return the folders of all runs, oldest first. Without plan and journal, nothing of a run has begun."""
    folders = (folder for folder in runs_folder().iterdir() if re.fullmatch(RUN_PATTERN, folder.name))
    return sorted(f for f in folders if (f / _PLAN_NAME).exists() or (f / JOURNAL_NAME).exists())


def latest(*states: str) -> str:
    """The latest run in one of these states. Raises ProblemError (`no-run`)."""
    for folder in reversed(all_folders()):
        if not states or state_of(folder, story_of(folder)) in states:
            return folder.name
    raise fail(NO_RUN, f"no run is {' or '.join(states)}" if states else "there are no runs on this server")


def held_disks() -> dict[str, str]:
    """Disk id → run, of all disks that a run uses now or has left unfinished: they are not free."""
    held: dict[str, str] = {}
    for folder in all_folders():
        if owner(folder) is not None:
            held.update({print_.id: folder.name for print_ in disks_of(folder)})
        elif not (folder / _CLOSED_NAME).exists() and state_of(folder, story := story_of(folder)) == "interrupted":
            held.update(dict.fromkeys(story.owed, folder.name))
    return held


def standing() -> frozenset[tuple[str, bool, bool]]:
    """Return every run with whether it is owned and whether it is closed; this differs whenever `held_disks` may differ.

    No plan and no journal is read for it.
    """
    # A run is closed an instant before its lock is let go of: until then its disks are held.
    return frozenset((f.name, owner(f) is not None, (f / _CLOSED_NAME).exists()) for f in all_folders())


def any_at_work() -> bool:
    """Return True while any run is at work on this server."""
    return any(at_work for _, at_work, _ in standing())


def interrupted() -> Iterator[tuple[str, Story]]:
    """Yield the runs without a process that left something to undo, by name."""
    for folder in all_folders():
        if owner(folder) is None and not (folder / _CLOSED_NAME).exists():
            story = story_of(folder)
            if state_of(folder, story) == "interrupted":
                yield folder.name, story


def is_open(folder: Path) -> bool:
    """Return True where a run may have something left to undo; its journal says what."""
    return not (folder / _CLOSED_NAME).exists()


def close(folder: Path) -> None:
    """Note that a run has nothing left to undo, so that its journal need not be read to know it."""
    if state_of(folder, story_of(folder), owned=False) != "interrupted":
        write_atomic(folder / _CLOSED_NAME, b"")


def discard(folder: Path) -> None:
    """Remove the folder of a run that was refused before it touched anything."""
    for name in (JOURNAL_NAME, _PLAN_NAME, _LOCK_NAME, _CLOSED_NAME, CODE_NAME, LOG_NAME, "reserve", "result.json"):
        (folder / name).unlink(missing_ok=True)
    for entry in (folder / "work").glob("*"):
        entry.unlink(missing_ok=True)
    (folder / "work").rmdir()
    folder.rmdir()


def open_result(folder: Path) -> BinaryIO:
    """The result file as it stands, or ProblemError (`no-result`). It is replaced, never written to."""
    try:
        return (folder / "result.json").open("rb")
    except FileNotFoundError:
        raise fail(NO_RESULT, f"run {folder.name} has no result yet", exit=Exit.USAGE) from None
