"""The screen `Run`."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from raidtui.tui.screens.base import ModeScreen


class RunScreen(ModeScreen):
    """The screen `Run`."""

    MODE = "run"

    def body(self) -> ComposeResult:
        yield Static("Run", classes="pane")
