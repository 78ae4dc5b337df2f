"""A list of single lines under a cursor: outline, form, choices and problems are made of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from raidtui.tui.compose.lines import same


class LineList(OptionList):
    """Shows lines and keeps its cursor on what it stood on, by key, when they change."""

    DEFAULT_CSS = """
    LineList {
        height: 1fr; padding: 0; background: transparent; text-wrap: nowrap; text-overflow: ellipsis;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        &:focus { background-tint: $foreground 0%; }
    }
    """

    class Widened(Message):
        """Its lines have another width now."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, markup=False, compact=True)
        self.keys: list[Hashable] = []
        self._width = 0
        self._shown: list[tuple[Content, bool]] = []

    @property
    def line_width(self) -> int:
        """Cells that a line has; 0 while the list is not shown."""
        return self.scrollable_content_region.width

    def on_resize(self) -> None:
        if self.line_width != self._width:
            self._width = self.line_width
            self.post_message(self.Widened())

    @property
    def key(self) -> Any:
        """Key of the line under the cursor; None where there is none."""
        return self.keys[self.highlighted] if self.highlighted is not None and self.highlighted < len(self.keys) else None

    def show(self, keys: Sequence[Hashable], lines: Sequence[Content], off: Sequence[bool] = ()) -> None:
        """Show these lines; `off` are those on which the cursor cannot stand."""
        shown = list(zip(lines, off or [False] * len(lines), strict=True))
        if list(keys) == self.keys and [o for _, o in shown] == [o for _, o in self._shown]:
            for index, (now, before) in enumerate(zip(shown, self._shown, strict=True)):
                if not same(before[0], now[0]):
                    self.replace_option_prompt_at_index(index, now[0])
            self._shown = shown
            return
        here, index = self.key, self.highlighted or 0
        self.keys, self._shown = list(keys), shown
        with self.prevent(OptionList.OptionHighlighted):
            self.clear_options()
            self.add_options([Option(line, disabled=is_off) for line, is_off in shown])
        self.go(here if here in self.keys else None, index)

    def go(self, key: Hashable | None, otherwise: int = 0) -> None:
        """Put the cursor on a key, or on a line by number where there is no such key."""
        if self.keys:
            self.highlighted = self.keys.index(key) if key in self.keys else min(otherwise, len(self.keys) - 1)
