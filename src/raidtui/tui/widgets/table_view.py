"""The drawing half of a live table: which lines are in view, what they were drawn from, and which of them changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.geometry import Offset, Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from raidtui.base.text import clean_lines
from raidtui.tui.widgets.glyphs import glyphs
from raidtui.tui.widgets.kept_lines import KeptLines
from raidtui.tui.widgets.signs import INKS
from raidtui.tui.widgets.table_line import GAP, Cell, Column, LineBuilder, Place, fit, freeze, place_columns

STATES = ("dim", "alert", "warn", "good", "accent", *INKS)
"""Names that a row's state and a cell's `Text` may take as their style: the theme says how they look."""

MARK_WIDTH = 2
"""Cells before the first column, where rows can be selected."""


class Rows:
    """Data of a table; this one is empty. A table asks for the cells and states of rows in view only."""

    keys: Sequence[str] = ()
    """Ids of the rows, each once, in the order in which they are shown."""

    def cells(self, key: str) -> Sequence[str | Text | Cell]:
        """Return a row's cells, in the order of the table's columns."""
        return ()

    def state(self, key: str) -> str:
        """Return one of `STATES` for the whole row, or an empty string."""
        return ""


class Line(NamedTuple):
    """All that a line's looks depend on."""

    cells: tuple[str | Cell, ...]
    look: tuple[str, ...]
    """Component classes, each over those before it."""


NO_LINE = Line((), ())


class TableView(ScrollView, KeptLines):
    """Draws rows under a header that stays. Knows nothing of keys and mice."""

    ALLOW_SELECT = False

    def __init__(self, columns: Sequence[Column], *, id: str | None, empty: str, margin: int) -> None:
        super().__init__(id=id)
        self.empty = empty
        self.rows = Rows()
        self.row_keys: Sequence[str] = ()
        self.cursor_row: int | None = None
        self.marked: frozenset[str] = frozenset()
        """Rows that are drawn as selected."""
        self.glyphs = glyphs()
        self._table_columns = tuple(columns)
        self._margin = margin
        self.sort_key: str | None = None
        self.sort_descending = False
        self._places: list[Place] = []
        self._used = 0
        """Cells that all columns take; `_wide` is as much, or the width of the view."""
        self._wide = 0
        self._fitted_to = -1
        """The width that the columns' places are for."""
        self._drawn: dict[int, Line] = {}
        """Rows by the number of their line in view, from 1: the header is line 0."""
        self._looks: dict[tuple[str, ...], Style] = {}
        self._inks: dict[str, Style] = {}

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, from left to right. The first one stays when the others are scrolled."""
        return self._table_columns

    @columns.setter
    def columns(self, columns: Sequence[Column]) -> None:
        self._table_columns = tuple(columns)
        self.fit_columns()
        self.redraw()

    def sort_by(self, key: str | None, descending: bool) -> None:
        """Show in the header which column the rows are sorted by. Their owner sorts them."""
        if (self.sort_key, self.sort_descending) != (key, descending):
            self.sort_key, self.sort_descending = key, descending
            self.refresh(Region(0, 0, self.room, 1))

    @property
    def room(self) -> int:
        """Cells beside the scrollbar, where there is one."""
        return self.size.width - (self.scrollbar_size_vertical if self.show_vertical_scrollbar else 0)

    def redraw(self) -> None:
        """Draw everything anew, for changes that `refresh_changed` cannot see."""
        self._drawn.clear()
        self.refresh()

    def fit_columns(self) -> None:
        """Place the columns anew, after the width, the columns or the number of rows changed."""
        self._place()
        self.virtual_size = Size(self._wide, len(self.row_keys) + 1)

    def _place(self) -> None:
        room = self._fitted_to = self.room
        self._places, self._used = place_columns(self._table_columns, room, self._margin + GAP)
        self._wide = max(self._used, room)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        self._drawn.clear()
        super().watch_scroll_y(old_value, new_value)

    def on_resize(self, event: events.Resize) -> None:
        self.fit_columns()
        self.redraw()

    def notify_style_update(self) -> None:
        self._looks.clear()
        self._inks.clear()
        super().notify_style_update()

    def watch_has_focus(self, has_focus: bool) -> None:
        self._looks.clear()
        super().watch_has_focus(has_focus)
        self.redraw()

    # What changed.

    def refresh_changed(self) -> None:
        """Draw the lines in view whose cells or looks changed, each up to its last changed column."""
        dirty: list[Region] = []
        (left, top), height, room = self.scroll_offset, self.size.height, self.room
        last = max(len(self.row_keys) - top, max(self._drawn, default=0))
        for y in range(1, min(height, last + 1)):
            line, before = self._line(top + y - 1), self._drawn.get(y)
            if before is None or line != before:
                width = self._changed_width(before, line, room, left)
                if dirty and dirty[-1].bottom == y and dirty[-1].width == width:
                    dirty[-1] = dirty[-1].grow((0, 0, 1, 0))
                else:
                    dirty.append(Region(0, y, width, 1))
                self._remember(y, line)
        if dirty:
            self.refresh(*dirty)

    def _changed_width(self, before: Line | None, line: Line, width: int, scrolled: int) -> int:
        """Return the region from the left edge to the last changed column: terminals get lines from the left edge on."""
        if before is None or before.look != line.look or len(before.cells) != len(line.cells):
            return width
        last = len(line.cells) - 1
        while last and before.cells[last] == line.cells[last]:
            last -= 1
        if last >= len(self._places):
            return width
        place = self._places[last]
        end = place.x + place.width - (scrolled if last else 0)
        return end if end < width - GAP else width

    def _remember(self, y: int, line: Line) -> None:
        if line is NO_LINE:
            self._drawn.pop(y, None)
        else:
            self._drawn[y] = line

    def _line(self, row: int) -> Line:
        if row >= len(self.row_keys):
            return NO_LINE
        key = self.row_keys[row]
        look = ["row"]
        if row % 2:
            look.append("odd")
        if state := self.rows.state(key):
            look.append(state)
        if key in self.marked:
            look.append("selected")
        if row == self.cursor_row:
            look.append("cursor")
        return Line(tuple([cell if cell.__class__ is str else freeze(cell) for cell in self.rows.cells(key)]), tuple(look))

    # Drawing.

    def render_line(self, y: int) -> Strip:
        return next(iter(self.draw_lines((y,))))

    def draw_lines(self, lines: Iterable[int]) -> Iterable[Strip]:
        if self._fitted_to != self.room:  # drawn before the event that tells of it
            self._place()
        scrolled = self.scroll_offset
        return [self._strip(y, scrolled) for y in lines]

    def _strip(self, y: int, scrolled: Offset) -> Strip:
        width = self._fitted_to
        if y == 0:
            return self._crop(self._header(), self._used, self._look(("header",)), scrolled.x)
        if not self.row_keys:
            return self._empty_line(y, width)
        if (line := self._drawn.get(y)) is None:
            line = self._line(scrolled.y + y - 1)
            self._remember(y, line)
        if line is NO_LINE:
            return Strip.blank(width, self._look(("row",)))
        return self._crop(self._body(line), self._wide, self._look(line.look), scrolled.x)

    def _look(self, names: tuple[str, ...]) -> Style:
        """Return the style of component classes, each over those before it."""
        if (style := self._looks.get(names)) is None:
            style = self.get_component_rich_style(f"livetable--{names[0]}")
            for name in names[1:]:
                style += self._layer(name)
            if "odd" in names and "cursor" not in names:
                style += Style(bgcolor=self.get_component_rich_style("livetable--odd").bgcolor)
            if "cursor" in names:
                style += self.get_component_rich_style("livetable--cursor")
            self._looks[names] = style
        return style

    def _layer(self, name: str) -> Style:
        """Return the style of a component class, its colour blended into the widget's background."""
        own = self.get_component_rich_style(f"livetable--{name}", partial=True)
        if own.color is None:
            return own
        return own + Style(color=self.get_component_rich_style(f"livetable--{name}").color)

    def _resolve(self, style: str | Style) -> Style:
        """Return the style that a cell's `Text` names; kept, since Textual computes it anew after every refresh."""
        if isinstance(style, Style):
            return style
        if (found := self._inks.get(style)) is None:
            found = self._inks[style] = self._layer(style) if style in STATES else Style.parse(style)
        return found

    def _header(self) -> list[Segment]:
        builder = LineBuilder(self._look(("header",)), self._resolve, self.glyphs)
        builder.add(" " * (self._margin + GAP))
        for column, place in zip(self._table_columns, self._places, strict=True):
            arrow = ""
            if column.key == self.sort_key:
                arrow = self.glyphs.descending if self.sort_descending else self.glyphs.ascending
            room = place.width - len(arrow)
            long = cell_len(column.title) > room
            title = fit(column.title, room, "left", self.glyphs.ellipsis)[0] if long else column.title
            builder.cell(title + arrow, place.width, column.align)
        return builder.segments()

    def _body(self, line: Line) -> list[Segment]:
        resolve = self._plain if line.look[-1] == "cursor" else self._resolve
        builder = LineBuilder(self._look(line.look), resolve, self.glyphs)
        if self._margin:
            mark = self.glyphs.selected if "selected" in line.look else ""
            builder.add((" " * GAP + mark).ljust(self._margin + GAP))
        else:
            builder.add(" " * GAP)
        places = zip(self._table_columns, self._places, strict=True)
        builder.cells(line.cells, [(place.width, column.align) for column, place in places])
        builder.blank(self._wide - self._used)
        return builder.segments()

    @staticmethod
    def _plain(style: str | Style) -> Style:
        """Leave out the colours of cells under the cursor, which has its own."""
        return Style.null()

    def _crop(self, segments: list[Segment], used: int, style: Style, x: int) -> Strip:
        """Return the visible part of a line of `used` cells: its first column, and as much of the others as fits."""
        strip, width = Strip(segments, used), self._fitted_to
        if x and len(self._places) > 1:
            frozen = min(self._places[1].x, width)
            strip = Strip.join([strip.crop(0, frozen), strip.crop(frozen + x, x + width)])
        return strip if strip.cell_length == width else strip.adjust_cell_length(width, style)

    def _empty_line(self, y: int, width: int) -> Strip:
        style = self._look(("row", "empty"))
        lines = clean_lines(self.empty).splitlines()
        index = y - max(1, (self.size.height - len(lines)) // 2)
        if not 0 <= index < len(lines):
            return Strip.blank(width, style)
        text = lines[index]
        text = " " * ((width - cell_len(text)) // 2) + text
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)

    # Where things are.

    def column_at(self, x: int) -> Column | None:
        """Return the column at a cell of the view, its gap included."""
        for index, (column, place) in enumerate(zip(self._table_columns, self._places, strict=True)):
            at = x if index == 0 or x < self._places[0].x + self._places[0].width else x + self.scroll_offset.x
            if place.x <= at < place.x + place.width + GAP:
                return column
        return None
