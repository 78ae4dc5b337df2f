"""The screen `Results`."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from raidtui.tui.screens.base import ModeScreen


class ResultsScreen(ModeScreen):
    """The screen `Results`."""

    MODE = "results"

    def body(self) -> ComposeResult:
        yield Static("Results", classes="pane")
