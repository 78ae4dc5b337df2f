"""The screen `Run`: how far it is, what it does, and every figure of it, live or at any moment of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from raidtui.base.text import clean
from raidtui.model.problem import ProblemError
from raidtui.model.protocol import RunInfo
from raidtui.tui.link import complain
from raidtui.tui.run.desk import RunDesk
from raidtui.tui.run.device_table import DevicePane
from raidtui.tui.run.dialogs import ChooseColumns, ChooseRun, Confirm
from raidtui.tui.run.hosts_pane import HostsPane, hosts_of
from raidtui.tui.run.keys import BINDINGS, HELP
from raidtui.tui.run.latency_pane import LatencyPane, latency_lines
from raidtui.tui.run.lines import Lines, LogText, machine_lines
from raidtui.tui.run.panes import PaneBar, RunCharts, matrix_lines, no_run, squares, top_lines
from raidtui.tui.run.shown_run import Moment
from raidtui.tui.screens.base import ModeScreen
from raidtui.tui.widgets.chart import Chart

_PANES = {"charts": "Charts", "devices": "Devices", "spread": "Latency", "hosts": "Hosts", "cells": "Cells",
          "steps": "Steps", "machine": "Machine"}  # fmt: skip
_HIGH = 45
"""Lines of the terminal from which on the distribution of latency is shown unless it is hidden."""
_WIDE = 110
_GATHER_S = 0.1
"""Between two drawings there is at least so much time."""
_SILENCE_S = 1.5
"""After so long without a drawing the clock goes on by itself, and samples wait no longer for a frame."""


class RunScreen(ModeScreen):
    """One run, at its newest moment or at the playhead."""

    MODE = "run"
    HELP = HELP

    CSS = """
    RunScreen #top { height: 3; padding: 0 1; background: $background; }
    RunScreen #none { display: none; height: 1fr; content-align: center middle; text-align: center; color: $text-muted; }
    RunScreen.-none #none { display: block; }
    RunScreen #panes { height: 1fr; }
    RunScreen #panes, RunScreen #below, RunScreen #left, RunScreen #right { visibility: hidden; }
    RunScreen #panes .pane { visibility: visible; background: $surface; }
    RunScreen #charts { height: 30%; min-height: 7; max-height: 18; }
    RunScreen #left { width: 2fr; }
    RunScreen #right { width: 1fr; }
    RunScreen.-very-wide #left { width: 70%; }
    RunScreen.-very-wide #right { width: 30%; }
    RunScreen #devices { height: 2fr; }
    RunScreen #steps { height: 1fr; }
    RunScreen #cells { height: 2fr; }
    RunScreen #spread { height: 5fr; }
    RunScreen #hosts { height: 5fr; }
    RunScreen #machine { height: 3fr; }
    RunScreen PaneBar { display: none; }
    RunScreen.-one PaneBar { display: block; }
    RunScreen.-one #panes .pane { height: 1fr; max-height: 100%; border: none; padding: 0 1; }
    RunScreen.-narrow RunCharts { layout: vertical; }
    RunScreen.-narrow RunCharts > Chart { margin: 0; }
    RunScreen.-none #top, RunScreen.-none #panes, RunScreen.-none PaneBar { display: none; }
    RunScreen.-one #left, RunScreen.-one #right { width: 1fr; }
    """

    BINDINGS: ClassVar[list[BindingType]] = BINDINGS

    def __init__(self) -> None:
        super().__init__()
        self.playhead_s: float | None = None
        """None: the newest is shown."""
        self._held_until_s = 0.0
        """The newest second when the playhead was set: the charts stay at it."""
        self._pane = "charts"
        self._alone = False
        self._spread: bool | None = None
        """True if the distribution of latency is shown beside the others; None: if there is room."""
        self._waiting: Timer | None = None
        self._drawn_at = 0.0
        self._drawn_to: object = None
        """Records that were last drawn, without samples: see `_newest_but_samples`."""
        self._drawn: dict[str, object] = {}
        """Drawn data, by pane."""
        self._could: tuple[object, ...] = ()
        self._panes: list[str] = []
        """Panes that the run has, in order."""

    def body(self) -> ComposeResult:
        top = Lines(id="top")
        top.can_focus = False
        yield top
        yield Static(no_run(), id="none")
        yield PaneBar(_PANES)
        with Vertical(id="panes"):
            yield RunCharts(id="charts", classes="pane")
            with Horizontal(id="below"):
                with Vertical(id="left"):
                    yield DevicePane(id="devices", classes="pane")
                    yield Lines(id="steps", classes="pane", tail=True)
                with Vertical(id="right"):
                    yield Lines(id="cells", classes="pane")
                    yield LatencyPane(id="spread", classes="pane")
                    yield HostsPane(id="hosts", classes="pane")
                    yield Lines(id="machine", classes="pane")

    def on_mount(self) -> None:
        for pane, words in _PANES.items():
            self.query_one(f"#{pane}").border_title = words
        self.desk.changed.subscribe(self, self._heard)
        self.desk.shown.subscribe(self, self._another)
        self.set_interval(1.0, self._tick)
        self._another(self.desk)

    def on_screen_resume(self) -> None:
        """Draw the records that arrived meanwhile."""
        self._arrange()
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Show one pane at a time on a small terminal."""
        self._arrange()
        self.call_after_refresh(self._draw)

    @property
    def desk(self) -> RunDesk:
        return self.raidtui.desk

    def moment(self) -> Moment:
        """Return the content of the panes."""
        return self.desk.story.now() if self.playhead_s is None else self.desk.story.at(self.playhead_s)

    def _heard(self, desk: RunDesk) -> None:
        """Draw what is new. Samples wait for the next frame, so that there is one drawing a second, not two."""
        since_s = time.monotonic() - self._drawn_at
        wanted = self._newest_but_samples() != self._drawn_to or since_s > _SILENCE_S
        if wanted and self._waiting is None and self._in_view:
            self._waiting = self.set_timer(_GATHER_S - since_s, self._draw) if since_s < _GATHER_S else None
            if self._waiting is None:
                self._draw()

    def _newest_but_samples(self) -> object:
        story = self.desk.story
        return self.desk.feed_state, self.desk.saved, story, story.view.seq - story.samples.count - story.hosts.count

    def _another(self, desk: RunDesk) -> None:
        self.playhead_s = None
        self._drawn.clear()
        self.set_class(desk.source == "nothing", "-none")
        self.query_one(RunCharts).look_at(60.0 if desk.source in ("followed", "nothing") else None)
        self._draw()

    @property
    def _in_view(self) -> bool:
        return self.app.current_mode == self.MODE

    def _tick(self) -> None:
        """Let the clock go on between records, too."""
        if self._in_view and self.desk.running and time.monotonic() - self._drawn_at > _SILENCE_S:
            self._draw()

    def _draw(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
        if not self._in_view or not self.is_mounted:
            return
        if ("hosts" in self._panes) != bool(hosts_of(self.desk.story)):
            self._arrange()
        desk, moment = self.desk, self.moment()
        self._drawn_at, self._drawn_to = time.monotonic(), self._newest_but_samples()
        self.query_one("#top", Lines).show(lambda width: top_lines(desk, moment, width))
        view, past = moment.view, moment.at_s if moment.past else None
        until_s = desk.story.end_s if self.playhead_s is None else self._held_until_s
        sampled, ended = desk.story.samples.count + desk.story.disks.count, not desk.running
        if self._news("charts", (sampled, until_s if sampled else None, ended)):
            self.query_one(RunCharts).take(desk.story, until_s, ended=ended)
        if self._news("spread", (desk.story.latency.count, moment.cell, past)):
            self.query_one(LatencyPane).show(lambda width: latency_lines(desk.story.latency, moment, width))
        if self._news("devices", (moment.frames.at_s, moment.cell, view.cell, past)):
            self.query_one(DevicePane).take(desk.story.frames, moment, one=self._one)
        if self._news("hosts", (moment.frames.at_s, desk.story.hosts.count, past)):
            self.query_one(HostsPane).take(desk.story, moment)
        if self._news("machine", (moment.frames.at_s, moment.cell, past)):
            self.query_one("#machine", Lines).show(lambda width: machine_lines(moment, width))
        if self._news("cells", (view.plan, view.cells, view.cell, view.skipped)):
            found = squares(view)
            self.query_one("#cells", Lines).show(lambda width: matrix_lines(found, width))
        if self._news("steps", (desk.story.log.version, past)):
            lines = desk.story.log_at(moment)
            self.query_one("#steps", Lines).show(lambda width: LogText(lines, moment.at_s, width))
        self._offer()

    def _news(self, pane: str, state: object) -> bool:
        """Return True if a visible pane has to be redrawn because its data changed."""
        if (self._one and pane != self._pane) or self._drawn.get(pane) == state:
            return False
        self._drawn[pane] = state
        return True

    def _offer(self) -> None:
        """Offer the keys that can be used now; the footer is drawn anew only if they change."""
        view, desk = self.desk.story.view, self.desk
        could = (desk.source, desk.running, desk.interrupted, view.cancel_asked, bool(view.cells), view.plan is None,
                 bool(desk.saved), view.finished is None)  # fmt: skip
        if could != self._could:
            self._could = could
            self.refresh_bindings()

    @property
    def _one(self) -> bool:
        return self._alone or self.size.width < _WIDE

    def _arrange(self) -> None:
        """Show all panes that the run has, or the one alone."""
        wanted = {"hosts": bool(hosts_of(self.desk.story)), "spread": self._one or self._spread_shown}
        self._panes = [pane for pane in _PANES if wanted.get(pane, True)]
        self._pane = self._pane if self._pane in self._panes else "charts"
        one, here = self._one, self._pane
        self.set_class(one, "-one")
        for pane in _PANES:
            self.query_one(f"#{pane}").display = pane in self._panes and (not one or pane == here)
        self.query_one(PaneBar).offer(self._panes)
        self.query_one("#below").display = not one or here != "charts"
        self.query_one("#left").display = not one or here in ("devices", "steps")
        self.query_one("#right").display = not one or here in ("cells", "spread", "hosts", "machine")
        if one:
            self.query_one(PaneBar).mark(here, "z: all panes" if self.size.width >= _WIDE else "tab: next pane")

    def show_pane(self, pane: str) -> None:
        """Bring a pane into view and give it the focus."""
        self._pane = pane
        self._arrange()
        self._focus_of(pane).focus(scroll_visible=False)
        self.call_after_refresh(self._draw)

    def _focus_of(self, pane: str) -> Widget:
        if pane == "charts":
            return self.query_one(RunCharts).leading
        return self.query_one(DevicePane).table if pane == "devices" else self.query_one(f"#{pane}")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Remember the pane that has the focus, for `z`."""
        pane = next((node.id for node in event.widget.ancestors_with_self if node.id in _PANES), None)
        if pane is not None and pane != self._pane:
            self._pane = pane
            self._arrange()

    @on(PaneBar.Chosen)
    def _tab_clicked(self, event: PaneBar.Chosen) -> None:
        self.show_pane(event.pane)

    def action_pane(self, by: int) -> None:
        panes = self._panes
        inside = self.focused is not None and any(node.id in _PANES for node in self.focused.ancestors_with_self)
        step = by if inside else 0
        self.show_pane(panes[(panes.index(self._pane) + step) % len(panes)])

    def action_alone(self) -> None:
        self._alone = not self._alone
        self.show_pane(self._pane)

    @on(Chart.Moved)
    def _moved(self, event: Chart.Moved) -> None:
        self._go_to(event.at_s)

    def _go_to(self, at_s: float | None) -> None:
        if at_s is not None and self.playhead_s is None:
            self._held_until_s = self.desk.story.end_s
        self.playhead_s = at_s
        for chart in self.query(Chart):
            if chart.cursor_s != at_s:
                chart.cursor_s = at_s
        self._draw()

    def action_hold(self) -> None:
        self._go_to(self.desk.story.end_s if self.playhead_s is None else None)

    def action_step(self, steps: int) -> None:
        self.query_one(RunCharts).leading.action_step(steps)

    def action_to_begin(self) -> None:
        self._go_to(0.0)

    def action_newest(self) -> None:
        self._go_to(None)

    def action_cell(self, by: int) -> None:
        edges = self.desk.story.cell_edges()
        at_s = self.desk.story.end_s if self.playhead_s is None else self.playhead_s
        wanted = [edge for edge in edges if (edge > at_s if by > 0 else edge < at_s)]
        if wanted:
            self._go_to(wanted[0] if by > 0 else wanted[-1])

    def action_host(self, by: int) -> None:
        """Mark another host; the first press on a small terminal shows the pane."""
        pane = self.query_one(HostsPane)
        if pane.display:
            pane.mark(by)
        else:
            self.show_pane("hosts")

    @property
    def _spread_shown(self) -> bool:
        return self.size.height >= _HIGH if self._spread is None else self._spread

    def action_spread(self) -> None:
        """Show or hide the distribution of latency: one pane among the others, or alone on a small terminal."""
        if self._one:
            self.show_pane("charts" if self._pane == "spread" else "spread")
            return
        self._spread = not self._spread_shown
        self._arrange()
        self.call_after_refresh(self._draw)

    def action_zoom(self, way: int) -> None:
        self.query_one(RunCharts).leading.action_zoom(way)

    def action_columns(self) -> None:
        def chosen(columns: tuple[str, ...] | None) -> None:
            if columns is not None:
                self.query_one(DevicePane).choose(columns)

        self.app.push_screen(ChooseColumns(self.query_one(DevicePane).columns), chosen)

    def action_sort(self) -> None:
        self._to_devices().sort_next()

    def action_turn_round(self) -> None:
        self._to_devices().turn_round()

    def action_filter(self) -> None:
        self._to_devices().ask_filter()

    def action_every_device(self) -> None:
        self._to_devices().every_device()

    def _to_devices(self) -> DevicePane:
        """Bring the device pane into view and return it."""
        if self._one and self._pane != "devices":
            self.show_pane("devices")
            self._draw()
        return self.query_one(DevicePane)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey out actions that are impossible now; recovery is shown only if there is something to recover."""
        desk = self.desk
        if action == "recover":
            return desk.interrupted
        if action == "result":
            return bool(desk.saved) and desk.story.view.finished is not None
        if action == "host":
            return bool(hosts_of(desk.story))
        if action == "cancel":
            return True if desk.running and not desk.story.view.cancel_asked else None
        if action == "save":
            return True if desk.story.view.cells else None
        if action in ("hold", "pane", "alone", "spread", "columns", "sort", "turn_round", "filter", "every_device"):
            return True if desk.source != "nothing" else None
        return True

    def action_cancel(self) -> None:
        asked = (
            f"Run {clean(self.desk.run)} ends now. What it built is taken down and its disks are made blank, which takes a "
            "moment; cells that were measured stay in the result."
        )
        self._confirm(Confirm("Cancel the run?", asked, yes="Cancel the run", no="Let it go on"), self.desk.cancel)

    def action_recover(self) -> None:
        asked = f"What run {clean(self.desk.run)} created and did not take down is undone, and nothing else."
        self._confirm(Confirm("Recover the run?", asked, yes="Recover", no="Not now"), self.desk.recover)

    def _confirm(self, question: Confirm, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                self.run_worker(act(), group="run-act")

        self.app.push_screen(question, answered)

    def action_save(self) -> None:
        self.run_worker(self.desk.save(), group="run-save")

    def action_result(self) -> None:
        self.raidtui.show_result(Path(self.desk.saved))

    def action_runs(self) -> None:
        self.run_worker(self._list_runs(), group="run-list", exclusive=True)

    async def _list_runs(self) -> None:
        try:
            runs = await self.desk.runs()
        except ProblemError as error:
            complain(self.app, error)
            return

        def chosen(info: RunInfo | None) -> None:
            if info is not None:
                (self.desk.follow if info.state == "running" else self.desk.open)(info.run)

        self.app.push_screen(ChooseRun(runs), chosen)
