"""Lines that are there only while the engine is lost, slow, or of a server that restarted: why, and what to do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual.timer import Timer
from textual.widgets import Static

from raidtui.base.text import clean_lines
from raidtui.front.follow import waiting_words
from raidtui.tui.link import LinkState

if TYPE_CHECKING:
    from raidtui.tui.app import RaidtuiApp


_SLOW_S = 5.0


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
        words = banner_words(state, cast("RaidtuiApp", self.app).place, time.monotonic())
        self.set_class(bool(words), "-lost")
        if self._ticking is not None:
            (self._ticking.resume if state.problem is not None else self._ticking.pause)()
        self._draw()

    def _draw(self) -> None:
        if words := banner_words(self._state, cast("RaidtuiApp", self.app).place, time.monotonic()):
            self.update(Text(words, overflow="ellipsis"))


def banner_words(state: LinkState, place: str, now_s: float) -> str:
    """Two lines about the connection at the moment `now_s` of the monotonic clock; empty while all is well. Pure."""
    if state.up:
        if not state.restarted:
            return ""
        return ("! the server restarted meanwhile: runs that were going on were interrupted\n"
                "  `raidtui recover` undoes what they left (screen Run, r) · ctrl+r hides this")  # fmt: skip
    if state.waited_s >= _SLOW_S:
        said = _in_a_line(state.said) or "it has not said anything yet"
        return f"! {waiting_words(place, state.waited_s)} (ctrl+r: begin again)\n  {said[-200:]}"
    if state.problem is None:
        return ""
    left_s = max(0.0, (state.retry_at or 0.0) - now_s)
    when = f"trying again in {left_s:.0f} s" if left_s >= 1 and not state.waited_s else "trying again …"
    # Of a server that was never reached nothing is known; of one that went down, no run goes on.
    runs = " · runs go on without the connection, unless the server went down" if state.known else ""
    return f"! {_in_a_line(state.problem.message)}\n  {when} (ctrl+r: now){runs}"


def _in_a_line(words: str) -> str:
    return " ".join(clean_lines(words, 2000).split())
