"""Desk of the application: the shown run, the source of its records, and the requests about it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from textual.app import App
from textual.signal import Signal

from raidtui.base.text import clean, plural
from raidtui.front.files import save
from raidtui.front.phrases import ending_line
from raidtui.front.progress import fraction, left_s
from raidtui.model.event import RunFinished
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.model.protocol import Recovered, RunInfo, RunList
from raidtui.model.refusals import OUTPUT, UNREADABLE
from raidtui.model.units import duration_text
from raidtui.results.load import read_result
from raidtui.tui.link import Link, LinkState, complain
from raidtui.tui.run.feed import FeedState, RunFeed, RunSaid, records_of
from raidtui.tui.run.shown_run import Story

Source = Literal["nothing", "followed", "opened", "file"]
"""Source of the run on the screen: followed while it runs, opened after its end, a result file."""


class RunDesk:
    """Feeds one run's records into its story. `changed` says that something is new; `shown` that another run is shown."""

    def __init__(self, app: App[int], link: Link, say: Callable[[RunSaid], None]) -> None:
        """`say` posts a message to the application from any thread."""
        self._app, self._link, self._say = app, link, say
        self.story = Story()
        self.source: Source = "nothing"
        self.feed_state = FeedState()
        self.saved = ""
        """Path of the saved result."""
        self.changed: Signal[RunDesk] = Signal(app, "run")
        self.shown: Signal[RunDesk] = Signal(app, "another-run")
        self._feed: RunFeed | None = None
        self._file: bytes | None = None
        self._heard_at = 0.0
        self._looked = False
        self._to_cancel = ""
        """Run whose end was requested while the connection was lost."""

    @property
    def run(self) -> str:
        return self.story.view.run

    @property
    def running(self) -> bool:
        """Return True if the run on the screen is still running, as far as known."""
        view = self.story.view
        return (
            self.source in ("followed", "opened")
            and self.feed_state.word != "ended"
            and view.plan is not None
            and view.finished is None
            and view.recovered is None
        )

    @property
    def interrupted(self) -> bool:
        """Return True if the run left something that `recover` can undo."""
        problem, finished = self.feed_state.problem, self.story.view.finished
        if self.source == "file" or self.story.view.recovered is not None:
            return self.source != "file" and bool(self.story.view.recovered and self.story.view.recovered.exit)
        left = finished is not None and finished.exit == Exit.LEFT_BEHIND
        return left or (problem is not None and problem.code == "run-interrupted")

    @property
    def elapsed_s(self) -> float:
        """Return the duration of the run so far, also between its records."""
        waited_s = time.monotonic() - self._heard_at if self.running and self._heard_at else 0.0
        return self.story.end_s + waited_s

    @property
    def badge(self) -> str:
        """Progress of the run in a few words, which change seldom; empty if none goes on."""
        if not self.running:
            return ""
        view, at_s = self.story.view, self.elapsed_s
        left = left_s(view, at_s)
        minutes = max(1, round(left / 60)) if left is not None else 0
        words = f", {duration_text(60 * minutes) if minutes >= 60 else f'{minutes} min'} left" if minutes else ""
        return f"run {fraction(view, at_s) * 100:.0f} %{', cancelling' if view.cancel_asked else words}"

    def close(self) -> None:
        """Stop following. The run goes on."""
        if self._feed is not None:
            self._feed.close()
            self._feed = None

    def follow(self, run: str) -> None:
        """Show a run that goes on, from its beginning, and save its result when it has ended."""
        self._attach(run, "followed")

    def open(self, run: str) -> None:
        """Show an earlier run with all its records."""
        self._attach(run, "opened")

    def open_result(self, source: Path | bytes) -> None:
        """Show a result as its file has it."""
        self._app.run_worker(self._open_result(source), group="run-open", exclusive=True)

    async def _open_result(self, source: Path | bytes) -> None:
        try:
            data = source if isinstance(source, bytes) else await asyncio.to_thread(source.read_bytes)
            records = await asyncio.to_thread(lambda: records_of(read_result(data)))
        except ProblemError as error:
            complain(self._app, error)
        except OSError as error:
            where = str(error.filename or "")
            complain(self._app, fail(UNREADABLE, f"it could not be read: {error.strerror}", place=where))
        else:
            self._begin_story("", "file")
            self._file = data
            self.story.take(records)
            self.feed_state = FeedState("ended")
            self.changed.publish(self)

    def _attach(self, run: str, source: Source) -> None:
        if run == self.run and self._feed is not None and self.feed_state.word != "ended":
            return
        self._begin_story(run, source)
        self._start_feed(run)

    def _begin_story(self, run: str, source: Source) -> None:
        self.close()
        self._looked = True
        self.story, self.source, self.feed_state = Story(run), source, FeedState()
        self.saved, self._file, self._heard_at = "", None, 0.0
        self.shown.publish(self)

    def _start_feed(self, run: str) -> None:
        self.feed_state = FeedState()
        self._feed = RunFeed(self._link.connect, run, self._say)
        self._feed.start()

    def take(self, message: RunSaid) -> None:
        """Handle a message of the feed. Late messages of another run are ignored."""
        if message.feed is not self._feed:
            return
        was_ended = self.story.view.finished is not None or self.feed_state.word == "ended"
        self.story.take(message.records)
        self.feed_state = message.state
        self._heard_at = time.monotonic()
        finished = self.story.view.finished
        if self.source == "followed" and not was_ended:
            if finished is not None:
                self._app.run_worker(self.save(), group="run-save")
            if finished is not None or self.feed_state.word == "ended":
                self._tell_end(finished)
        self.changed.publish(self)

    def _tell_end(self, finished: RunFinished | None) -> None:
        """Ring the bell, and say how the run ended on the screens that do not show it."""
        self._app.bell()
        if self._app.current_mode == "run":
            return
        problem = self.feed_state.problem
        words = ending_line(self.story.view, finished) if finished else clean(problem.message) if problem else ""
        good = finished is not None and finished.exit == 0
        self._app.notify(f"{words} · 4 shows it", severity="information" if good else "warning", timeout=20, markup=False)

    def link_changed(self, state: LinkState) -> None:
        """Send a cancel that waits for the connection, and look once for a run that goes on."""
        if state.up and self._to_cancel:
            wanted, self._to_cancel = self._to_cancel, ""
            if wanted == self.run and self.running:
                self._app.run_worker(self.cancel(), group="run-cancel", exclusive=True)
        if state.up and not self._looked:
            self._looked = True
            self._app.run_worker(self._look(), group="run-look", exclusive=True)

    async def _look(self) -> None:
        try:
            found = await self.runs()
        except ProblemError:
            self._looked = False  # lost again: the next connection looks
            return
        running = [info.run for info in found if info.state == "running"]
        if self.source != "nothing" or not running:
            return
        if len(running) == 1:
            self.follow(running[0])
            said = f"run {clean(running[0])} is going on: 4 shows it"
        else:
            said = f"{plural(len(running), 'run')} are going on: 4, then l lists them"
        self._app.notify(said, timeout=8, markup=False)

    async def runs(self) -> tuple[RunInfo, ...]:
        """The server's runs, oldest first. Raises ProblemError."""
        found: RunList = await self._link.call("runs", None, RunList)
        return found.runs

    async def cancel(self) -> None:
        """Ask for the end of the run; what it built is taken down."""
        run = self.run
        try:
            await self._link.call("cancel", {"run": run}, RunInfo)
        except ProblemError as error:
            if error.problems[0].code == "engine-lost":
                self._to_cancel = run
                self._app.notify("the run is cancelled as soon as the connection is back", severity="warning", timeout=15)
            else:
                complain(self._app, error)

    async def recover(self) -> None:
        """Undo what the run left behind, then read its journal again."""
        run = self.run
        with self._complaining():
            found: Recovered = await self._link.call("recover", {"run": run}, Recovered)
            if problems := [problem for entry in found.runs for problem in entry.problems]:
                raise ProblemError(*problems)
            self._app.notify(f"run {clean(run)}: recovered", markup=False)
        if run == self.run and self.source != "file":
            self.close()
            self._start_feed(run)

    async def save(self) -> None:
        """Save the run's result where the command line saves it, and show the path."""
        with self._complaining():
            view = self.story.view
            raw = self._file or await self._link.result(self.run)
            scenario = str(view.plan.scenario.get("name", "")) if view.plan else ""
            path = await asyncio.to_thread(save, raw, scenario, view.run, None)
            self.saved = str(path)
            self._app.notify(f"the result was saved: {clean(path, 4096)}", timeout=10, markup=False)
            self.changed.publish(self)

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        try:
            yield
        except ProblemError as error:
            complain(self._app, error)
        except OSError as error:
            complain(self._app, fail(OUTPUT, f"the file could not be written: {error.strerror}"))
