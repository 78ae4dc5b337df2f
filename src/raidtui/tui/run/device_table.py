"""The device table, its filter line, and what can be changed about it."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from raidtui.tui.run.device_rows import CHOICES, HISTORY, LARGE_CHOICE, SMALL_CHOICE, DeviceRows
from raidtui.tui.run.lines import Lines, network_line
from raidtui.tui.run.shown_run import Moment
from raidtui.tui.run.tracks import FrameTrack
from raidtui.tui.widgets.kept_lines import KeptLines
from raidtui.tui.widgets.live_table import LiveTable
from raidtui.tui.widgets.table_line import GAP, place_columns

_ROOM_FOR_ALL = 100
_LEAST_ROWS = 6
_ROWS_BESIDE = 5
"""Lines of the pane that are no devices: border, header, filter, network."""


class FilterLine(Input):
    """Text that is searched in names and roles."""

    DEFAULT_CSS = """
    FilterLine { display: none; background: $panel; padding: 0 1; }
    FilterLine.-open { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear", "No filter", id="filter.clear", tooltip="Show all rows again"),
        Binding("down", "to_table", "Rows", id="filter.rows", tooltip="Back to the rows; the filter stays", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(placeholder="words of a name or a role; esc: all", compact=True, select_on_focus=False)

    def action_clear(self) -> None:
        """Clear the filter and hide its line."""
        self.value = ""
        self.remove_class("-open")
        self.screen.query_one(DeviceTable).focus()

    def action_to_table(self) -> None:
        self.screen.query_one(DeviceTable).focus()


class DeviceTable(LiveTable, inherit_bindings=False):
    """A live table whose left, right, home, end and space are the run's, not its own."""

    HELP = """\
## Devices

What `iostat -x` shows, once a second: members stand below their array. `≠` marks a member that does clearly more or less
than its siblings, `✗` one that was lost while it was measured. `!` stands behind a utilisation of 90 % and more, a
temperature at the disk's own limit (70 °C where it names none), and a latency of three times the median of its siblings.

`o` chooses columns, `s` sorts by the next one, `S` turns the order round, `/` filters, `a` shows devices that the cell has
nothing to do with as well. Shift and left or right scroll what is too wide.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="devices.up", tooltip="One row up"),
        Binding("down,j", "move(1)", "Down", show=False, id="devices.down", tooltip="One row down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="devices.page_up", tooltip="One page up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="devices.page_down", tooltip="One page down"),
        Binding("shift+left", "sideways(-8)", "Left", show=False, id="devices.left", tooltip="Columns further left"),
        Binding("shift+right", "sideways(8)", "Right", show=False, id="devices.right", tooltip="Columns further right"),
    ]
    _moved = False

    def _move_to(self, row: int) -> None:
        self._moved = True
        super()._move_to(row)

    def _restore_cursor(self, was: str | None) -> None:
        """Keep an unmoved cursor on top, whichever device was first there."""
        super()._restore_cursor(was if self._moved else None)


class DevicePane(Vertical, KeptLines):
    """Filter line, table, and a line of the network below while it moves data."""

    DEFAULT_CSS = """
    DevicePane #network { display: none; height: 1; padding: 0 1; }
    DevicePane.-network #network { display: block; }
    """

    def __init__(self, *, id: str, classes: str) -> None:
        super().__init__(id=id, classes=classes)
        self.rows = DeviceRows()
        self._chosen: tuple[str, ...] | None = None
        self._shown: tuple[FrameTrack, Moment] | None = None
        self._one = False
        self._most_rows: int | None = None

    def compose(self) -> ComposeResult:
        yield FilterLine()
        yield DeviceTable((), id="device-table", empty="no device was measured yet")
        network = Lines(id="network")
        network.can_focus = False
        yield network

    @property
    def table(self) -> DeviceTable:
        return self.query_one(DeviceTable)

    @property
    def columns(self) -> tuple[str, ...]:
        """Keys of the columns that are shown: those chosen, else as many as there is room for."""
        return self._chosen or (LARGE_CHOICE if self.size.width >= _ROOM_FOR_ALL else SMALL_CHOICE)

    def choose(self, columns: tuple[str, ...]) -> None:
        """Show these columns from now on."""
        self._chosen = columns
        self.again()

    def take(self, track: FrameTrack, moment: Moment, *, one: bool = False) -> None:
        """Show a moment. Unless the pane is the only one, it is no higher than its rows, and leaves the rest to others."""
        self._shown = (track, moment)
        self._one = one
        self._fit()
        self.rows.take(track, moment)
        self.table.show(self.rows)
        most = None if one else max(_LEAST_ROWS, len(self.rows.keys)) + _ROWS_BESIDE
        if most != self._most_rows:
            self._most_rows = most
            self.styles.max_height = most
        self.set_class(network_line(moment.frames, self.size.width) is not None, "-network")
        self.query_one("#network", Lines).show(lambda width: [line] if (line := network_line(moment.frames, width)) else [])

    def again(self) -> None:
        """Draw the same moment again, with other columns, order or filter."""
        if self._shown is not None:
            self.take(*self._shown, one=self._one)
        self.border_subtitle = self._subtitle()

    def sort_by(self, column: str | None) -> None:
        """Sort by a column, largest first; None is the order of the layout."""
        self.rows.sort, self.rows.descending = column, True
        self._show_sort()

    def sort_next(self) -> None:
        """Sort by the next column, and after the last one in the order of the layout."""
        columns = [None, *(column for column in self.columns if column not in ("device", "role"))]
        at = columns.index(self.rows.sort) if self.rows.sort in columns else 0
        self.sort_by(columns[(at + 1) % len(columns)])

    def turn_round(self) -> None:
        """Smallest first, or largest first again."""
        self.rows.descending = not self.rows.descending
        self._show_sort()

    def every_device(self) -> None:
        """List devices that the cell has nothing to do with, or no longer."""
        self.rows.every_device = not self.rows.every_device
        self.again()

    def ask_filter(self) -> None:
        """Open the line for the filter."""
        line = self.query_one(FilterLine)
        line.add_class("-open")
        line.focus()

    def on_resize(self) -> None:
        """Adapt the columns to the new width."""
        self.again()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.rows.filter = event.value
        self.again()

    @on(Input.Submitted)
    def _done(self, event: Input.Submitted) -> None:
        event.stop()
        self.table.focus()

    @on(LiveTable.HeaderPressed)
    def _header(self, event: LiveTable.HeaderPressed) -> None:
        event.stop()
        if event.key == self.rows.sort:
            self.turn_round()
        else:
            self.sort_by(event.key if event.key not in ("device", "role") else None)

    def _fit(self) -> None:
        columns = [CHOICES[key].column for key in self.columns]
        if self.rows.columns != self.columns:
            self.rows.columns = self.columns
            self.table.columns = columns
        if HISTORY in self.columns:
            found, _ = place_columns(columns, self.table.room, GAP)
            self.rows.history_width = found[self.columns.index(HISTORY)].width

    def _show_sort(self) -> None:
        self.table.sort_by(self.rows.sort, self.rows.descending)
        self.again()

    def _subtitle(self) -> str:
        said = [] if self.rows.sort is None else [f"by {CHOICES[self.rows.sort].column.title}"]
        said += ["filtered"] if self.rows.filter else []
        said += ["every device"] if self.rows.every_device else []
        return " · ".join(said)
