"""Common parts of the five screens: header, body, a banner when the engine is lost, and the keys in the footer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from raidtui.tui.shared import SharedApp
from raidtui.tui.widgets.bars import Banner, Foot, Head, ModeBar
from raidtui.tui.widgets.kept_lines import KeptLines

_AGE_EVERY_S = 1.0

if TYPE_CHECKING:
    from raidtui.tui.shared import Seen


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
