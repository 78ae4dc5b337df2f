"""Show the progress of runs on many servers: a line per server on a terminal, plain lines, or JSON lines."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Sequence

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from raidtui.base.text import clean, plural
from raidtui.cli.fleet.output import print_of
from raidtui.cli.printers import LIVE_EVERY_S, line_of
from raidtui.cli.screen import console
from raidtui.front.fleet.runs import ServerRun
from raidtui.front.phrases import sample_line, step_line
from raidtui.front.progress import fraction, left_s
from raidtui.model.convert import plain
from raidtui.model.event import CellDone, Noted, Record, RunFinished, RunStarted, Skipped, StepFailed
from raidtui.model.units import duration_text


class FleetPrinter:
    """Shows the progress of all runs; this one prints every record as a JSON line with the server's name."""

    def shown(self, one: ServerRun, record: Record) -> None:
        """Show a record of a server, after it changed the state of its run."""
        print_of(one.server, plain(record))

    def say(self, words: str) -> None:
        """Print a message."""
        print(words, file=sys.stderr, flush=True)

    def look(self) -> None:
        """Do what is to be done from time to time."""

    def close(self) -> None:
        """End a display that changes in place."""


def printer_for(args: Namespace, runs: Sequence[ServerRun]) -> FleetPrinter:
    """Return the printer: JSON lines with --json, a line per server on a terminal, else plain lines."""
    if args.json:
        return FleetPrinter()
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return LivePrinter(args, runs)
    return PlainPrinter(runs)


def _lasting_line(one: ServerRun, record: Record) -> str | None:
    """Return the line that stays: of the beginning, of cells, failures, notes and the end."""
    if not isinstance(record.event, (RunStarted, CellDone, StepFailed, Noted, Skipped, RunFinished)):
        return None
    line = line_of(one.view, record)
    return None if line is None else f"{clean(one.server, 80)}: {line}"


class PlainPrinter(FleetPrinter):
    """Prints what lasts on stderr, a line each, and how far all servers are, every ten seconds."""

    def __init__(self, runs: Sequence[ServerRun]) -> None:
        self._runs = runs
        self._at_s = time.monotonic()

    def shown(self, one: ServerRun, record: Record) -> None:
        if (line := _lasting_line(one, record)) is not None:
            self.say(line)

    def look(self) -> None:
        now = time.monotonic()
        if now - self._at_s >= LIVE_EVERY_S and any(not one.ended for one in self._runs):
            self._at_s = now
            self.say(together_line(self._runs))


def together_line(runs: Sequence[ServerRun]) -> str:
    """`3 of 100 servers ended; the others are at 12 % to 34 %`."""
    going = [one for one in runs if not one.ended]
    ended = f"{len(runs) - len(going)} of {plural(len(runs), 'server')} ended"
    if not going:
        return ended
    parts = [fraction(one.view, one.view.at_s) * 100 for one in going]
    low, high = f"{min(parts):.0f} %", f"{max(parts):.0f} %"
    lost = sum(one.lost for one in going)
    return f"{ended}; the others are at {low if low == high else f'{low} to {high}'}" + (
        f"; {plural(lost, 'connection')} lost, tried again" if lost else "")  # fmt: skip


_REFRESH_PER_S = 2
_ROOM = 3
"""Rows of the terminal that are left free: the line about all servers, and the cursor's."""
_BAR = 16


class LivePrinter(FleetPrinter):
    """Draws a line per running server on stderr, as many as fit, twice a second; what lasts is printed above."""

    def __init__(self, args: Namespace, runs: Sequence[ServerRun]) -> None:
        self._runs = runs
        self._console = console(args, file=sys.stderr)
        self._live = Live(
            console=self._console, get_renderable=self._drawn, refresh_per_second=_REFRESH_PER_S, transient=True,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._live.start()

    def shown(self, one: ServerRun, record: Record) -> None:
        event = record.event
        bad = isinstance(event, StepFailed) or (isinstance(event, CellDone) and not event.cell.valid)
        warned = isinstance(event, Noted) and event.level != "info"
        if bad or warned or isinstance(event, RunFinished):
            self._console.print(Text(_lasting_line(one, record) or "", style="bold red" if bad else ""))

    def say(self, words: str) -> None:
        self._console.print(Text(words))

    def close(self) -> None:
        self._live.stop()

    def _drawn(self) -> Group:
        return drawn(self._runs, max(1, self._console.height - _ROOM))


def drawn(runs: Sequence[ServerRun], rows: int) -> Group:
    """Return a line for each server that has not ended, at most `rows` of them, and one about all of them. Pure."""
    going = [one for one in runs if not one.ended]
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=24)
    grid.add_column(width=_BAR)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_column(no_wrap=True, ratio=1, overflow="ellipsis")
    for one in going[:rows]:
        view, share = one.view, fraction(one.view, one.view.at_s)
        left = left_s(view, view.at_s)
        cells = f"{share * 100:3.0f} %  {len(view.cells)}/{view.cells_planned - len(view.skipped)}"
        words = "connection lost; it is tried again" if one.lost else (
            f"{sample_line(view.sample)}" if view.sample is not None else clean(step_line(view)))  # fmt: skip
        times = "" if left is None else f"  {duration_text(left)} left"
        bar = ProgressBar(total=1.0, completed=share, width=_BAR)
        grid.add_row(Text(clean(one.server, 80)), bar, Text(f"{cells}{times}"), Text(words, style="cyan"))
    more = f"… and {len(going) - rows} more. " if len(going) > rows else ""
    return Group(grid, Text(f"{more}{together_line(runs)}", style="bold", no_wrap=True, overflow="ellipsis"))
