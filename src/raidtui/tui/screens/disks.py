"""The screen `Disks`."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from raidtui.tui.screens.base import ModeScreen


class DisksScreen(ModeScreen):
    """The screen `Disks`."""

    MODE = "disks"

    def body(self) -> ComposeResult:
        yield Static("Disks", classes="pane")
