"""The screen `Compose`."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from raidtui.tui.screens.base import ModeScreen


class ComposeScreen(ModeScreen):
    """The screen `Compose`."""

    MODE = "compose"

    def body(self) -> ComposeResult:
        yield Static("Compose", classes="pane")
