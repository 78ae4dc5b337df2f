"""State of the shown run, made of its records: plan, steps, cells, samples, frames."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from raidtui.base.text import clean
from raidtui.front.phrases import ending_line, sentence, skipped_line, verdict_line
from raidtui.front.progress import RunView, advance
from raidtui.model import event as events
from raidtui.model.event import Record
from raidtui.model.frame import Frames
from raidtui.model.problem import Problem
from raidtui.tui.run.disk_track import DiskTrack
from raidtui.tui.run.latency_track import LatencyTrack
from raidtui.tui.run.tracks import FrameTrack, HostTrack, SampleTrack

Kind = Literal["step", "note", "warning", "error", "valid", "invalid", "end"]
MOST_LINES = 20_000
"""Above that, the oldest quarter goes."""


class LogLine(Struct):
    """One line of the step log. A step is one line from its start to its end, and looks different after it."""

    at_s: float
    kind: Kind
    text: str
    """Cleaned for display."""
    ended_s: float | None = None
    failed: bool = False
    outcome: str = ""


class StepLog:
    """Lines made of a run's records, in order."""

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        self.version = 0
        """Counts up with every change."""
        self._open: dict[str, LogLine] = {}

    def take(self, at_s: float, record: Record, view: RunView) -> None:
        """Add the next record; `view` is the run's state after it."""
        match record.event:
            case events.StepStarted(step=step, title=title):
                self._open[step] = self._add(at_s, "step", clean(title))
            case events.StepDone(step=step, outcome=outcome, problems=problems):
                self._end(step, at_s, clean(outcome, 60), failed=False)
                self._problems(at_s, problems)
            case events.StepFailed(step=step, problem=problem):
                self._end(step, at_s, "failed", failed=True)
                self._problems(at_s, (problem,))
            case events.CellDone(cell=cell):
                self._add(at_s, "valid" if cell.valid else "invalid", verdict_line(cell).partition(" ")[2])
            case events.Skipped() as skipped:
                self._add(at_s, "note", skipped_line(skipped))
            case events.Noted(text=text, level=level):
                self._add(at_s, "note" if level == "info" else "warning", clean(text))
            case events.CancelAsked():
                self._add(at_s, "warning", "cancelled: what was built is taken down")
            case events.RunFinished(problems=problems) as finished:
                self._problems(at_s, problems)
                self._add(at_s, "end" if finished.exit == 0 else "error", ending_line(view, finished))
            case events.RecoverStarted():
                self._add(at_s, "note", "recovery began")
            case events.RecoverFinished(exit=code, problems=problems):
                self._problems(at_s, problems)
                said = "something is still left" if code else "recovered: nothing of the run is left"
                self._add(at_s, "error" if code else "end", said)

    def until(self, at_s: float) -> list[LogLine]:
        """Return the lines that were there at a second of the run."""
        return self.lines[: bisect_right(self.lines, at_s, key=lambda line: line.at_s)]

    def _add(self, at_s: float, kind: Kind, text: str) -> LogLine:
        line = LogLine(at_s, kind, text)
        self.lines.append(line)
        self.version += 1
        if len(self.lines) > MOST_LINES:
            del self.lines[: MOST_LINES // 4]
        return line

    def _end(self, step: str, at_s: float, outcome: str, *, failed: bool) -> None:
        self.version += 1
        if (line := self._open.pop(step, None)) is not None:
            line.ended_s, line.outcome, line.failed = at_s, outcome, failed

    def _problems(self, at_s: float, problems: tuple[Problem, ...]) -> None:
        for problem in problems:
            for text in sentence(problem).splitlines():
                self._add(at_s, "error", text)


MOST_PROGRESS = 4000
"""Reports of steps that are kept; above that, every second one of the older half goes."""


class Moment(NamedTuple):
    """A run at one second of it: what all panes are drawn from."""

    at_s: float
    view: RunView
    frames: Frames
    cell: events.CellStarted | None
    """The cell that is measured; between two cells the one before, or the layout that is built, which has no name."""
    past: bool
    """True if it was requested by the playhead and is not the newest."""


class _Mark(NamedTuple):
    at_s: float
    view: RunView
    cell: events.CellStarted | None
    """The latest that was started."""


class _Report(NamedTuple):
    at_s: float
    seq: int
    event: events.StepProgressed


class Story:
    """State of a run at any moment of it. Takes records in order; one that was already seen changes nothing."""

    def __init__(self, run: str = "") -> None:
        self.view = RunView(run=run)
        self.samples = SampleTrack()
        self.frames = FrameTrack()
        self.hosts = HostTrack()
        self.disks = DiskTrack()
        self.latency = LatencyTrack()
        self.log = StepLog()
        self._cell: events.CellStarted | None = None
        self._marks: list[_Mark] = [_Mark(0.0, self.view, None)]
        """The view after each record that is not one of many."""
        self._reports: list[_Report] = []
        self._edges: list[float] = []

    def take(self, records: Iterable[Record]) -> bool:
        """Return True if any record was new."""
        before = self.view.seq
        for record in records:
            if record.seq > self.view.seq:
                self._take(record)
        return self.view.seq > before

    @property
    def end_s(self) -> float:
        """The run's latest second."""
        return self.view.at_s

    def now(self) -> Moment:
        return Moment(self.view.at_s, self.view, self.frames.now, self._cell, past=False)

    def at(self, at_s: float) -> Moment:
        """Return the run as it was after the records up to this second."""
        mark = self._marks[bisect_right(self._marks, at_s, key=lambda mark: mark.at_s) - 1]
        view = mark.view
        frames, frame_s, frame_seq = self.frames.at(at_s)
        index = bisect_right(self._reports, at_s, key=lambda report: report.at_s) - 1
        seen = [(mark.view.seq, mark.at_s), (frame_seq, frame_s)]
        if index >= 0 and (report := self._reports[index]).seq > view.seq:
            seen.append((report.seq, report.at_s))
            view = replace(view, step_text=report.event.text, step_fraction=report.event.fraction)
        point = self.samples.latest(at_s)
        if point is not None and point.seq > mark.view.seq:
            seen.append((point.seq, point.at_s))
            view = replace(view, sample=point.sample, prefill=point.prefill)
        seq, latest_s = max(seen)
        view = replace(view, seq=seq, at_s=latest_s)
        return Moment(at_s, view, frames, mark.cell, past=True)

    def cell_edges(self) -> list[float]:
        """Start of each cell, in seconds of the run."""
        return self._edges

    def log_at(self, moment: Moment) -> list[LogLine]:
        """Return the lines of the step log at that moment, oldest first."""
        return self.log.until(moment.at_s) if moment.past else self.log.lines

    def _take(self, record: Record) -> None:
        event = record.event
        if isinstance(event, events.CellDone):
            self.latency.end(event.cell)
            # Only a result file needs the rest of a cell, and a run of days has many.
            slim = replace(event.cell, samples=(), devices={}, device_at_s=(), report=None)
            record = replace(record, event=events.CellDone(slim))
        elif isinstance(event, events.CellStarted):
            self._cell = event
        elif isinstance(event, events.DevicesBuilt):
            self._cell = events.CellStarted("", 0, 0, event.devices, event.parents)
        self.view = advance(self.view, record)
        if isinstance(event, events.CellStarted):
            self._edges.append(self.view.at_s)
            self.latency.begin(event)
        if isinstance(event, events.FrameTaken):
            self.frames.take(self.view.at_s, record.seq, event.frame)
            if self.view.sample is None:
                self.samples.pause()
                self.disks.take(self.view.at_s, self.frames.now, self._cell)
            else:
                self.disks.pause()
            if self.view.cell is not None and self.view.step is not None and self.view.step.action == "measure":
                self.latency.take_frame(self.view.cell.cell, self.frames.now)
        elif isinstance(event, events.WorkloadSampled):
            self.samples.take(self.view.at_s, record.seq, event)
            self.latency.take_sample(event)
        elif isinstance(event, events.HostSampled):
            self.hosts.take(self.view.at_s, event.host, event.load)
        elif isinstance(event, events.StepProgressed):
            self._reports.append(_Report(self.view.at_s, record.seq, event))
            if len(self._reports) > MOST_PROGRESS:
                half = len(self._reports) // 2
                self._reports = [*self._reports[1:half:2], *self._reports[half:]]
        else:
            self._marks.append(_Mark(self.view.at_s, self.view, self._cell))
        self.log.take(self.view.at_s, record, self.view)
