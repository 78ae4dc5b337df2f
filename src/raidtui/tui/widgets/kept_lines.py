"""Cache of a widget's drawn lines: Textual asks for all lines of all widgets whenever one line changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from textual.color import Color
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget


class KeptLines(Widget):
    """Widget that keeps its lines as the terminal has them, until they are refreshed."""

    _kept: list[Strip] | None = None
    """All lines, border and padding included; None if all have to be redrawn."""
    _kept_size = Size(0, 0)
    _stale: frozenset[int] = frozenset()
    """Numbers of the lines to redraw."""
    _framed = True
    _behind = Color(0, 0, 0)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Refresh like every widget. Regions count from the first line within border and padding."""
        if not regions:
            self._kept = None
        elif self._kept is not None:
            above = self.styles.gutter.top
            self._stale |= {y + above for region in regions for y in region.line_range}
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def notify_style_update(self) -> None:
        self._kept = None
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render like every widget, but without the frame's work if there is no frame."""
        size = self.outer_size
        if crop != size.region:
            return super().render_lines(crop)
        if self._kept is None or self._kept_size != size:
            styles = self.styles
            self._framed = bool(styles.gutter or styles.tint.a or styles.outline.top[0]) or self.opacity != 1
            self._behind = self.background_colors[1]
            self._kept = super().render_lines(crop) if self._framed else self._made(range(size.height))
            self._kept_size = size
        elif self._stale and self._framed:
            self._kept = super().render_lines(crop)
        elif self._stale:
            lines = [y for y in self._stale if 0 <= y < size.height]
            for y, strip in zip(lines, self._made(lines), strict=True):
                self._kept[y] = strip
        self._stale = frozenset()
        return self._kept

    def _made(self, lines: Iterable[int]) -> list[Strip]:
        """Return these lines after the filters of a terminal without colours."""
        filters, made = self.get_line_filters(), []
        for strip in self.draw_lines(lines):
            segments = plain = list(strip)
            for line_filter in filters:
                segments = line_filter.apply(segments, self._behind)
            made.append(strip if segments == plain else Strip(segments, strip.cell_length))
        return made

    def draw_lines(self, lines: Iterable[int]) -> Iterable[Strip]:
        """Return lines like `render_line`; override it if several lines together cost less."""
        return map(self.render_line, lines)
