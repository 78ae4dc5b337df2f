"""Telling a run while it goes: as plain lines, or as one JSON event a line. (`live` draws it on a terminal.)"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import Protocol

from raidtui.base.text import clean
from raidtui.cli.screen import json_text
from raidtui.front.phrases import cell_count, ending_line, sample_line, skipped_line, step_line, verdict_line
from raidtui.front.progress import RunView
from raidtui.model.convert import plain
from raidtui.model.event import (
    CancelAsked,
    CellDone,
    Noted,
    Record,
    RecoverStarted,
    RunFinished,
    RunStarted,
    Skipped,
    StepFailed,
    StepProgressed,
    StepStarted,
    WorkloadSampled,
)

LIVE_EVERY_S = 10.0


class Printer(Protocol):
    """Shows a run. `shown` gets each record with the view after it."""

    def shown(self, view: RunView, record: Record) -> None: ...

    def say(self, words: str) -> None:
        """One line of talk."""

    def close(self) -> None: ...


def printer_for(args: Namespace) -> Printer:
    """The printer that fits: JSON where it was asked for, drawn on a terminal, plain lines elsewhere."""
    if args.json:
        return JsonPrinter()
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from raidtui.cli.live import LivePrinter

        return LivePrinter(args)
    return PlainPrinter()


class JsonPrinter:
    """Every record on stdout, one a line; talk on stderr."""

    def shown(self, view: RunView, record: Record) -> None:
        print(json_text(plain(record)), flush=True)

    def say(self, words: str) -> None:
        print(words, file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class PlainPrinter:
    """One line a step, a cell and a note on stderr; live numbers at most every ten seconds of the run."""

    def __init__(self) -> None:
        self._live_at_s = 0.0

    def shown(self, view: RunView, record: Record) -> None:
        if (words := self._words(view, record)) is not None:
            minutes, seconds = divmod(int(record.at_s), 60)
            self.say(f"[{minutes:>3}:{seconds:02d}] {words}")

    def say(self, words: str) -> None:
        print(words, file=sys.stderr, flush=True)

    def close(self) -> None:
        pass

    def _words(self, view: RunView, record: Record) -> str | None:
        event = record.event
        if isinstance(event, (WorkloadSampled, StepProgressed)):
            if record.at_s - self._live_at_s < LIVE_EVERY_S:
                return None
            self._live_at_s = record.at_s
        elif isinstance(event, StepStarted):
            self._live_at_s = record.at_s
        return line_of(view, record)


def line_of(view: RunView, record: Record) -> str | None:
    """What one record says to a person, or None. Pure."""
    match record.event:
        case RunStarted(run=run):
            return f"run {clean(run)}: {clean(view.title)}"
        case StepStarted(action="cooldown"):
            return None
        case StepStarted():
            return step_line(view)
        case StepProgressed(text=words, fraction=part):
            share = "" if part is None else f" ({part * 100:.0f} %)"
            return f"  … {clean(words)}{share}"
        case WorkloadSampled(sample=sample, prefill=prefill, pass_number=number):
            about = "filling: " if prefill else f"pass {number}: " if number else ""
            return f"  … {cell_count(view)}{about}{sample_line(sample)}"
        case StepFailed(problem=problem):
            return f"✗ failed: {clean(problem.message)} [{clean(problem.code)}]"
        case CellDone(cell=cell):
            return verdict_line(cell)
        case Skipped() as skipped:
            return skipped_line(skipped)
        case Noted(text=words, level=level):
            return clean(words) if level == "info" else f"{clean(level)}: {clean(words)}"
        case CancelAsked():
            return "cancelling: everything that was built is taken down"
        case RecoverStarted():
            return "recovering"
        case RunFinished() as finished:
            return ending_line(view, finished)
        case _:
            return None
