"""Show the progress of a run: as plain lines, as JSON lines, or as lines that change in place on a terminal."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from raidtui.base.text import clean
from raidtui.cli.screen import console, json_text
from raidtui.front.phrases import cell_count, ending_line, host_line, sample_line, skipped_line, step_line, verdict_line
from raidtui.front.progress import RunView, fraction, left_s
from raidtui.model.convert import plain
from raidtui.model.event import (
    CancelAsked,
    CellDone,
    HostSampled,
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
from raidtui.model.free import FreeProgress
from raidtui.model.protocol import RecoverProgress
from raidtui.model.units import duration_text

LIVE_EVERY_S = 10.0


class ProgressLines:
    """Prints a line on stderr for every new action, and again every ten seconds while its fraction grows."""

    def __init__(self) -> None:
        self._text = ""
        self._shown_at = 0.0

    def __call__(self, progress: RecoverProgress | FreeProgress) -> None:
        now = time.monotonic()
        run = f"run {clean(progress.run)}: " if isinstance(progress, RecoverProgress) else ""
        text = f"{run}{clean(progress.text)}"
        if text == self._text and (progress.fraction is None or now - self._shown_at < LIVE_EVERY_S):
            return
        self._text, self._shown_at = text, now
        percent = "" if progress.fraction is None else f" ({progress.fraction * 100:.0f} %)"
        print(f"{text}{percent}", file=sys.stderr, flush=True)


class Printer:
    """Shows the progress of a run; this one prints every record as a JSON line on stdout, and messages on stderr."""

    def shown(self, view: RunView, record: Record) -> None:
        """Show a record; `view` is the state of the run after it."""
        print(json_text(plain(record)), flush=True)

    def say(self, words: str) -> None:
        """Print a message."""
        print(words, file=sys.stderr, flush=True)

    def close(self) -> None:
        """End a display that changes in place."""


def printer_for(args: Namespace) -> Printer:
    """Return the printer: JSON lines with --json, live lines on a terminal, else plain lines."""
    if args.json:
        return Printer()
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return LivePrinter(args)
    return PlainPrinter()


class PlainPrinter(Printer):
    """Prints a line per step, cell and note on stderr, and live numbers at most every ten seconds of the run, a line for
    each host."""

    def __init__(self) -> None:
        self._live_at_s = 0.0
        self._host_at_s: dict[str, float] = {}

    def shown(self, view: RunView, record: Record) -> None:
        if (words := self._words(view, record)) is not None:
            minutes, seconds = divmod(int(record.at_s), 60)
            self.say(f"[{minutes:>3}:{seconds:02d}] {words}")

    def _words(self, view: RunView, record: Record) -> str | None:
        event = record.event
        if isinstance(event, (WorkloadSampled, StepProgressed)):
            if record.at_s - self._live_at_s < LIVE_EVERY_S:
                return None
            self._live_at_s = record.at_s
        elif isinstance(event, HostSampled):
            if record.at_s - self._host_at_s.get(event.host, self._live_at_s) < LIVE_EVERY_S:
                return None
            self._host_at_s[event.host] = record.at_s
        elif isinstance(event, StepStarted):
            self._live_at_s = record.at_s
            self._host_at_s.clear()
        return line_of(view, record)


def line_of(view: RunView, record: Record) -> str | None:
    """Return the line that tells a record, or None for records that are not shown. Pure."""
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
        case HostSampled(host=host, load=load):
            return f"  … {cell_count(view)}{host_line(host, load)}"
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


_REFRESH_PER_S = 4


class LivePrinter(Printer):
    """Draws on stderr and redraws four times a second, so that the time advances between records."""

    def __init__(self, args: Namespace) -> None:
        self._view = RunView()
        self._seen = time.monotonic()
        self._live = Live(
            console=console(args, file=sys.stderr),
            get_renderable=self._drawn,
            refresh_per_second=_REFRESH_PER_S,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def shown(self, view: RunView, record: Record) -> None:
        self._view, self._seen = view, time.monotonic()
        match record.event:
            case CellDone(cell=cell):
                self._keep(Text(verdict_line(cell), style="" if cell.valid else "bold red"))
            case StepFailed() | Noted() | Skipped():
                self._keep(Text(line_of(view, record) or ""))
            case RunFinished() as finished:
                self._keep(Text(ending_line(view, finished), style="bold"))

    def say(self, words: str) -> None:
        self._keep(Text(words))

    def close(self) -> None:
        self._live.stop()

    def _keep(self, line: Text) -> None:
        self._live.console.print(line)

    def _drawn(self) -> Group:
        quiet_s = 0.0 if self._view.finished else time.monotonic() - self._seen
        return drawn(self._view, self._view.at_s + quiet_s)


def drawn(view: RunView, at_s: float) -> Group:
    """Return the changing lines of a run, `at_s` seconds after its start. Pure."""
    left = left_s(view, at_s)
    cells = f"{len(view.cells)} of {view.cells_planned - len(view.skipped)} cells"
    bar = Table.grid(padding=(0, 1), expand=True)
    bar.add_column(ratio=1)
    bar.add_column(no_wrap=True)
    share = fraction(view, at_s)
    times = f"{share * 100:3.0f} %  {cells}  {duration_text(at_s)}"
    bar.add_row(ProgressBar(total=1.0, completed=share), times + ("" if left is None else f", {duration_text(left)} left"))
    hosts = (_line(host_line(host, load), "cyan") for host, load in sorted(view.hosts.items()))
    return Group(_line(view.title, "bold"), _line(step_line(view)), bar, _line(_numbers(view), "cyan"), *hosts)


def _numbers(view: RunView) -> str:
    if view.cancel_asked:
        return "cancelling: everything that was built is taken down"
    if view.sample is not None:
        about = "filling: " if view.prefill else f"{clean(view.step_text)} · " if view.step_text else ""
        return f"{about}{sample_line(view.sample)}"
    share = "" if view.step_fraction is None else f" ({view.step_fraction * 100:.0f} %)"
    return f"{clean(view.step_text)}{share}" if view.step_text else ""


def _line(words: str, style: str = "") -> Text:
    return Text(clean(words), style=style, no_wrap=True, overflow="ellipsis")
