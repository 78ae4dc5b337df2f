"""A line that is there only while the engine is lost: why, and when it is tried again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual.timer import Timer
from textual.widgets import Static

from raidtui.base.text import clean_lines
from raidtui.tui.link import LinkState

if TYPE_CHECKING:
    from raidtui.tui.app import RaidtuiApp


class Banner(Static):
    """Hidden while all is well."""

    DEFAULT_CSS = """
    Banner {
        display: none; height: auto; max-height: 3; padding: 0 1;
        background: $error; color: $background; text-style: bold;
    }
    Banner.-lost { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._state = LinkState()
        self._ticking: Timer | None = None

    def on_mount(self) -> None:
        self._ticking = self.set_interval(1.0, self._draw, pause=True)
        app = cast("RaidtuiApp", self.app)
        app.link_changed.subscribe(self, self._shown)
        self._shown(app.link_state)

    def _shown(self, state: LinkState) -> None:
        self._state = state
        lost = state.problem is not None
        self.set_class(lost, "-lost")
        if self._ticking is not None:
            (self._ticking.resume if lost else self._ticking.pause)()
        self._draw()

    def _draw(self) -> None:
        problem = self._state.problem
        if problem is None:
            return
        left_s = max(0.0, (self._state.retry_at or 0.0) - time.monotonic())
        when = f"trying again in {left_s:.0f} s" if left_s >= 1 else "trying again …"
        said = " ".join(clean_lines(problem.message, 2000).split())
        self.update(Text(f"! {said}\n  {when} (ctrl+r: now) · nothing is lost, runs go on", overflow="ellipsis"))
