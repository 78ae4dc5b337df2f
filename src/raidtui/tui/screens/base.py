"""Common parts of the five screens: header, banner of a lost engine, panes, and the keys in the footer.

The keys are drawn by hand: with Textual's Footer, a widget for each key, the first frame would take a fifth more CPU.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.geometry import Region
from textual.reactive import Reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from raidtui.base.text import clean, clean_lines
from raidtui.tui.link import LinkState
from raidtui.tui.shared import SCREENS, Seen, SharedApp
from raidtui.tui.widgets.glyphs import glyphs
from raidtui.tui.widgets.kept_lines import KeptLines

_AGE_EVERY_S = 1.0


class LineKey(NamedTuple):
    """A key and what it does."""

    key: str
    """Text of the key."""
    words: str
    does: str
    """Handed to `KeyLine.pressed`."""
    here: bool = False
    """True if the key leads to the present screen."""
    off: bool = False
    """True if the key does nothing now."""
    tooltip: str = ""

    @property
    def width(self) -> int:
        """Width in columns, without the separator."""
        return cell_len(self.key) + (cell_len(self.words) + 1 if self.words else 0)


class KeyLine(KeptLines):
    """Keys from the left and keys at the right. What does not fit is cut at the right; a click on one presses it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-line--key", "key-line--words", "key-line--here", "key-line--hover"}
    ALLOW_SELECT = False
    PADDING: ClassVar[tuple[int, int]] = (1, 1)
    """Blanks of a key's own before and behind it, which are part of what is clicked on."""
    BETWEEN: ClassVar[int] = 0
    """Blanks between keys."""

    def __init__(self, left: Sequence[LineKey] = (), right: Sequence[LineKey] = ()) -> None:
        super().__init__()
        self._left, self._right = tuple(left), tuple(right)
        self._over: LineKey | None = None
        """The key under the mouse."""

    async def pressed(self, key: LineKey) -> None:
        """A key was clicked on; it may be one that does nothing now."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        plain, at = self.rich_style, 0
        before, behind = (" " * wide for wide in self.PADDING)
        segments: list[Segment] = []
        for column, key in self._places():
            bold, words = self._styles(key)
            segments += [Segment(" " * (column - at), plain), Segment(before, words), Segment(key.key, bold),
                         Segment(f" {key.words}" if key.words else "", words), Segment(behind, words)]
            at = column + self._wide(key)
        return Strip([segment for segment in segments if segment.text]).adjust_cell_length(self.size.width, plain)

    def _wide(self, key: LineKey) -> int:
        return key.width + sum(self.PADDING)

    def _places(self) -> list[tuple[int, LineKey]]:
        """Return the keys with the column where each begins."""
        wide = [self._wide(key) + self.BETWEEN for key in (*self._left, *self._right)]
        columns = list(accumulate(wide, initial=0))
        gap = max(0, self.size.width - columns[-1])
        moved = [column + (gap if place >= len(self._left) else 0) for place, column in enumerate(columns)]
        return list(zip(moved, (*self._left, *self._right), strict=False))

    def _styles(self, key: LineKey) -> tuple[Style, Style]:
        """Return the styles of the key and of the words behind it."""
        if key.here or key is self._over:
            words = self.get_component_rich_style(f"key-line--{'here' if key.here else 'hover'}")
            return words + Style(bold=True), words
        off = Style(dim=key.off)
        return self.get_component_rich_style("key-line--key") + off, self.get_component_rich_style("key-line--words") + off

    def _under(self, event: events.MouseEvent) -> LineKey | None:
        offset = event.get_content_offset(self)
        if offset is None:
            return None
        return next((key for column, key in self._places() if column <= offset.x < column + self._wide(key)), None)

    async def on_click(self, event: events.Click) -> None:
        event.stop()
        if (key := self._under(event)) is not None:
            await self.pressed(key)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._point(self._under(event))

    def on_leave(self) -> None:
        self._point(None)

    def _point(self, key: LineKey | None) -> None:
        """Highlight the key under the mouse and show its help."""
        if key != self._over:
            self._over = key
            self.tooltip = key.tooltip if key is not None and key.tooltip else None
            self.refresh(Region(0, 0, self.size.width, 1))


class Head(Static, KeptLines):
    """First line of a screen: the server, the connection, the run that goes on, and the age of what is shown."""

    DEFAULT_CSS = """
    Head { dock: top; height: 1; background: $panel; color: $foreground; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._age = Text()

    def on_mount(self) -> None:
        app = cast(SharedApp, self.app)
        app.link_changed.subscribe(self, lambda _: self._draw())
        if cast(ModeScreen, self.screen).MODE != "run":
            app.run_changed.subscribe(self, lambda _: self._draw())
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    def show_age(self, words: str, *, alert: bool) -> None:
        """Say at the right how old the shown data is. Draws this line alone, and only for other words."""
        age = Text(words, "bold reverse" if alert else "dim")
        if age != self._age:
            self._age = age
            self._draw()

    def _draw(self) -> None:
        app = cast(SharedApp, self.app)
        line, right = _place(app.link_state, app.place), self._age
        if app.run_words and cast(ModeScreen, self.screen).MODE != "run":
            right = Text.assemble((f"{glyphs().now} {app.run_words}", "bold"), "  " if right else "", right)
        room = self.size.width - right.cell_len - 2
        if right and room > 0:
            line.truncate(room, overflow="ellipsis", pad=True)
            line.append("  ").append_text(right)
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


_SLOW_S = 5.0


class Banner(Static):
    """Two lines about a lost or slow connection; hidden while all is well."""

    DEFAULT_CSS = """
    Banner {
        display: none; height: auto; max-height: 3; padding: 0 1;
        background: $error; color: $background; text-style: bold;
    }
    Banner.-lost { display: block; }
    """

    def on_mount(self) -> None:
        self._ticking = self.set_interval(1.0, self._draw, pause=True)
        app = cast(SharedApp, self.app)
        app.link_changed.subscribe(self, lambda _: self._draw())
        self._draw()

    def _draw(self) -> None:
        app = cast(SharedApp, self.app)
        state = app.link_state
        words = banner_words(state, app.place, time.monotonic())
        self.set_class(bool(words), "-lost")
        (self._ticking.resume if state.problem is not None else self._ticking.pause)()
        if words:
            self.update(Text(words, overflow="ellipsis"))


def banner_words(state: LinkState, place: str, now_s: float) -> str:
    """Two lines about the connection at the moment `now_s` of the monotonic clock; empty while all is well. Pure."""
    if state.up:
        if not state.restarted:
            return ""
        return ("! the server restarted meanwhile: runs that were going on were interrupted\n"
                "  `raidtui recover` undoes what they left (screen Run, r) · ctrl+r hides this")  # fmt: skip
    if state.waited_s >= _SLOW_S:
        from raidtui.front.follow import waiting_words  # the first frame does without it

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


_ALWAYS = (LineKey("F1", "Help", "toggle_help"), LineKey("?", "Keys", "cheat_sheet"),
           LineKey("^p", "All", "command_palette"), LineKey("q", "Quit", "leave"))  # fmt: skip


class Foot(KeyLine):
    """Keys of the screen and of what has the focus; those of the application are in the line below."""

    DEFAULT_CSS = """
    Foot {
        dock: bottom; height: 1; margin-bottom: 1; background: $surface; color: $footer-foreground;
        & > .key-line--key {
            color: $footer-key-foreground; background: $footer-key-background; text-style: bold;
        }
        & > .key-line--words { color: $footer-description-foreground; background: $footer-description-background; }
        & > .key-line--hover { color: $footer-key-foreground; background: $block-hover-background; }
    }
    """
    PADDING = (0, 0)
    BETWEEN = 1

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[Any]) -> None:
        # While another application has the terminal's focus, no widget has it here, and the keys stay.
        if self.app.app_focus and screen is self.screen:
            self.call_after_refresh(self._show_keys)

    def _show_keys(self) -> None:
        if not self.is_attached:
            return
        keys: dict[str, LineKey] = {}  # the first key of each action
        for known in self.screen.active_bindings.values():
            one = known.binding
            if one.show and one.action not in keys:
                shown = self.app.get_key_display(one)
                keys[one.action] = LineKey(shown, one.description, one.key, off=not known.enabled, tooltip=known.tooltip)
        if (found := tuple(keys.values())) != self._left:
            self._left, self._over = found, None
            self.refresh()

    async def pressed(self, key: LineKey) -> None:
        if key.off:
            self.app.bell()
        else:
            self.app.simulate_key(key.does)


class ModeBar(KeyLine):
    """The five screens, and where help and the exit are."""

    DEFAULT_CSS = """
    ModeBar {
        dock: bottom; height: 1; background: $panel; color: $foreground;
        & > .key-line--key { text-style: bold; }
        & > .key-line--hover { background: $surface; }
        & > .key-line--here { background: $primary; color: $background; text-style: bold; }
    }
    """

    def __init__(self, mode: str) -> None:
        modes = [
            LineKey(str(number), name.capitalize(), f"switch_mode('{name}')", here=name == mode)
            for number, name in enumerate(SCREENS, 1)
        ]
        super().__init__(modes, _ALWAYS)

    async def pressed(self, key: LineKey) -> None:
        await self.app.run_action(key.does, self.app)


class ModeScreen(Screen[None], KeptLines):
    """One of the five screens. A subclass yields its panes in `body`, and names itself in `MODE`."""

    MODE: ClassVar[str] = ""
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """Redraw only the widget that gets or loses the focus: nothing else changes."""

    @property
    def raidtui(self) -> SharedApp:
        return cast(SharedApp, self.app)

    def __init__(self) -> None:
        super().__init__()
        self._was_stale = False

    def on_mount(self) -> None:
        self.set_interval(_AGE_EVERY_S, self.show_age)
        self.raidtui.disks_changed.subscribe(self, lambda _: self.show_age())

    def on_screen_resume(self) -> None:
        self.show_age()

    @property
    def seen(self) -> Seen | None:
        """Return the time of this screen's data; None if it does not age."""
        return None

    @property
    def stale(self) -> bool:
        """True while the list on this screen is too old to be relied on."""
        return self.seen is not None and self.seen.stale(self.raidtui.now())

    def show_age(self) -> None:
        """Show the age of this screen's data in its head. The other screens do so when they are resumed."""
        if not self.is_current or (seen := self.seen) is None:
            return
        looking = ", looking …" if self.raidtui.looking and seen.what == "disks" else ""
        self.query_one(Head).show_age(seen.words(self.raidtui.now()) + looking, alert=self.stale)
        if self.stale != self._was_stale:
            self._was_stale = self.stale
            self.staleness_changed()

    def staleness_changed(self) -> None:
        """Called when the list became too old, or fresh again."""

    def take_pending(self) -> None:
        """Take what is being typed into the draft; called before the application is left."""

    def fit(self) -> None:
        """Set the classes for the terminal's size before anything is styled; Textual does so only afterwards."""
        app, size = self.raidtui, self.app.size
        for limits, room in ((app.HORIZONTAL_BREAKPOINTS, size.width), (app.VERTICAL_BREAKPOINTS, size.height)):
            self.add_class(max((limit, name) for limit, name in limits if limit <= room)[1])

    def compose(self) -> ComposeResult:
        yield Head()
        yield Banner()
        yield from self.body()
        yield Foot()
        yield ModeBar(self.MODE)

    def body(self) -> ComposeResult:
        """The panes between head and foot."""
        raise NotImplementedError
