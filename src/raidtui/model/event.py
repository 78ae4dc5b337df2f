"""Everything that can happen in a run. The journal holds these; screens, printer and result are folds over them."""

from __future__ import annotations

from typing import Any

import msgspec

from raidtui.model.frame import Frame
from raidtui.model.hosts import HostLoad
from raidtui.model.measure import Sample
from raidtui.model.plan import Argv, Created, Plan
from raidtui.model.problem import Problem
from raidtui.model.result import Cell, Machine


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """Base of all events."""


class RunStarted(Event, frozen=True, tag="run-started"):
    run: str
    plan: Plan
    machine: Machine
    runner_pid: int
    version: str


class DisksAdmitted(Event, frozen=True, tag="disks-admitted"):
    """The gate let these disks through; `evidence` is what it saw of each."""

    disks: tuple[str, ...]
    evidence: dict[str, Any]


class StepStarted(Event, frozen=True, tag="step-started", omit_defaults=True):
    """Written and synced before the step's first side effect."""

    step: str
    title: str
    action: str
    block: str = ""
    cell: str = ""
    creates: Created | None = None
    args: dict[str, Any] = {}


class StepProgressed(Event, frozen=True, tag="step-progressed", omit_defaults=True):
    step: str
    text: str
    fraction: float | None = None


class StepDone(Event, frozen=True, tag="step-done", omit_defaults=True):
    """`outcome`: `created`, `already there`, `done`, `undone`, `nothing to do`."""

    step: str
    outcome: str
    seconds: float
    commands: tuple[Argv, ...] = ()
    facts: dict[str, Any] = {}
    problems: tuple[Problem, ...] = ()
    """Parts of the step that failed; the work recorded in `facts` was done."""


class StepFailed(Event, frozen=True, tag="step-failed", omit_defaults=True):
    step: str
    problem: Problem
    seconds: float
    commands: tuple[Argv, ...] = ()


class CellStarted(Event, frozen=True, tag="cell-started"):
    cell: str
    number: int
    of: int
    devices: dict[str, str]
    """Kernel names measured and below (`md127`, `nvme0n1`), and what each is: `target`, `member`, `journal`, …"""
    parents: dict[str, str] = {}
    """Kernel names of the arrays of members (journal, spare), by kernel name. Empty in journals of older versions."""


class DevicesBuilt(Event, frozen=True, tag="devices-built"):
    """Devices of the layout that is being built, as far as they stand. For displays alone."""

    devices: dict[str, str]
    """Roles by kernel name, like `CellStarted.devices`."""
    parents: dict[str, str] = {}


class Skipped(Event, frozen=True, tag="skipped", omit_defaults=True):
    """Planned, and not needed any more (`Policy.ranking`)."""

    cells: tuple[str, ...]
    why: str
    block: str = ""
    """Block whose cells are all skipped, so that its layout is not built at all."""


class WorkloadSampled(Event, frozen=True, tag="sampled"):
    cell: str
    sample: Sample
    prefill: bool = False
    pass_number: int = 0
    """Number of the pass of a workload that is repeated until it is steady; 0 for other workloads."""


class FrameTaken(Event, frozen=True, tag="frame"):
    frame: Frame


class HostSampled(Event, frozen=True, tag="host-sampled"):
    """Activity of a host that loads what the storage server exports; a slow host leaves some out."""

    host: str
    load: HostLoad


class CellDone(Event, frozen=True, tag="cell-done"):
    cell: Cell


class Noted(Event, frozen=True, tag="noted"):
    text: str
    level: str = "info"


class CancelAsked(Event, frozen=True, tag="cancel-asked"):
    by: str


class RunFinished(Event, frozen=True, tag="run-finished", omit_defaults=True):
    exit: int
    outcome: str
    """`done`, `refused`, `build failed`, `invalid`, `left behind`, `cancelled`, `bug`."""
    problems: tuple[Problem, ...] = ()


class RecoverStarted(Event, frozen=True, tag="recover-started"):
    by: str


class RecoverFinished(Event, frozen=True, tag="recover-finished", omit_defaults=True):
    exit: int
    problems: tuple[Problem, ...] = ()
    blanked: tuple[str, ...] = ()
    """Ids of disks that were given back, whatever became of the others."""
    given_up: tuple[str, ...] = ()
    """Ids of disks that the operator left out: they are not owed any more, whatever is on them."""
    undone: tuple[str, ...] = ()
    """UUIDs of what was made by the run and is gone or put back."""


AnyEvent = (
    RunStarted
    | DisksAdmitted
    | StepStarted
    | StepProgressed
    | StepDone
    | StepFailed
    | CellStarted
    | DevicesBuilt
    | Skipped
    | WorkloadSampled
    | FrameTaken
    | HostSampled
    | CellDone
    | Noted
    | CancelAsked
    | RunFinished
    | RecoverStarted
    | RecoverFinished
)

LIVE = (StepProgressed, WorkloadSampled, FrameTaken, HostSampled, DevicesBuilt)
"""Events that need not survive a crash: they are written, but not waited for."""


class Record(msgspec.Struct, frozen=True):
    """One line of a journal."""

    seq: int
    """1, 2, 3, … without a gap."""
    at_s: float
    """Seconds since the run began, by the monotonic clock (CLOCK_BOOTTIME: suspends count)."""
    wall: str
    """The wall clock as a label only: `2026-01-31T12:00:00.000Z`."""
    event: AnyEvent
