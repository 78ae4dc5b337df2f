"""The step log: what was done, what it came to, and the verdicts between; each line knows its times."""

from __future__ import annotations

from bisect import bisect_right
from typing import Literal

from raidtui.base.text import clean
from raidtui.front.phrases import ending_line, skipped_line, verdict_line
from raidtui.front.problems import sentence
from raidtui.front.progress import RunView
from raidtui.model.event import (
    CancelAsked,
    CellDone,
    Noted,
    Record,
    RecoverFinished,
    RecoverStarted,
    RunFinished,
    Skipped,
    StepDone,
    StepFailed,
    StepStarted,
)
from raidtui.model.problem import Problem

Kind = Literal["step", "note", "warning", "error", "valid", "invalid", "end"]

MOST_LINES = 20_000
"""Above that, the oldest quarter goes."""


class LogLine:
    """One line. A step is one line from its start to its end, and looks different after it."""

    __slots__ = ("at_s", "ended_s", "failed", "kind", "outcome", "step", "text")

    def __init__(self, at_s: float, kind: Kind, text: str, step: str = "") -> None:
        self.at_s = at_s
        self.kind: Kind = kind
        self.text = text
        """Clean."""
        self.step = step
        self.ended_s: float | None = None
        self.failed = False
        self.outcome = ""


class StepLog:
    """Takes records in order."""

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        self.version = 0
        """Counts up with every change."""
        self._open: dict[str, LogLine] = {}

    def take(self, at_s: float, record: Record, view: RunView) -> None:
        """The next record, and the run's view after it."""
        match record.event:
            case StepStarted(step=step, title=title):
                self._open[step] = self._add(at_s, "step", clean(title), step)
            case StepDone(step=step, outcome=outcome, problems=problems):
                self._end(step, at_s, clean(outcome, 60), failed=False)
                self._problems(at_s, problems)
            case StepFailed(step=step, problem=problem):
                self._end(step, at_s, "failed", failed=True)
                self._problems(at_s, (problem,))
            case CellDone(cell=cell):
                self._add(at_s, "valid" if cell.valid else "invalid", verdict_line(cell).partition(" ")[2])
            case Skipped() as skipped:
                self._add(at_s, "note", skipped_line(skipped))
            case Noted(text=text, level=level):
                self._add(at_s, "note" if level == "info" else "warning", clean(text))
            case CancelAsked():
                self._add(at_s, "warning", "cancelled: what was built is taken down")
            case RunFinished(problems=problems) as finished:
                self._problems(at_s, problems)
                self._add(at_s, "end" if finished.exit == 0 else "error", ending_line(view, finished))
            case RecoverStarted():
                self._add(at_s, "note", "recovery began")
            case RecoverFinished(exit=code, problems=problems):
                self._problems(at_s, problems)
                said = "something is still left" if code else "recovered: nothing of the run is left"
                self._add(at_s, "error" if code else "end", said)

    def until(self, at_s: float) -> list[LogLine]:
        """The lines that were there at a second of the run."""
        return self.lines[: bisect_right(self.lines, at_s, key=lambda line: line.at_s)]

    def _add(self, at_s: float, kind: Kind, text: str, step: str = "") -> LogLine:
        line = LogLine(at_s, kind, text, step)
        self.lines.append(line)
        self.version += 1
        if len(self.lines) > MOST_LINES:
            del self.lines[: MOST_LINES // 4]
        return line

    def _end(self, step: str, at_s: float, outcome: str, *, failed: bool) -> None:
        line = self._open.pop(step, None)
        self.version += 1
        if line is not None:
            line.ended_s, line.outcome, line.failed = at_s, outcome, failed

    def _problems(self, at_s: float, problems: tuple[Problem, ...]) -> None:
        for problem in problems:
            for text in sentence(problem).splitlines():
                self._add(at_s, "error", text)
