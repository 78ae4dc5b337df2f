"""The screen `Plan`."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from raidtui.tui.screens.base import ModeScreen


class PlanScreen(ModeScreen):
    """The screen `Plan`."""

    MODE = "plan"

    def body(self) -> ComposeResult:
        yield Static("Plan", classes="pane")
