"""The application: five screens over the state that they share."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from raidtui.base.paths import config_folder
from raidtui.base.text import clean
from raidtui.tui.settings import Config, choose, few_colours, read_config, read_themes, shipped_theme
from raidtui.tui.shared import SCREENS, SharedApp

if TYPE_CHECKING:
    from textual.command import Provider
    from textual.theme import Theme

    from raidtui.client.engine_client import EngineClient
    from raidtui.tui.screens.base import ModeScreen


_IMPORTS_AFTER_S = 1.0
"""Delay between the first frame and the import of the screens that nobody visited yet, in seconds."""


def _module(mode: str) -> ModuleType:
    return import_module(f"raidtui.tui.screens.{mode}")


def _import_screens() -> None:
    """Import all screens, so that the first visit of one needs only to draw it."""
    for mode in SCREENS:
        _module(mode)


def _screen(mode: str) -> Screen[Any]:
    """A screen by its mode; the first frame does without the modules of the others."""
    kind: Callable[[], ModeScreen] = getattr(_module(mode), f"{mode.capitalize()}Screen")
    made = kind()
    made.fit()
    return made


def _commands() -> type[Provider]:
    from raidtui.tui.palette import Everything

    return Everything


class RaidtuiApp(SharedApp):
    """raidtui on a terminal. Its return value is the exit code."""

    TITLE = "raidtui"
    CSS_PATH = "raidtui.tcss"
    MODES: ClassVar[dict[str, Callable[[], Screen[Any]]]] = {  # type: ignore[assignment]
        mode: partial(_screen, mode) for mode in SCREENS
    }
    DEFAULT_MODE = "disks"
    COMMANDS = App.COMMANDS | {_commands}
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(f"{number},f{number + 1}", f"switch_mode('{mode}')", mode.capitalize(), id=f"app.{mode}", tooltip=does,
                    show=False)
            for number, (mode, does) in enumerate(SCREENS.items(), 1)
        ),
        Binding("f1", "toggle_help", "Help", id="app.help", tooltip="Help for the focus", show=False, priority=True),
        Binding("question_mark", "cheat_sheet", "Keys", id="app.keys", tooltip="Every key", show=False),
        Binding("ctrl+r", "reconnect", "Reconnect", id="app.reconnect", tooltip="Try the connection again now", show=False),
        Binding("q", "leave", "Quit", id="app.quit", tooltip="Leave raidtui; a run goes on", show=False),
        Binding("ctrl+l", "redraw", "Draw again", id="app.redraw", show=False,
                tooltip="Draw the screen again, where another program wrote over it"),
    ]  # fmt: skip

    def __init__(
        self, connect: Callable[[], EngineClient], *, place: str, on: str = "", first: EngineClient | None = None,
        ask: Callable[[], EngineClient] | None = None, folder: Path | None = None,
        begin: Callable[[RaidtuiApp], None] | None = None
    ) -> None:  # fmt: skip
        """`folder` is where settings and themes are read (default: the config folder); `begin` is called when the first
        screen is there. `SharedApp` describes the rest.
        """
        # Without colours, Textual decides how to do without them before a theme is chosen.
        ansi_color = True if "NO_COLOR" in os.environ and few_colours() else None
        super().__init__(connect, place=place, on=on, first=first, ask=ask, ansi_color=ansi_color)
        self._folder = folder or config_folder()
        self._config = Config()
        self._themes_read = False
        self._themes_of: dict[str, str] = {}
        """Theme in which the screens of each visited mode are styled."""
        self._drawn = False
        """True once the first frame is there."""
        self._leaving = False
        """True while a question is open before the end."""
        self._begin = begin

    def on_load(self) -> None:
        self._config, wrong = read_config(self._folder)
        self.notices += wrong
        # Before anything is styled: a theme that is set later has everything styled again.
        if (first := shipped_theme(self._config.theme, self._folder)) is not None:
            self.register_theme(first)
            self.theme = first.name
        else:
            self.theme = choose(self._config.theme, self._read_themes())
        self.stylesheet.set_variables(self.get_css_variables())

    def refresh_css(self, animate: bool = True) -> None:
        """Style everything anew for another theme.

        The first theme was there before anything was styled, and a new screen is styled when it is mounted.
        """
        before = self._themes_of.get(self.current_mode, self.theme)
        self._themes_of[self.current_mode] = self.theme
        if self._drawn and before != self.theme:
            super().refresh_css(animate)

    def on_mount(self) -> None:
        self.set_keymap(self._config.keys)
        self.call_after_refresh(self._drawn_once)

    def _drawn_once(self) -> None:
        """Start everything that the first frame does not wait for."""
        if not self.is_running:
            return  # left before it was drawn
        self._drawn = True
        self._themes_of[self.current_mode] = self.theme
        self.link.start()
        self.set_timer(_IMPORTS_AFTER_S, Thread(target=_import_screens, name="screens", daemon=True).start)
        if not self._themes_read:
            self._read_themes()
        if self._config.keys:
            from raidtui.tui.key_check import wrong_keys

            self.notices += wrong_keys(self._config.keys)
        if self._config.theme not in ("", self.theme):
            known = ", ".join(sorted(self.available_themes))
            self.notices.append(f"config.toml: there is no theme {clean(self._config.theme, 60)!r}; there are {known}")
        if self.notices:
            words = "\n".join([*self.notices, "(? shows this again)"])
            self.notify(words, title="Settings", severity="warning", timeout=60, markup=False)
        if self._begin is not None:
            self._begin(self)
        else:
            self.drafts.offer()

    def _read_themes(self) -> list[Theme]:
        themes, unread = read_themes(self._folder)
        for theme in themes:
            self.register_theme(theme)
        self.notices += [unread] if unread else []
        self._themes_read = True
        return themes

    def on_unmount(self) -> None:
        self.drafts.write()
        self.desk.close()
        self.link.close()

    def action_toggle_help(self) -> None:
        shown = bool(self.screen.query("HelpPanel"))
        self.screen.set_class(not shown, "-help")
        (self.action_hide_help_panel if shown else self.action_show_help_panel)()

    def action_cheat_sheet(self) -> None:
        from raidtui.tui.key_help import CheatSheet

        self.push_screen(CheatSheet(self.screen))

    async def action_quit(self) -> None:
        """Textual's ctrl+q, which works in dialogs too, asks as q does."""
        self.action_leave()

    def action_leave(self) -> None:
        """End, after asking about disks that are being freed, and unsaved changes of the draft."""
        from raidtui.tui.screens.base import ModeScreen

        for screen in self.screen_stack:
            if isinstance(screen, ModeScreen):
                screen.take_pending()
        if self._leaving:
            return
        if any(state.going for state in self.freeing.values()):
            from raidtui.tui.disks.freeing import leaving_words
            from raidtui.tui.run.dialogs import Confirm

            self._leaving = True
            dialog = Confirm("A disk is being freed", leaving_words(self), yes="Leave all the same", no="Stay")
            self.push_screen(dialog, lambda yes: self._ask_unsaved() if yes else self._stay())
            return
        self._ask_unsaved()

    def _ask_unsaved(self) -> None:
        from raidtui.tui.compose.files import confirm_unsaved

        self._leaving = self.history.unsaved
        confirm_unsaved(self, "Quit", self._leave, self._stay)

    def _leave(self) -> None:
        self.drafts.forget()
        self.exit(0)

    def _stay(self) -> None:
        self._leaving = False
