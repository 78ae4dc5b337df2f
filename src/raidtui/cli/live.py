"""A run drawn on a terminal: a few lines that change in place, and above them what is finished."""

from __future__ import annotations

import sys
import time
from argparse import Namespace

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from raidtui.base.text import clean
from raidtui.cli.printers import line_of
from raidtui.cli.screen import console
from raidtui.front.phrases import ending_line, sample_line, step_line, verdict_line
from raidtui.front.progress import RunView, fraction, left_s
from raidtui.model.event import CellDone, Noted, Record, RunFinished, Skipped, StepFailed
from raidtui.model.units import duration_text

_REFRESH_PER_S = 4


class LivePrinter:
    """Draws on stderr. Redraws by itself, so that the time goes on while nothing is heard."""

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
    """The changing lines of a run at the moment `at_s` of it. Pure."""
    left = left_s(view, at_s)
    cells = f"{len(view.cells)} of {view.cells_planned - len(view.skipped)} cells"
    bar = Table.grid(padding=(0, 1), expand=True)
    bar.add_column(ratio=1)
    bar.add_column(no_wrap=True)
    share = fraction(view, at_s)
    times = f"{share * 100:3.0f} %  {cells}  {duration_text(at_s)}"
    bar.add_row(ProgressBar(total=1.0, completed=share), times + ("" if left is None else f", {duration_text(left)} left"))
    return Group(_line(view.title, "bold"), _line(step_line(view)), bar, _line(_numbers(view), "cyan"))


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
