"""Chart of values over time with axes and a playhead. By hand: it draws only the parts of its picture that changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.geometry import Region
from textual.message import Message
from textual.reactive import Reactive
from textual.strip import Strip

from raidtui.tui.widgets.chart_picture import (
    AXIS,
    CURSOR,
    LABEL_WIDTH,
    SERIES,
    TITLE,
    GrowingPlot,
    Look,
    Row,
    Series,
    picture,
)
from raidtui.tui.widgets.glyphs import glyphs
from raidtui.tui.widgets.kept_lines import KeptLines
from raidtui.tui.widgets.plot import WINDOWS_S, clock_text, short_number, window_for, window_text

SERIES_STYLES = 6
_RUN = re.compile(rb"(.)\1*", re.DOTALL)


class Chart(KeptLines, can_focus=True):
    """One or more series over time; see `show`. Without a playhead it follows the newest."""

    HELP = """\
## Chart

Left and right move the playhead, with shift ten times as far, and a click puts it there: the title then shows the values
at that moment, and so do the other panes. Escape goes back to the newest.

`+` and `-` show less or more time (30 s to everything), `L` makes the scale logarithmic or linear.
"""

    ALLOW_MAXIMIZE = True
    ALLOW_SELECT = False
    LEAST_STEP: ClassVar[float] = 1.0
    """Least distance that a key moves the playhead, in seconds."""

    DEFAULT_CSS = """
    Chart {
        height: 1fr;
        min-height: 3;
        background: $surface;
        color: $foreground;
        & > .chart--axis { color: $text-muted; }
        & > .chart--title { color: $foreground; text-style: bold; }
        & > .chart--cursor { background: $block-cursor-blurred-background; text-style: bold; }
        & > .chart--series1 { color: $text-primary; }
        & > .chart--series2 { color: $text-warning; }
        & > .chart--series3 { color: $text-error; }
        & > .chart--series4 { color: $text-success; }
        & > .chart--series5 { color: $text-accent; }
        & > .chart--series6 { color: $text-secondary; }
        &:focus > .chart--title { text-style: bold underline; }
        &:focus > .chart--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
        &:ansi > .chart--cursor, &:nocolor > .chart--cursor { text-style: reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"chart--{name}" for name in ("axis", "title", "cursor", *(f"series{n}" for n in range(1, SERIES_STYLES + 1)))
    }

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "Back", show=False, id="chart.back", tooltip="Playhead one step back"),
        Binding("right", "step(1)", "Forward", show=False, id="chart.forward", tooltip="Playhead one step forward"),
        Binding("shift+left", "step(-10)", "Far back", show=False, id="chart.far_back", tooltip="Playhead ten steps back"),
        Binding("shift+right", "step(10)", "Far forward", show=False, id="chart.far_forward", tooltip="Ten steps forward"),
        Binding("home", "seek_begin", "Begin", show=False, id="chart.begin", tooltip="Playhead to the beginning"),
        Binding("escape,end", "live", "Newest", show=False, id="chart.newest", tooltip="Follow the newest again"),
        Binding("plus,equals_sign", "zoom(-1)", "Zoom in", show=False, id="chart.zoom_in", tooltip="Show less time"),
        Binding("minus", "zoom(1)", "Zoom out", show=False, id="chart.zoom_out", tooltip="Show more time"),
        Binding("L", "log", "Log scale", show=False, id="chart.log", tooltip="Logarithmic or linear scale"),
    ]

    title: Reactive[str] = Reactive("", repaint=False, init=False)
    window_s: Reactive[float | None] = Reactive(None, repaint=False, init=False)
    """Number of shown seconds; None for all."""
    cursor_s: Reactive[float | None] = Reactive(None, repaint=False, init=False)
    """Position of the playhead; None while the newest sample is followed."""
    log_scale: Reactive[bool] = Reactive(False, repaint=False, init=False)

    @dataclass
    class Moved(Message):
        """The playhead came to the second `at_s`; None: the newest sample is followed."""

        chart: Chart
        at_s: float | None

    @dataclass
    class Zoomed(Message):
        """The chart shows the last `window_s` seconds now; None is everything."""

        chart: Chart
        window_s: float | None

    def __init__(
        self, title: str = "", *, id: str | None = None, unit: str = "", format: Callable[[float], str] = short_number,
        window_s: float | None = 60.0, empty: str = "no values yet", axis: str = ""
    ) -> None:  # fmt: skip
        """`format` makes a short text of a value, for the axis and the title; `axis` is the unit of its numbers."""
        super().__init__(id=id)
        self._look = Look(unit=unit, format=format, empty=empty, glyphs=glyphs(), axes=(axis or unit.strip(), "min:s"))
        self.set_reactive(Chart.title, title)
        self.set_reactive(Chart.window_s, window_s)
        self._series: tuple[Series, ...] = ()
        self._marks: Sequence[float] = ()
        self._begin_s = 0.0
        self._until_s = 0.0
        self._ended = False
        self._picture: list[Row] = []
        self._plot = GrowingPlot()
        self._role_styles: dict[int, Style] = {}

    def show(
        self, series: Sequence[Series], *, until_s: float | None = None, begin_s: float | None = None, ended: bool = False,
        marks: Sequence[float] = ()
    ) -> None:  # fmt: skip
        """Take new data. Charts side by side share `begin_s` and `until_s`; without them, the data's own are used.

        With `ended` no room is left for more. At `marks`, in order, there is a vertical line.
        """
        self._series, self._ended, self._marks = tuple(series), ended, marks
        times = [(one.points[0][0], one.points[-1][0]) for one in series if one.points]
        self._begin_s = begin_s if begin_s is not None else min((first for first, _ in times), default=0.0)
        self._until_s = until_s if until_s is not None else max((last for _, last in times), default=self._begin_s)
        self._redraw()

    def measure_in(self, axis: str) -> None:
        """Set the unit of the numbers on the left."""
        self._look = self._look._replace(axes=(axis, self._look.axes[1]))

    def watch_title(self) -> None:
        self._redraw()

    watch_window_s = watch_cursor_s = watch_log_scale = watch_title

    def _window(self) -> tuple[float, float]:
        return window_for(self._begin_s, self._until_s, self.window_s, self.cursor_s, self._ended)

    def _redraw(self) -> None:
        """Make the picture anew, and draw the parts of its lines that changed."""
        before, self._picture = self._picture, self._paint()
        dirty = []
        for y, row in enumerate(self._picture):
            if y >= len(before) or len(before[y].text) != len(row.text) or (y == 0 and before[0] != row):
                dirty.append(Region(0, y, self.size.width, 1))
            elif before[y] != row:
                first, last = changed_span(before[y], row)
                dirty.append(Region(first, y, last - first + 1, 1))
        if dirty:
            self.refresh(*dirty)

    def _paint(self) -> list[Row]:
        look = self._look._replace(title=self.title, log=self.log_scale, note=self.note())
        window = self._window()
        return picture(self._series, look, *self.size, window, self._begin_s, self.cursor_s, self._plot, self._marks)

    def note(self) -> str:
        """Return the place of the playhead, the shown time and the kind of scale."""
        note = window_text(self.window_s) + (" log" if self.log_scale else "")
        return note if self.cursor_s is None else f"at {clock_text(self.cursor_s - self._begin_s)}  {note}"

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if len(self._picture) != self.size.height or (self._picture and len(self._picture[-1].text) != width):
            self._picture = self._paint()
        if y >= len(self._picture):
            return Strip.blank(width, self._style(AXIS))
        segments = [Segment(text, self._style(role)) for text, role in runs(self._picture[y])]
        return Strip(segments).adjust_cell_length(width, self._style(AXIS))

    def _style(self, role: int) -> Style:
        if (style := self._role_styles.get(role)) is None:
            plain = role & ~CURSOR
            number = (plain - SERIES) % SERIES_STYLES + 1
            name = "axis" if plain == AXIS else "title" if plain == TITLE else f"series{number}"
            style = self.get_component_rich_style(f"chart--{name}")
            if role & CURSOR:
                style += self.get_component_rich_style("chart--cursor", partial=True)
            self._role_styles[role] = style
        return style

    def notify_style_update(self) -> None:
        self._role_styles.clear()
        super().notify_style_update()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._role_styles.clear()
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        self._picture = self._paint()
        self.refresh()

    def _move_to(self, at_s: float | None) -> None:
        self.cursor_s = at_s
        self.post_message(self.Moved(self, at_s))

    def action_step(self, steps: int) -> None:
        """Move the playhead by seconds, or by cells of more than a second. Past the newest sample it disappears."""
        start, end = self._window()
        step = max(self.LEAST_STEP, (end - start) / max(1, self.size.width - LABEL_WIDTH))
        at = (self._until_s if self.cursor_s is None else self.cursor_s) + steps * step
        self._move_to(None if at > self._until_s else max(self._begin_s, at))

    def action_seek_begin(self) -> None:
        self._move_to(self._begin_s)

    def action_live(self) -> None:
        self._move_to(None)

    def action_zoom(self, way: int) -> None:
        at = WINDOWS_S.index(self.window_s) if self.window_s in WINDOWS_S else 1
        self.window_s = WINDOWS_S[max(0, min(len(WINDOWS_S) - 1, at + way))]
        self.post_message(self.Zoomed(self, self.window_s))

    def action_log(self) -> None:
        self.log_scale = not self.log_scale

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Have the playhead follow the mouse while a button is pressed."""
        self.capture_mouse()
        self._point_at(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if event.button:
            self._point_at(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()

    def _point_at(self, event: events.MouseEvent) -> None:
        start, end = self._window()
        width = self.size.width - LABEL_WIDTH - (len(self._series) > 1)
        cell = event.get_content_offset_capture(self).x - LABEL_WIDTH
        if width > 0 and 0 <= cell < width:
            at = start + (cell + 0.5) / width * (end - start)
            self._move_to(max(self._begin_s, min(at, self._until_s)))


class SharedTime(Container, KeptLines):
    """Charts with one time: all are zoomed and moved together."""

    def on_chart_moved(self, event: Chart.Moved) -> None:
        for chart in self.query(Chart):
            if chart is not event.chart:
                chart.cursor_s = event.at_s

    def on_chart_zoomed(self, event: Chart.Zoomed) -> None:
        for chart in self.query(Chart):
            if chart is not event.chart:
                chart.window_s = event.window_s


def changed_span(before: Row, after: Row) -> tuple[int, int]:
    """Return the first and last character in which two different lines of one length differ."""
    first, last = 0, len(after.text) - 1
    while before.text[first] == after.text[first] and before.roles[first] == after.roles[first]:
        first += 1
    while before.text[last] == after.text[last] and before.roles[last] == after.roles[last]:
        last -= 1
    return first, last


def runs(row: Row) -> list[tuple[str, int]]:
    """Return the line in pieces of one role. Blanks join the line of the plot before them: fewer pieces are fewer bytes."""
    found: list[tuple[str, int]] = []
    for match in _RUN.finditer(row.roles):
        text, role = row.text[match.start() : match.end()], row.roles[match.start()]
        if role == AXIS and found and SERIES <= found[-1][1] < CURSOR and text.isspace():
            found[-1] = (found[-1][0] + text, found[-1][1])
        elif found and found[-1][1] == role:
            found[-1] = (found[-1][0] + text, role)
        else:
            found.append((text, role))
    return found
