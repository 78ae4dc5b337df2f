"""The line at the top: where this is, what it is connected to, what runs there."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.text import Text
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

    def on_mount(self) -> None:
        app = cast("RaidtuiApp", self.app)
        app.link_changed.subscribe(self, self._shown)
        self._shown(app.link_state)

    def _shown(self, state: LinkState) -> None:
        app = cast("RaidtuiApp", self.app)
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append("raidtui", "bold")
        line.append("  ")
        if state.hello is not None:
            line.append(clean(state.hello.host, 60))
            if clean(app.place) not in (clean(state.hello.host), ""):
                line.append(f" ({clean(app.place, 60)})", "dim")
            if not state.hello.root:
                line.append("  without root: looking only", "bold")
        else:
            trying = state.problem is None or state.waited_s > 0
            line.append(f"connecting to {clean(app.place, 60)} …" if trying else clean(app.place, 60), "dim")
        self.update(line)
