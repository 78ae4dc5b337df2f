"""A pane of lines of text that draws only those lines that changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from raidtui.tui.widgets.glyphs import glyphs
from raidtui.tui.widgets.kept_lines import KeptLines
from raidtui.tui.widgets.table_line import Cell, LineBuilder, freeze

STATES = ("dim", "alert", "warn", "good", "accent", "strong")
"""Names that a `Text` may take as its style: the theme says how they look."""

Line = str | Text


class Lines(ScrollView, KeptLines, can_focus=True, inherit_bindings=False):
    """Lines, made anew for the width there is. With `tail` it stays at the end until it is scrolled away from it."""

    HELP = """\
## Lines

Up, down, page up and page down scroll.
"""

    ALLOW_SELECT = False

    DEFAULT_CSS = """
    Lines {
        height: 1fr; background: $surface; color: $foreground; overflow-x: hidden; overflow-y: auto;
        scrollbar-size-vertical: 1;
        & > .lines--dim { color: $foreground-muted; }
        & > .lines--alert { color: $text-error; text-style: bold; }
        & > .lines--warn { color: $text-warning; }
        & > .lines--good { color: $text-success; }
        & > .lines--accent { color: $text-accent; }
        & > .lines--strong { text-style: bold; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"lines--{state}" for state in STATES}

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "lines(-1)", "Up", show=False, id="lines.up", tooltip="One line up"),
        Binding("down,j", "lines(1)", "Down", show=False, id="lines.down", tooltip="One line down"),
        Binding("pageup", "pages(-1)", "Page up", show=False, id="lines.page_up", tooltip="One page up"),
        Binding("pagedown", "pages(1)", "Page down", show=False, id="lines.page_down", tooltip="One page down"),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None, tail: bool = False) -> None:
        super().__init__(id=id, classes=classes)
        self._tail = tail
        self._at_end = True
        """True until the operator scrolls away: neither more lines nor a smaller terminal end it."""
        self._make: Callable[[int], Sequence[Line]] = lambda width: ()
        self._lines: Sequence[Line] = ()
        self._made_for = 0
        self._drawn: dict[int, str | Cell | None] = {}
        """Drawn lines, by line in view."""
        self._styles: dict[str, Style] = {}

    def show(self, make: Callable[[int], Sequence[Line]]) -> None:
        """Lines made by `make` for a width in cells; only lines in view are read. It is called again for another width."""
        self._make = make
        self._remake()

    @property
    def _room(self) -> int:
        """Cells beside the scrollbar, where there is one."""
        return self.size.width - (self.scrollbar_size_vertical if self.show_vertical_scrollbar else 0)

    def _remake(self) -> None:
        width = self._room
        if width <= 0:
            return
        self._lines, self._made_for = self._make(width), width
        size = Size(width, len(self._lines))
        if size != self.virtual_size:
            self.virtual_size = size
        dirty = [Region(0, y, width, 1) for y in range(self.size.height) if self._drawn.get(y, "") != self._line(y)]
        if dirty:
            self.refresh(*dirty)
        if self._tail and self._at_end and len(self._lines) > self.size.height:
            # The scrollbar may not be there yet, without which Textual scrolls only when forced.
            self.call_after_refresh(self.scroll_end, animate=False, force=True)

    def _line(self, y: int) -> str | Cell | None:
        index = self.scroll_offset.y + y
        return freeze(self._lines[index]) if index < len(self._lines) else None

    def on_resize(self, event: events.Resize) -> None:
        """Lines are made for the width."""
        self._remake()
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolled to the end, or away from it."""
        super().watch_scroll_y(old_value, new_value)
        self._at_end = self.scroll_offset.y >= self.max_scroll_y

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """A scrollbar knows only of what was scrolled since it was there."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def notify_style_update(self) -> None:
        """Another theme."""
        self._styles.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        """One line of what is in view."""
        width, base = self._room, self._base
        if width != self._made_for and width > 0:  # drawn before the event that tells of it
            self._lines, self._made_for = self._make(width), width
        line = self._drawn[y] = self._line(y)
        if line is None:
            return Strip.blank(width, base)
        builder = LineBuilder(base, self._resolve, glyphs())
        builder.cell(line, width, "left")
        segments: list[Segment] = builder.segments()
        return Strip(segments).adjust_cell_length(width, base)

    def _resolve(self, style: str | Style) -> Style:
        if isinstance(style, Style):
            return style
        if (known := self._styles.get(style)) is None:
            known = self._styles[style] = self._look(f"lines--{style}") if style in STATES else Style.null()
        return known

    @property
    def _base(self) -> Style:
        """The style of what has none of its own."""
        if (known := self._styles.get("")) is None:
            known = self._styles[""] = self.rich_style
        return known

    def _look(self, name: str) -> Style:
        """A component's own style; its colour as it comes out over the background, where it is a translucent one."""
        blended = self.get_component_rich_style(name)
        return self.get_component_rich_style(name, partial=True) + Style(color=blended.color)

    def action_lines(self, count: int) -> None:
        """Scroll by lines."""
        self.scroll_to(y=self.scroll_offset.y + count, animate=False)

    def action_pages(self, count: int) -> None:
        """Scroll by what is in view."""
        self.scroll_to(y=self.scroll_offset.y + count * max(1, self.size.height - 1), animate=False)
