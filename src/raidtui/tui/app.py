"""The application: five screens over one connection, one draft, one plan and one followed run."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.signal import Signal

from raidtui.base.paths import config_folder
from raidtui.base.text import clean
from raidtui.tui.draft import Draft, History
from raidtui.tui.freshness import Seen, of_disks
from raidtui.tui.link import Link, LinkState
from raidtui.tui.settings import Config, choose, few_colours, read_config, read_themes, shipped_theme

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.theme import Theme

    from raidtui.client.engine_client import EngineClient
    from raidtui.model.protocol import DiskList
    from raidtui.tui.run.desk import RunDesk
    from raidtui.tui.run.feed import RunSaid
    from raidtui.tui.screens.base import ModeScreen


def _screen(mode: str) -> Screen[Any]:
    """A screen by its mode; its module is imported only when it is shown, as the first frame does without the others."""
    kind: Callable[[], ModeScreen] = getattr(import_module(f"raidtui.tui.screens.{mode}"), f"{mode.capitalize()}Screen")
    made = kind()
    made.fit()
    return made


def _commands() -> type[Provider]:
    from raidtui.tui.key_help import Everything

    return Everything


class LinkChanged(Message):
    """The connection to the engine came or went."""

    def __init__(self, state: LinkState) -> None:
        self.state = state
        super().__init__()


class DisksSeen(Message):
    """A disk came, went or changed: all of them, as they are now."""

    def __init__(self, disks: DiskList) -> None:
        self.disks = disks
        super().__init__()


class RaidtuiApp(App[int]):
    """raidtui on a terminal. Its return value is the exit code."""

    TITLE = "raidtui"
    CSS_PATH = "raidtui.tcss"
    MODES: ClassVar[dict[str, Callable[[], Screen[Any]]]] = {  # type: ignore[assignment]
        mode: partial(_screen, mode) for mode in ("disks", "compose", "plan", "run", "results")
    }
    DEFAULT_MODE = "disks"
    COMMANDS = App.COMMANDS | {_commands}
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide"), (160, "-very-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (36, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1,f2", "mode('disks')", "Disks", id="app.disks", tooltip="Every disk of the server", show=False),
        Binding("2,f3", "mode('compose')", "Compose", id="app.compose", tooltip="Roles, layouts, workloads", show=False),
        Binding("3,f4", "mode('plan')", "Plan", id="app.plan", tooltip="What will happen, and consent to it", show=False),
        Binding("4,f5", "mode('run')", "Run", id="app.run", tooltip="The run that is going on", show=False),
        Binding("5,f6", "mode('results')", "Results", id="app.results", tooltip="Runs and results, compared", show=False),
        Binding("f1", "toggle_help", "Help", id="app.help", tooltip="Help for the focus", show=False, priority=True),
        Binding("question_mark", "cheat_sheet", "Keys", id="app.keys", tooltip="Every key", show=False),
        Binding("ctrl+r", "reconnect", "Reconnect", id="app.reconnect", tooltip="Try the connection again now", show=False),
        Binding("q", "leave", "Quit", id="app.quit", tooltip="Leave raidtui; a run goes on", show=False),
    ]

    def __init__(
        self,
        connect: Callable[[], EngineClient],
        *,
        place: str,
        on: str = "",
        first: EngineClient | None = None,
        ask: Callable[[], EngineClient] | None = None,
        folder: Path | None = None,
        begin: Callable[[RaidtuiApp], None] | None = None,
    ) -> None:
        """`connect` opens a connection to the engine at `place`, which `--on {on}` names on the command line.

        `first` is a connection that is open already. `ask` opens one that may ask for a password on a plain terminal.
        `folder` is where settings and themes are read (default: the config folder); `begin` is called when the first
        screen is there.
        """
        # Without colours, Textual decides how to do without them before a theme is chosen.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ and few_colours() else None)
        self.place = place
        self.on_words = ["--on", on] if on else []
        self.link = Link(
            connect,
            on_change=lambda state: self.say(LinkChanged(state)),
            on_disks=lambda found: self.say(DisksSeen(found)),
            first=first,
        )
        self.link_state = LinkState()
        self.link_changed: Signal[LinkState] = Signal(self, "link")
        self.disks: DiskList | None = None
        """None until the engine has answered for the first time."""
        self.disks_seen: Seen | None = None
        """Time at which the engine scanned them."""
        self.disks_changed: Signal[DiskList] = Signal(self, "disks")
        self.looking = False
        """A look at the disks was asked for, and is not there yet."""
        self.now: Callable[[], float] = time.monotonic
        self.history = History()
        self.draft_changed: Signal[Draft] = Signal(self, "draft")
        self.result_files: list[Path] = []
        """Result files that were named, beside those in the results folder."""
        self._folder = folder or config_folder()
        self._config = Config()
        self._notices: list[str] = []
        self._themes_read = False
        self._drawn = False
        """The first frame is there."""
        self._begin = begin
        self._ask = ask

    @cached_property
    def desk(self) -> RunDesk:
        """The run that the screen Run shows."""
        from raidtui.tui.run.desk import RunDesk

        return RunDesk(self)

    def on_load(self) -> None:
        self._config, wrong = read_config(self._folder)
        self._notices = [wrong] if wrong else []
        # Before anything is styled: a theme that is set later has everything styled again.
        if (first := shipped_theme(self._config.theme, self._folder)) is not None:
            self.register_theme(first)
            self.theme = first.name
        else:
            self.theme = choose(self._config.theme, self._read_themes())
        self.stylesheet.set_variables(self.get_css_variables())

    def refresh_css(self, animate: bool = True) -> None:
        """Style everything anew, for another theme. The first one was there before anything was styled."""
        if self._drawn:
            super().refresh_css(animate)

    def on_mount(self) -> None:
        self.set_keymap(self._config.keys)
        self.call_after_refresh(self._drawn_once)

    def _drawn_once(self) -> None:
        """All that the first frame does not wait for."""
        if not self.is_running:
            return  # left before it was drawn
        self._drawn = True
        self.link.start()
        if not self._themes_read:
            self._read_themes()
        for notice in self._notices:
            self.notify(notice, severity="warning", timeout=15, markup=False)
        self.desk.begin()
        # What is there by now stays: looking for garbage among it costs more than drawing does.
        gc.freeze()
        gc.enable()
        if self._begin is not None:
            self._begin(self)

    def _read_themes(self) -> list[Theme]:
        themes, unread = read_themes(self._folder)
        for theme in themes:
            self.register_theme(theme)
        self._notices += [unread] if unread else []
        self._themes_read = True
        return themes

    def on_unmount(self) -> None:
        self.desk.close()
        self.link.close()

    def follow_run(self, run: str) -> None:
        """Show a run while it goes on, on the screen Run."""
        self.desk.follow(run)
        self.call_later(self.switch_mode, "run")

    def open_run(self, run: str) -> None:
        """Show an earlier run of the server, all its records, on the screen Run."""
        self.desk.open(run)
        self.call_later(self.switch_mode, "run")

    def open_result(self, source: Path | bytes) -> None:
        """Show a result on the screen Run, as its file has it; says so where that cannot be read."""
        self.desk.open_result(source)
        self.call_later(self.switch_mode, "run")

    @property
    def draft(self) -> Draft:
        return self.history.draft

    def change_draft(self, draft: Draft, what: str) -> None:
        """Make `draft` the one that is composed; `what` names the change for undo."""
        if self.history.change(draft, what):
            self.draft_changed.publish(draft)

    def undo(self) -> None:
        self._went("undone", self.history.undo())

    def redo(self) -> None:
        self._went("done again", self.history.redo())

    def on_link_changed(self, message: LinkChanged) -> None:
        self.link_state = message.state
        self.link_changed.publish(message.state)

    def on_disks_seen(self, message: DisksSeen) -> None:
        self.disks = message.disks
        self.disks_seen = of_disks(message.disks, self.now(), self.disks_seen)
        self.disks_changed.publish(message.disks)

    def look_at_disks(self) -> None:
        """Have the engine look at every disk now; the answer comes as `disks_changed`."""
        if not self.looking:
            self.looking = True
            self.run_worker(self._look_at_disks(), group="look")

    async def _look_at_disks(self) -> None:
        from raidtui.front.problems import sentence
        from raidtui.model.problem import ProblemError
        from raidtui.model.protocol import DiskList

        try:
            found: DiskList = await self.link.call("disks", None, DiskList)
        except ProblemError as error:
            self.notify(sentence(error.problems[0]), severity="error", timeout=15, markup=False)
        else:
            self.say(DisksSeen(found))
        finally:
            self.looking = False

    def on_run_said(self, message: RunSaid) -> None:
        self.desk.take(message)

    async def action_mode(self, mode: str) -> None:
        await self.switch_mode(mode)

    def action_toggle_help(self) -> None:
        if self.screen.query("HelpPanel"):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()

    def action_cheat_sheet(self) -> None:
        from raidtui.tui.key_help import CheatSheet

        self.push_screen(CheatSheet(self.screen))

    def action_reconnect(self) -> None:
        if self._ask is None or self.link_state.up:
            self.link.retry()
            return
        from raidtui.front.problems import sentence
        from raidtui.model.problem import ProblemError

        try:
            with self.suspend():
                opened = self._ask()
        except ProblemError as error:
            self.notify(sentence(error.problems[0]), severity="error", timeout=15, markup=False)
        else:
            self.link.retry(opened)

    def action_leave(self) -> None:
        """End, once what was composed and not saved has been asked about."""
        from raidtui.tui.compose.files import confirm_unsaved

        confirm_unsaved(self, "Quit", lambda: self.exit(0))

    def say(self, message: Message) -> None:
        """Post from any thread; ignored once the application ends."""
        if self.is_running:
            self.post_message(message)

    def _went(self, verb: str, what: str | None) -> None:
        if what is not None:
            self.notify(f"{verb}: {clean(what)}", timeout=2, markup=False)
            self.draft_changed.publish(self.draft)
