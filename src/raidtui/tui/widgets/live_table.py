"""A table for figures that change every second: one widget that draws only the lines that changed.

By hand, since a `DataTable` of 64 × 12 cells takes 53 ms for each change of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from raidtui.tui.widgets.table_line import GAP, Column, Selection
from raidtui.tui.widgets.table_view import MARK_WIDTH, STATES, Rows, TableView


class LiveTable(TableView, can_focus=True):
    """Rows of figures with a cursor. See `Rows` for what it shows and `Column` for its columns."""

    HELP = """\
## Table

Move with the arrow keys, page up, page down, home and end; left and right scroll what is too wide, the first column stays.

Enter or a double click opens the row. `<` and `>` sort by another column, as does a click on its title; the same title
again turns the order round.

Where rows can be selected: space, or control and click, selects one; shift and up or down, shift and click, or `v` and
moving select a range; escape ends it.
"""

    DEFAULT_CSS = """
    LiveTable {
        height: 1fr;
        background: $surface;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        & > .livetable--header { color: $text-muted; background: $panel; text-style: bold; }
        & > .livetable--odd { background: $foreground 4%; }
        & > .livetable--cursor { background: $block-cursor-blurred-background; color: $block-cursor-blurred-foreground; }
        & > .livetable--selected { text-style: bold; color: $text-accent; }
        & > .livetable--dim { color: $text-disabled; }
        & > .livetable--alert { color: $text-error; text-style: bold; }
        & > .livetable--warn { color: $text-warning; }
        & > .livetable--good { color: $text-success; }
        & > .livetable--accent { color: $text-accent; }
        & > .livetable--series1 { color: $text-primary; }
        & > .livetable--series2 { color: $text-warning; }
        & > .livetable--series3 { color: $text-error; }
        & > .livetable--series4 { color: $text-success; }
        & > .livetable--series5 { color: $text-accent; }
        & > .livetable--series6 { color: $text-secondary; }
        & > .livetable--empty { color: $text-muted; }
        &:focus > .livetable--cursor {
            background: $block-cursor-background; color: $block-cursor-foreground; text-style: $block-cursor-text-style;
        }
        &:ansi > .livetable--odd { background: $background; }
        &:ansi > .livetable--header { background: $background; text-style: bold underline; }
        &:ansi > .livetable--cursor, &:nocolor > .livetable--cursor { text-style: underline; }
        &:ansi:focus > .livetable--cursor { text-style: bold; }
        &:nocolor:focus > .livetable--cursor { text-style: bold reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"livetable--{name}" for name in ("row", "header", "odd", "cursor", "selected", "empty", *STATES)
    }

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="table.up", tooltip="One row up"),
        Binding("down,j", "move(1)", "Down", show=False, id="table.down", tooltip="One row down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="table.page_up", tooltip="One page up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="table.page_down", tooltip="One page down"),
        Binding("home,g", "end(-1)", "First", show=False, id="table.first", tooltip="To the first row"),
        Binding("end,G", "end(1)", "Last", show=False, id="table.last", tooltip="To the last row"),
        Binding("left,h", "sideways(-8)", "Left", show=False, id="table.left", tooltip="Show columns further left"),
        Binding("right,l", "sideways(8)", "Right", show=False, id="table.right", tooltip="Show columns further right"),
        Binding("enter", "choose", "Open", show=False, id="table.open", tooltip="Open the row under the cursor"),
        Binding("less_than_sign", "sort(-1)", "Sort", show=False, id="table.sort_left", tooltip="Sort by the column left"),
        Binding("greater_than_sign", "sort(1)", "Sort", show=False, id="table.sort_right", tooltip="Sort by the next one"),
        Binding("space", "select", "Select", show=False, id="table.select", tooltip="Select the row, or no longer"),
        Binding("v", "range", "Range", show=False, id="table.range", tooltip="Select a range by moving; again to end it"),
        Binding("shift+up", "extend(-1)", "Select up", show=False, id="table.extend_up", tooltip="Select upwards"),
        Binding("shift+down", "extend(1)", "Select down", show=False, id="table.extend_down", tooltip="Select downwards"),
        Binding("escape", "end_range", "End range", show=False, id="table.range_end", tooltip="End the range"),
    ]

    @dataclass
    class _About(Message):
        table: LiveTable
        key: str = ""

        @property
        def control(self) -> LiveTable:
            return self.table

    class Highlighted(_About):
        """The cursor came to the row `key`."""

    class Chosen(_About):
        """Enter was pressed on the row `key`, or it was clicked twice."""

    class HeaderPressed(_About):
        """The title of the column `key` was clicked, or the next column was asked for to sort by."""

    class Unselectable(_About):
        """The row `key` was to be selected and cannot be."""

    class SelectionChanged(_About):
        """Other rows are selected now: `table.selected`."""

    def __init__(
        self, columns: Sequence[Column], *, id: str | None = None, empty: str = "nothing to show",
        multi: bool = False, selectable: Callable[[str], bool] | None = None
    ) -> None:  # fmt: skip
        """`selectable` tells which rows may be selected where `multi` allows it: all, if it is not given."""
        super().__init__(columns, id=id, empty=empty, margin=MARK_WIDTH if multi else 0)
        self.multi = multi
        self._picked = Selection(selectable)

    def show(self, rows: Rows) -> None:
        """Take new values, perhaps new rows. Draws the changed lines in view; the cursor stays on its row."""
        self.rows = rows
        keys = rows.keys
        if keys != self.row_keys:
            self._take_keys(list(keys))
        self.refresh_changed()

    def _take_keys(self, keys: list[str]) -> None:
        was, followed, had_rows = self.cursor_key, self._cursor_in_view(), bool(self.row_keys)
        self.row_keys = keys
        self._restore_cursor(was)
        if self._picked.keep(keys):
            self._tell_selection()
        self.fit_columns()
        if followed:
            self._scroll_to_cursor()
        if had_rows != bool(keys):
            self.redraw()

    # Cursor and selection.

    @property
    def cursor_key(self) -> str | None:
        return None if self.cursor_row is None else self.row_keys[self.cursor_row]

    @cursor_key.setter
    def cursor_key(self, key: str) -> None:
        if key in self.row_keys:
            self._move_to(self.row_keys.index(key))

    @property
    def selected(self) -> frozenset[str]:
        """Keys of the selected rows. What is not shown, or cannot be selected, is left out when they are set."""
        return self._picked.keys

    @selected.setter
    def selected(self, keys: Collection[str]) -> None:
        self._picked.end_range()
        self._after_selecting(self._picked.replace(frozenset(keys) & frozenset(self.row_keys)))

    def _restore_cursor(self, was: str | None) -> None:
        """Put the cursor on the row that it was on, or the nearest one."""
        if not self.row_keys:
            self.cursor_row = None
            return
        row = min(self.cursor_row or 0, len(self.row_keys) - 1)
        if was is not None and self.row_keys[row] != was and was in self.row_keys:
            row = self.row_keys.index(was)
        self.cursor_row = row
        if self.row_keys[row] != was:
            self.post_message(self.Highlighted(self, self.row_keys[row]))

    def _move_to(self, row: int) -> None:
        if not self.row_keys:
            return
        row = max(0, min(row, len(self.row_keys) - 1))
        if row != self.cursor_row:
            self.cursor_row = row
            self.post_message(self.Highlighted(self, self.row_keys[row]))
        self._scroll_to_cursor()
        self.refresh_changed()

    def _cursor_in_view(self) -> bool:
        if self.cursor_row is None:
            return True
        return 0 <= self.cursor_row - self.scroll_offset.y < self.size.height - 1

    def _scroll_to_cursor(self) -> None:
        if self.cursor_row is None or self._cursor_in_view():
            return
        above = self.cursor_row < self.scroll_offset.y
        y = self.cursor_row if above else self.cursor_row - (self.size.height - 2)
        self.scroll_to(y=max(0, y), animate=False)

    def _tell_selection(self) -> None:
        self.marked = self.selected
        self.post_message(self.SelectionChanged(self))

    def _after_selecting(self, changed: bool) -> None:
        if changed:
            self._tell_selection()
            self.refresh_changed()

    def _toggle(self, key: str) -> None:
        if self._picked.toggle(key):
            self._after_selecting(True)
        else:
            self.post_message(self.Unselectable(self, key))

    def _extend(self) -> None:
        if self.cursor_key is not None:
            self._after_selecting(self._picked.extend_to(self.cursor_key, self.row_keys))

    # Keys.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer selection only if rows can be selected."""
        if action in ("select", "range", "extend"):
            return self.multi
        return self._picked.sticky if action == "end_range" else True

    def action_move(self, rows: int) -> None:
        if not self._picked.sticky:
            self._picked.end_range()
        self._move_to((self.cursor_row or 0) + rows)
        if self._picked.sticky:
            self._extend()

    def action_page(self, pages: int) -> None:
        self.action_move(pages * max(1, self.size.height - 2))

    def action_end(self, way: int) -> None:
        self.action_move(way * len(self.row_keys))

    def action_sideways(self, cells: int) -> None:
        self.scroll_to(x=max(0, min(self.scroll_offset.x + cells, self._wide - self.room)), animate=False, force=True)

    def action_choose(self) -> None:
        if self.cursor_key is not None:
            self.post_message(self.Chosen(self, self.cursor_key))

    def action_sort(self, way: int) -> None:
        keys = [column.key for column in self.columns]
        at = keys.index(self.sort_key) if self.sort_key in keys else -1 if way > 0 else 0
        self.post_message(self.HeaderPressed(self, keys[(at + way) % len(keys)]))

    def action_select(self) -> None:
        if self.cursor_key is not None:
            self._toggle(self.cursor_key)
            self.action_move(1)

    def action_range(self) -> None:
        if self._picked.sticky:
            self._picked.end_range()
        elif self.cursor_key is not None:
            self._picked.begin_range(self.cursor_key, sticky=True)
            self._extend()
        self.refresh_bindings()

    def action_end_range(self) -> None:
        self._picked.end_range()
        self.refresh_bindings()

    def action_extend(self, rows: int) -> None:
        if self.cursor_key is not None:
            self._picked.begin_range(self.cursor_key)
            self._move_to((self.cursor_row or 0) + rows)
            self._extend()

    # Mouse.

    def on_click(self, event: events.Click) -> None:
        """A click on a title sorts. On a row it moves the cursor, with control or shift it selects, twice it opens."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        event.stop()
        if offset.y == 0:
            if (column := self.column_at(offset.x)) is not None:
                self.post_message(self.HeaderPressed(self, column.key))
        elif (row := offset.y - 1 + self.scroll_offset.y) < len(self.row_keys):
            self._click_row(row, event, on_mark=offset.x < MARK_WIDTH + GAP)

    def _click_row(self, row: int, event: events.Click, on_mark: bool) -> None:
        key = self.row_keys[row]
        if self.multi and event.shift and self.cursor_key is not None:
            self._picked.begin_range(self.cursor_key)
            self._move_to(row)
            self._extend()
            return
        if not self._picked.sticky:
            self._picked.end_range()
        self._move_to(row)
        if self.multi and (event.ctrl or on_mark):
            self._toggle(key)
        elif self._picked.sticky:
            self._extend()
        elif event.chain == 2:
            self.post_message(self.Chosen(self, key))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        offset = event.get_content_offset(self)
        column = self.column_at(offset.x) if offset is not None and offset.y == 0 else None
        self.tooltip = column.help or None if column is not None else None
