"""Bar with the names of the panes, where one is shown at a time."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Static


class _Tab(Static):
    DEFAULT_CSS = """
    _Tab { width: auto; padding: 0 1; color: $text-muted; }
    _Tab:hover { background: $panel; }
    _Tab.-here { color: $primary; text-style: bold underline; }
    """

    def __init__(self, pane: str, words: str) -> None:
        super().__init__(Text(words), id=f"tab-{pane}")
        self.pane = pane

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(PaneBar.Chosen(self.pane))


class PaneBar(Horizontal):
    """One line of names. A click shows the pane."""

    DEFAULT_CSS = """
    PaneBar { height: 1; background: $surface; }
    PaneBar > .note { width: 1fr; color: $text-muted; text-align: right; padding: 0 1; }
    """

    class Chosen(Message):
        """A pane's name was clicked."""

        def __init__(self, pane: str) -> None:
            self.pane = pane
            super().__init__()

    def __init__(self, panes: dict[str, str]) -> None:
        """Names of the panes, by id."""
        super().__init__()
        self._panes = panes
        self._note = ""

    def compose(self) -> ComposeResult:
        for pane, words in self._panes.items():
            yield _Tab(pane, words)
        yield Static(classes="note")

    def mark(self, pane: str, note: str = "") -> None:
        """Show that this pane is the one in view, and a word about it on the right."""
        for tab in self.query(_Tab):
            tab.set_class(tab.pane == pane, "-here")
        if note != self._note:
            self._note = note
            self.query_one(".note", Static).update(Text(note, no_wrap=True, overflow="ellipsis"))
