"""Current state of a run, computed from its records. Pure; shared by the command line and the screens."""

from __future__ import annotations

from itertools import accumulate, pairwise

import msgspec
from msgspec.structs import replace

from raidtui.model.event import (
    CancelAsked,
    CellDone,
    CellStarted,
    HostSampled,
    Record,
    RecoverFinished,
    RunFinished,
    RunStarted,
    Skipped,
    StepDone,
    StepFailed,
    StepProgressed,
    StepStarted,
    WorkloadSampled,
)
from raidtui.model.hosts import HostLoad
from raidtui.model.measure import Sample
from raidtui.model.plan import KEPT, Kept, Plan
from raidtui.model.result import Cell

_PACE_FROM_S = 10.0
"""Planned seconds that must be done before the pace of the run is used, in seconds."""
_TELLING_S, _TELLING_PART = 5.0, 0.01
"""Seconds and part of a step from which on its own progress tells its end."""


class RunView(msgspec.Struct, frozen=True):
    """State of a run after some of its records."""

    run: str = ""
    plan: Plan | None = None
    simulated: bool = False
    """True if the server is simulated: its steps take a moment, whatever the plan says."""
    seq: int = 0
    at_s: float = 0.0
    """Seconds since the run began, by the latest record."""
    before_s: tuple[float, ...] = ()
    """Planned seconds before each step, and after the last one."""
    positions: dict[str, int] = {}
    position: int = -1
    """Index of the furthest step that was begun."""
    step: StepStarted | None = None
    step_began_s: float = 0.0
    step_text: str = ""
    step_fraction: float | None = None
    step_done: bool = False
    cell: CellStarted | None = None
    sample: Sample | None = None
    prefill: bool = False
    hosts: dict[str, HostLoad] = {}
    """Latest activity of each host that loads the present step."""
    cells: tuple[Cell, ...] = ()
    skipped: frozenset[str] = frozenset()
    """Ids of cells that turned out not to be needed."""
    cancel_asked: bool = False
    cancelled_done_s: float = 0.0
    """Planned seconds that were done when the run was cancelled."""
    finished: RunFinished | None = None
    recovered: RecoverFinished | None = None
    kept: bool = False
    """True once the layout is the operator's (`raidtui build`)."""

    @property
    def kept_layout(self) -> Kept | None:
        """The layout that is the operator's now; None before that, and for runs that measure."""
        return self.plan.kept if self.kept and self.plan is not None else None

    @property
    def title(self) -> str:
        scenario = self.plan.scenario if self.plan else {}
        return str(scenario.get("title") or scenario.get("name") or self.run)

    @property
    def cells_planned(self) -> int:
        return len(self.plan.cells) if self.plan else 0


def advance(view: RunView, record: Record) -> RunView:
    """The view after one more record. A record that was already seen changes nothing."""
    if record.seq <= view.seq:
        return view
    return _after(replace(view, seq=record.seq, at_s=max(view.at_s, record.at_s)), record)


def _after(view: RunView, record: Record) -> RunView:
    match record.event:
        case RunStarted(run=run, plan=plan, machine=machine):
            seconds = (step.seconds for step in plan.steps)
            return replace(
                view,
                run=run,
                plan=plan,
                simulated=machine.simulated,
                before_s=tuple(accumulate(seconds, initial=0.0)),
                positions={step.id: index for index, step in enumerate(plan.steps)},
            )
        case StepStarted(step=step) as started:
            position = max(view.position, view.positions.get(step, -1))
            return replace(
                view, step=started, position=position, step_began_s=record.at_s, step_text="", step_fraction=None,
                step_done=False, sample=None, prefill=False, hosts={}, cell=view.cell if started.cell else None,
            )  # fmt: skip
        case StepProgressed(text=text, fraction=fraction):
            return replace(view, step_text=text, step_fraction=fraction)
        case StepDone(outcome=outcome) if outcome == KEPT:
            return replace(view, step_done=True, kept=True)
        case StepDone() | StepFailed():
            return replace(view, step_done=True, sample=None, hosts={})
        case CellStarted() as cell:
            return replace(view, cell=cell)
        case WorkloadSampled(sample=sample, prefill=prefill):
            return replace(view, sample=sample, prefill=prefill)
        case HostSampled(host=host, load=load):
            return view if view.step_done else replace(view, hosts={**view.hosts, host: load})
        case CellDone(cell=cell):
            return replace(view, cells=(*view.cells, cell), cell=None, sample=None)
        case Skipped(cells=cells, block=block):
            before_s = _without(view, frozenset(cells), block)
            planned = {cell.id for cell in view.plan.cells} if view.plan else set()
            return replace(view, skipped=view.skipped | (planned & set(cells)), before_s=before_s, cell=None, sample=None)
        case CancelAsked() if not view.cancel_asked:
            return replace(view, cancelled_done_s=done_s(view, record.at_s), cancel_asked=True)
        case RunFinished() as finished:
            return replace(view, finished=finished, sample=None, cell=None)
        case RecoverFinished() as recovered:
            return replace(view, recovered=recovered)
        case _:
            return view


def _without(view: RunView, cells: frozenset[str], block: str) -> tuple[float, ...]:
    """The planned seconds before each step once these cells, or the whole block, take none."""
    found = [0.0]
    for step, (before, after) in zip(view.plan.steps if view.plan else (), pairwise(view.before_s), strict=False):
        left_out = step.cell in cells or (block and step.block == block)
        found.append(found[-1] + (0.0 if left_out else after - before))
    return tuple(found)


def done_s(view: RunView, at_s: float) -> float:
    """Return the planned seconds done `at_s` seconds after its start; a cancelled or failed run keeps its share."""
    if view.cancel_asked:
        return view.cancelled_done_s
    if view.finished is not None and view.finished.exit == 0 and view.before_s:
        return view.before_s[-1]
    if view.position < 0:
        return 0.0
    planned = view.before_s[view.position + 1] - view.before_s[view.position]
    if view.step_done:
        part = 1.0
    elif view.step_fraction is not None:
        part = view.step_fraction
    else:
        # A step without its own progress is never shown as done before its end.
        part = min(0.99, (at_s - view.step_began_s) / planned) if planned > 0 else 0.0
    return view.before_s[view.position] + planned * min(1.0, max(0.0, part))


def fraction(view: RunView, at_s: float) -> float:
    """Return the completed part of the plan, 0 to 1, by its own estimate."""
    total = view.before_s[-1] if view.before_s else 0.0
    return min(1.0, done_s(view, at_s) / total) if total > 0 else float(view.finished is not None)


def left_s(view: RunView, at_s: float) -> float | None:
    """Return the estimated seconds until the end, at the pace so far; None before the plan is known, and once cancelled.

    A step that reports its own progress, such as a sync, is at its own pace. A simulated run is as fast as it is.
    """
    if not view.before_s or view.cancel_asked or (view.finished is not None and view.finished.exit):
        return None
    done = done_s(view, at_s)
    if view.simulated and done < _PACE_FROM_S:
        return None
    pace = min(4.0, max(0.0 if view.simulated else 0.25, at_s / done)) if done >= _PACE_FROM_S else 1.0
    spent_s, part = at_s - view.step_began_s, view.step_fraction
    if view.step_done or part is None or part < _TELLING_PART or spent_s < _TELLING_S or view.finished is not None:
        return (view.before_s[-1] - done) * pace
    return spent_s * (1 - min(1.0, part)) / part + (view.before_s[-1] - view.before_s[view.position + 1]) * pace
