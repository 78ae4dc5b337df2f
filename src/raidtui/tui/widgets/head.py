"""The line at the top: where this is, what it is connected to, and how old is what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual import events
from textual.widgets import Static

from raidtui.base.text import clean
from raidtui.tui.link import LinkState
from raidtui.tui.widgets.kept_lines import KeptLines

if TYPE_CHECKING:
    from raidtui.tui.app import RaidtuiApp


class Head(Static, KeptLines):
    """One line."""

    DEFAULT_CSS = """
    Head { dock: top; height: 1; background: $panel; color: $foreground; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._age = Text()

    def on_mount(self) -> None:
        app = cast("RaidtuiApp", self.app)
        app.link_changed.subscribe(self, lambda _: self._draw())
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """The age is at the right."""
        self._draw()

    def show_age(self, words: str, *, alert: bool) -> None:
        """Say at the right how old what is shown is. This line alone is drawn for it, where the words are others."""
        age = Text(words, "bold reverse" if alert else "dim")
        if age != self._age:
            self._age = age
            self._draw()

    def _draw(self) -> None:
        app = cast("RaidtuiApp", self.app)
        line = _place(app.link_state, app.place)
        room = self.size.width - self._age.cell_len - 2
        if self._age and room > 0:
            line.truncate(room, overflow="ellipsis", pad=True)
            line.append("  ").append_text(self._age)
        self.update(line, layout=False)


def _place(state: LinkState, place: str) -> Text:
    """Return the name of the server and the state of the connection."""
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append("raidtui", "bold")
    line.append("  ")
    if state.hello is None:
        trying = state.problem is None or state.waited_s > 0
        words = f"connecting to {clean(place, 60)} …" if trying else clean(place, 60)
        return line.append(words, "dim")
    line.append(clean(state.hello.host, 60))
    if clean(place) not in (clean(state.hello.host), ""):
        line.append(f" ({clean(place, 60)})", "dim")
    if not state.hello.root:
        line.append("  without root: looking only", "bold")
    return line
