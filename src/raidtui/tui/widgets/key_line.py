"""One line of keys, drawn by one widget: a widget for each key would be most of what the first frame costs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip

from raidtui.tui.widgets.kept_lines import KeptLines

_BOLD = Style(bold=True)


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
        """Under the mouse."""

    def present(self, left: Sequence[LineKey]) -> None:
        """Other keys from the left."""
        if (found := tuple(left)) != self._left:
            self._left, self._over = found, None
            self.refresh()

    async def pressed(self, key: LineKey) -> None:
        """A key was clicked on; it may be one that does nothing now."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """The line."""
        plain, at = self.rich_style, 0
        styles: dict[str, tuple[Style, Style]] = {}
        segments: list[Segment] = []
        for column, key in self._places():
            if column > at:
                segments.append(Segment(" " * (column - at), plain))
            own = self._styles(key, styles)
            before, behind = (" " * wide for wide in self.PADDING)
            parts = ((before, own[1]), (key.key, own[0]), (f" {key.words}" if key.words else "", own[1]), (behind, own[1]))
            segments += [Segment(text, style) for text, style in parts if text]
            at = column + self._wide(key)
        return Strip(segments).adjust_cell_length(self.size.width, plain)

    def key_at(self, x: int) -> LineKey | None:
        """The key in this column."""
        return next((key for column, key in self._places() if column <= x < column + self._wide(key)), None)

    def _wide(self, key: LineKey) -> int:
        return key.width + sum(self.PADDING)

    def _places(self) -> list[tuple[int, LineKey]]:
        """Start of each key, in columns."""
        wide = [self._wide(key) + self.BETWEEN for key in (*self._left, *self._right)]
        columns = list(accumulate(wide, initial=0))
        gap = max(0, self.size.width - columns[-1])
        moved = [column + (gap if place >= len(self._left) else 0) for place, column in enumerate(columns)]
        return list(zip(moved, (*self._left, *self._right), strict=False))

    def _styles(self, key: LineKey, known: dict[str, tuple[Style, Style]]) -> tuple[Style, Style]:
        """Styles of the key, and of the words behind it."""
        kind = "hover" if key is self._over and not key.here else "here" if key.here else "off" if key.off else "key"
        if kind not in known:
            if kind in ("here", "hover"):
                words = self.get_component_rich_style(f"key-line--{kind}")
                known[kind] = words + _BOLD, words
            else:
                off = Style(dim=kind == "off")
                known[kind] = (self.get_component_rich_style("key-line--key") + off,
                               self.get_component_rich_style("key-line--words") + off)  # fmt: skip
        return known[kind]

    # The mouse.

    async def on_click(self, event: events.Click) -> None:
        """Press the key."""
        event.stop()
        offset = event.get_content_offset(self)
        if offset is not None and (key := self.key_at(offset.x)) is not None:
            await self.pressed(key)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Highlight the key under the mouse and show its help."""
        offset = event.get_content_offset(self)
        self._point(self.key_at(offset.x) if offset is not None else None)

    def on_leave(self) -> None:
        """The mouse is elsewhere."""
        self._point(None)

    def _point(self, key: LineKey | None) -> None:
        if key != self._over:
            self._over = key
            self.tooltip = key.tooltip if key is not None and key.tooltip else None
            self.refresh(Region(0, 0, self.size.width, 1))
