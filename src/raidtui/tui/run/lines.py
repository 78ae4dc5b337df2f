"""Panes of lines: the log of steps, and the other activity of the server (cores, kernel threads, arrays, temperatures)."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from raidtui.base.text import clean
from raidtui.model.frame import Frames
from raidtui.model.units import size_text
from raidtui.tui.run.device_rows import FULL_PERCENT, number_text, too_hot
from raidtui.tui.run.shown_run import LogLine, Moment
from raidtui.tui.widgets.glyphs import bar, glyphs, spark
from raidtui.tui.widgets.kept_lines import KeptLines
from raidtui.tui.widgets.plot import clock_text
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
        self._make: Callable[[int], Sequence[Line] | LogText] = lambda width: ()
        self._lines: Sequence[Line] | LogText = ()
        self._made_for = 0
        self._drawn: dict[int, str | Cell | None] = {}
        """Drawn lines, by line in view."""
        self._styles: dict[str, Style] = {}

    def show(self, make: Callable[[int], Sequence[Line] | LogText]) -> None:
        """Show the lines that `make` returns for a width in cells, again for another width; only those in view are read."""
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
        self.virtual_size = Size(width, len(self._lines))
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
        self._remake()
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._at_end = self.scroll_offset.y >= self.max_scroll_y

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """Tell a new scrollbar the position that was scrolled to before it appeared."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def notify_style_update(self) -> None:
        self._styles.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        width, base = self._room, self._resolve("")
        if width != self._made_for and width > 0:  # drawn before the event that tells of it
            self._lines, self._made_for = self._make(width), width
        line = self._drawn[y] = self._line(y)
        if line is None:
            return Strip.blank(width, base)
        builder = LineBuilder(base, self._resolve, glyphs())
        builder.cell(line, width, "left")
        return Strip(builder.segments()).adjust_cell_length(width, base)

    def _resolve(self, style: str | Style) -> Style:
        """Return the style of one of `STATES`, or of text without a style (empty)."""
        if isinstance(style, Style):
            return style
        if (known := self._styles.get(style)) is None:
            known = self._styles[style] = self._look(f"lines--{style}") if style in STATES else self.rich_style
        return known

    def _look(self, name: str) -> Style:
        """Return a component's own style, with a translucent colour blended into the background."""
        blended = self.get_component_rich_style(name)
        return self.get_component_rich_style(name, partial=True) + Style(color=blended.color)

    def action_lines(self, count: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + count, animate=False)

    def action_pages(self, count: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + count * max(1, self.size.height - 1), animate=False)


_TIME_WIDTH = 8
_INDENT = _TIME_WIDTH + 3
_TOLD_WHOLE = ("warning", "error", "invalid")
_WORTH_TELLING_S = 1.0


class LogText:
    """Log lines at a second of the run, each made when it is drawn. Errors are wrapped, other lines cut."""

    def __init__(self, lines: Sequence[LogLine], at_s: float, width: int) -> None:
        self._at_s = at_s
        room = max(20, width - _INDENT)
        self._rows: list[LogLine | str] = []
        for line in lines:
            self._rows.append(line)
            if line.kind in _TOLD_WHOLE and len(line.text) > room:
                self._rows += textwrap.wrap(line.text, room)[1:]
        self._room = room

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Text:
        row = self._rows[index]
        if isinstance(row, str):
            return Text(" " * _INDENT + row, style="alert", no_wrap=True)
        if row.kind in _TOLD_WHOLE and len(row.text) > self._room:
            return log_line(row, self._at_s, textwrap.wrap(row.text, self._room)[0])
        return log_line(row, self._at_s)


def log_line(line: LogLine, at_s: float, words: str | None = None) -> Text:
    """Return a line as it was at a second of the run; `words` replace its text if only the first line of it fits."""
    sign, style = _sign(line, at_s)
    text = Text(no_wrap=True)
    text.append(clock_text(line.at_s).rjust(_TIME_WIDTH), "dim").append(f" {sign} ", style)
    text.append(words or line.text, style if line.kind in _TOLD_WHOLE else "")
    ended = line.ended_s is not None and line.ended_s <= at_s
    if line.kind == "step" and ended:
        took_s = (line.ended_s or 0.0) - line.at_s
        told = [line.outcome] if line.outcome not in ("", "done") else []
        told += [f"{took_s:.1f} s"] if took_s >= _WORTH_TELLING_S else []
        if told:
            text.append("  " + ", ".join(told), "alert" if line.failed else "dim")
    return text


def _sign(line: LogLine, at_s: float) -> tuple[str, str]:
    """Return the sign of a line and its style, at a second of the run."""
    known = glyphs()
    if line.kind == "step":
        if line.ended_s is None or line.ended_s > at_s:
            return known.now, "accent"
        return (known.bad, "alert") if line.failed else (known.good, "dim")
    return {
        "note": (known.dot, "dim"), "warning": ("!", "warn"), "error": (known.bad, "alert"), "valid": (known.good, "good"),
        "invalid": (known.bad, "alert"), "end": (known.end, "strong"),
    }[line.kind]  # fmt: skip


_CORE_WIDTH = 24
_MOST_BARS = 16
"""Cores above that are drawn one cell each."""
_MOST_THREADS = 8
_BUSY_PERCENT = 0.05


def machine_lines(moment: Moment, width: int) -> list[Text]:
    """Return the server's other activity. Arrays come first: a resync makes numbers invalid."""
    frames = moment.frames
    parts = (_arrays(moment, width), _caches(frames, width), _cores(frames, width), _temperatures(moment, width),
             _threads(frames, width))  # fmt: skip
    lines: list[Text] = []
    for part in map(list, parts):
        if part and lines:
            lines.append(Text())
        lines += part
    return lines


def _arrays(moment: Moment, width: int) -> Iterator[Text]:
    if arrays := moment.frames.md:
        yield Text("Arrays", style="strong")
    for name, state in arrays.items():
        line = Text(f"{clean(name, 20):<8} ", no_wrap=True)
        at_work = state.action not in (None, "idle")
        # A member that is being built counts as missing to the kernel: a new raid5 is built that way.
        syncing = (state.degraded or at_work) and _builds(moment)
        style = "accent" if syncing else "warn"
        if syncing:
            line.append("building" if at_work else "building, waits for its sync", style)
        elif at_work:
            line.append(clean(state.action, 20), style)
            line.append(f", {state.degraded} not in sync yet" if state.degraded else "", style)
        else:
            line.append(clean(state.array_state or "gone", 20))
        if state.degraded and not syncing and state.action not in ("recover", "resync"):
            line.append(f"  {glyphs().bad} {state.degraded} missing", "alert")
        if at_work and state.done_sectors is not None and state.total_sectors:
            share = 100 * state.done_sectors / state.total_sectors
            line.append(f", {share:.0f} % ", style)
            line.append_text(bar(share, max(4, min(20, width - len(line))), style))
        yield line


def _builds(moment: Moment) -> bool:
    """Return True while a layout is built, and nothing was measured on it yet."""
    view = moment.view
    return view.cell is None and view.finished is None and view.step is not None and not view.cancel_asked


def _caches(frames: Frames, width: int) -> Iterator[Text]:
    """Return the hits of each cache since the previous frame, and its fill level."""
    # ZFS has its ARC as soon as its module is loaded, whether or not a pool is there.
    asked = {name: state for name, state in frames.caches.items() if name != "arc" or state.hits + state.misses}
    if not asked:
        return
    yield Text.assemble(("Caches", "strong"), ("  reads found", "dim"))
    for name, state in asked.items():
        hits = frames.hit_percent(name)
        line = Text(f"{clean(name, 20):<8} ", no_wrap=True).append("   no reads" if hits is None else f"{hits:9.1f} %")
        for size, words in ((state.size_bytes, ""), (state.target_bytes, "of "), (state.dirty_bytes, "dirty ")):
            if size is not None:
                line.append(f"  {words}{size_text(size)}", "dim" if words != "dirty " or not size else "warn")
        line.truncate(max(0, width))
        yield line


def _cores(frames: Frames, width: int) -> Iterator[Text]:
    busy = {name: rates.busy for name in frames.cpus if (rates := frames.cpu_rates(name)) is not None}
    if not busy:
        return
    head = Text.assemble(("CPU", "strong"), no_wrap=True)
    head.append(f"  {sum(busy.values()) / 100:.1f} of {len(frames.cpus)} cores busy", "dim")
    yield head
    if len(busy) > _MOST_BARS:
        levels = list(busy.values())
        for first in range(0, len(levels), width):
            yield spark(levels[first : first + width], min(width, len(levels) - first), top=100.0, style="accent")
        return
    columns = max(1, min(len(busy), width // _CORE_WIDTH))
    each = width // columns
    names = sorted(busy, key=lambda name: (len(name), name))
    rows = -(-len(names) // columns)
    for row in range(rows):
        line = Text(no_wrap=True)
        for name in names[row::rows]:
            line.append(f"{clean(name, 6).removeprefix('cpu'):>3} ")
            full = busy[name] >= FULL_PERCENT
            line.append_text(bar(busy[name], max(4, min(30, each - 10)), "warn" if full else "accent"))
            line.append(f"{busy[name]:4.0f}{'!' if full else ' '} ", "warn" if full else "")
        yield line


def _threads(frames: Frames, width: int) -> Iterator[Text]:
    """Return the busiest threads. They come last, since their number changes every second."""
    known = frames.thread_rates()
    if not known:
        return
    yield Text.assemble(("Kernel threads", "strong"), ("  % of a core", "dim"))
    busy = sorted(((percent, name) for name, percent in known.items() if percent >= _BUSY_PERCENT), reverse=True)
    if not busy:
        yield Text("all idle", style="dim")
    name_width = max(8, min(24, width - 20))
    for percent, name in busy[:_MOST_THREADS]:
        line = Text(f"{clean(name, name_width):<{name_width}} ", no_wrap=True)
        full = percent >= FULL_PERCENT
        line.append_text(bar(percent, max(4, min(20, width - name_width - 9)), "warn" if full else "accent"))
        yield line.append(f"{percent:6.1f}{' !' if full else ''}", "warn" if full else "")


def network_line(frames: Frames, width: int) -> Text | None:
    """Return the interfaces that move noticeable data, the busiest first, as far as they fit; None if there are none."""
    found = [(name, rates) for name in frames.networks if (rates := frames.network_rates(name)) and rates.noticeable]
    if not found:
        return None
    line = Text(no_wrap=True).append("Network MB/s", "strong")
    for name, rates in sorted(found, key=lambda one: -one[1].busiest_bytes_per_s):
        part = Text(f"  {clean(name, 20)}").append(" in ", "dim").append(number_text(rates.received_bytes_per_s / 1e6))
        part.append(" out ", "dim").append(number_text(rates.sent_bytes_per_s / 1e6))
        if rates.lost:
            part.append(f" {glyphs().bad} {rates.lost} lost", "alert")
        if line.cell_len + part.cell_len > width:
            return line.append(glyphs().ellipsis, "dim") if line.cell_len < width else line
        line.append_text(part)
    return line


def _temperatures(moment: Moment, width: int) -> Iterator[Text]:
    of = moment.cell.devices if moment.cell else moment.frames.temperatures_c
    known = {name: celsius for name, celsius in moment.frames.temperatures_c.items() if name in of}
    if not known:
        return
    yield Text.assemble(("Temperatures", "strong"), (f"  {glyphs().degree}", "dim"))
    each = max(len(clean(name, 20)) for name in known) + 6
    columns = max(1, width // each)
    hottest = sorted(known, key=lambda name: (-known[name], name))
    for first in range(0, len(hottest), columns):
        line = Text(no_wrap=True)
        for name in hottest[first : first + columns]:
            hot = too_hot(moment.frames, name)
            line.append(f"{clean(name, 20):<{each - 6}}", "dim")
            line.append(f"{known[name]:4.0f}{'!' if hot else ' '} ", "warn" if hot else "")
        yield line
