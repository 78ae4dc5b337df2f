"""Panes of the run screen: its top line, the matrix of cells, the charts, and the bar with the names of the panes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Static

from raidtui.base.text import clean
from raidtui.front.phrases import cell_count, ending_line, sample_line
from raidtui.front.progress import RunView, fraction, left_s
from raidtui.model.result import Cell
from raidtui.results.rates import rate, rate_text, unit_of
from raidtui.tui.run.desk import RunDesk
from raidtui.tui.run.hosts_pane import total_words
from raidtui.tui.run.shown_run import Moment, Story
from raidtui.tui.widgets.chart import Chart, SharedTime
from raidtui.tui.widgets.chart_picture import Series
from raidtui.tui.widgets.glyphs import bar, glyphs
from raidtui.tui.widgets.plot import clock_text, short_number
from raidtui.tui.widgets.table_line import fit

_BAR_MOST = 40


def top_lines(desk: RunDesk, moment: Moment, width: int) -> list[Text]:
    """Return exactly three lines: progress, current step, current numbers."""
    return [_progress(desk, moment, width), _doing(desk, moment), _numbers(desk, moment, width)]


def no_run() -> Text:
    """Return the words of a screen without a run."""
    return Text.assemble(
        ("No run", "bold"), "\n\n",
        ("3", "bold"), " Plan starts one\n", ("l", "bold"), " lists earlier ones",
    )  # fmt: skip


def _progress(desk: RunDesk, moment: Moment, width: int) -> Text:
    view = moment.view
    at_s = moment.at_s if moment.past else desk.elapsed_s
    share = fraction(view, at_s)
    tail = f" {share * 100:3.0f} %  {clock_text(at_s)}"
    if view.finished is None and not moment.past and desk.running and (left := left_s(view, at_s)) is not None:
        tail += f"  {clock_text(left)} left"
    bar_width = max(8, min(_BAR_MOST, width // 4))
    room = max(8, width - bar_width - len(tail) - 2)
    line = Text(no_wrap=True)
    line.append(_fitted(view.title, room) + " ", "strong")
    line.append_text(bar(share * 100, bar_width, "accent"))
    return line.append(tail)


def _doing(desk: RunDesk, moment: Moment) -> Text:
    view = moment.view
    if view.recovered is not None and not moment.past:
        return Text("recovered" if not view.recovered.exit else "something is still left: r recovers")
    if view.finished is not None:
        good = view.finished.exit == 0
        sign = glyphs().good if good else glyphs().bad
        words = ending_line(view, view.finished).removeprefix(f"run {clean(view.run)} ")
        return Text.assemble((f"{sign} {words}", "good" if good else "alert"))
    if desk.feed_state.word == "ended" and desk.feed_state.problem is not None and not moment.past:
        words = clean(desk.feed_state.problem.message)
        return Text(f"! {words}" + (" · r recovers" if desk.interrupted else ""), style="alert")
    if view.plan is None:
        return Text("reading the run's journal …" if desk.feed_state.word == "reading" else "")
    said = Text(f"{cell_count(view)}{clean(view.step.title) if view.step else 'starting'}")
    if view.step_text and not view.step_done:
        share = "" if view.step_fraction is None or "%" in view.step_text else f" {view.step_fraction * 100:.0f} %"
        said.append(f" · {clean(view.step_text)}{share}", "accent")
    if view.cancel_asked:
        said = Text("cancelling · ", style="warn") + said
    return said


def _numbers(desk: RunDesk, moment: Moment, width: int) -> Text:
    line = Text()
    if moment.past:
        line.append(f"at {clock_text(moment.at_s)} of {clock_text(desk.story.end_s)} (esc: newest)  ", "warn")
    elif desk.feed_state.word == "lost":
        line.append("connection lost, it is being tried again  ", "warn")
    if moment.view.sample is not None:
        line.append("filling: " if moment.view.prefill else "", "accent")
        whole = sample_line(moment.view.sample)
        fits = len(line) + len(whole) <= width
        line.append(whole if fits else sample_line(moment.view.sample, short=True))
    elif desk.saved and moment.view.finished is not None:
        line.append("enter", "strong").append(" opens the result").append(f" · {clean(desk.saved, 4096)}", "dim")
    elif desk.source in ("opened", "file") and not moment.past:
        line.append("left and right move through the run, [ and ] from cell to cell", "dim")
    elif moment.view.finished is None and (words := total_words(desk.story, moment)):
        line.append(words)
    elif moment.view.finished is None and moment.view.plan is not None:
        line.append("nothing is measured at this moment", "dim")
    return line


_LEAST_COLUMN = 11
_NAME_MOST = 24
_MOST_SIGNS = 12
"""Above that, signs are counted."""


class Square(NamedTuple):
    """All cells of one layout and workload: rounds, and parts where a layout is measured disk by disk."""

    signs: tuple[str, ...]
    """State of each cell, in the order of the plan: `valid`, `invalid`, `running`, `skipped` or `planned`."""
    value: str
    """Rate of the latest valid cell."""


def squares(view: RunView) -> dict[tuple[str, str], Square]:
    """Return the cells by layout and workload, in the order of the plan."""
    done = {(cell.id, cell.part): cell for cell in view.cells}
    found: dict[tuple[str, str], list[tuple[str, Cell | None]]] = {}
    for planned in view.plan.cells if view.plan else ():
        cell = done.get((planned.id, planned.part))
        running = view.cell is not None and view.cell.cell == planned.id
        waiting = "running" if running else "skipped" if planned.id in view.skipped else "planned"
        sign = ("valid" if cell.valid else "invalid") if cell else waiting
        found.setdefault((planned.layout, planned.workload), []).append((sign, cell))
    return {key: Square(tuple(sign for sign, _ in cells), _value(cells)) for key, cells in found.items()}


def _value(cells: list[tuple[str, Cell | None]]) -> str:
    last = next((cell for sign, cell in reversed(cells) if sign == "valid" and cell), None)
    if last is None:
        return ""
    unit = unit_of([last])
    return f"{rate_text(rate(last, unit), unit)} {unit}"


def matrix_lines(found: Mapping[tuple[str, str], Square], width: int) -> list[Text]:
    """Return a grid if the columns fit, else workloads below their layout."""
    layouts = list(dict.fromkeys(layout for layout, _ in found))
    workloads = list(dict.fromkeys(workload for _, workload in found))
    if not found:
        return []
    name_width = min(_NAME_MOST, max(cell_len(clean(name)) for name in layouts))
    signs_width = max(len(_signs(square)) for square in found.values())
    value_width = max(14, max(cell_len(square.value) for square in found.values()))
    full = signs_width + 1 + value_width
    for column in (max(full, *(cell_len(clean(name)) for name in workloads)), full, max(signs_width, _LEAST_COLUMN)):
        if name_width + len(workloads) * (column + 2) <= width:
            return _grid(found, layouts, workloads, name_width, column)
    return _list(found, layouts, width)


def _grid(
    found: Mapping[tuple[str, str], Square], layouts: list[str], workloads: list[str], name_width: int, column: int
) -> list[Text]:
    head = Text(" " * name_width, style="dim", no_wrap=True)
    for workload in workloads:
        head.append("  " + _fitted(workload, column))
    lines = [head]
    for layout in layouts:
        line = Text(_fitted(layout, name_width), no_wrap=True)
        for workload in workloads:
            square = found.get((layout, workload))
            line.append("  ")
            line.append_text(_square(square, column) if square else Text(" " * column))
        lines.append(line)
    return lines


def _list(found: Mapping[tuple[str, str], Square], layouts: list[str], width: int) -> list[Text]:
    lines = []
    signs_width = max(len(_signs(square)) for square in found.values())
    value_width = max(cell_len(square.value) for square in found.values())
    column = signs_width + (1 + value_width if value_width else 0)
    name_width = max(4, width - column - 3)
    for layout in layouts:
        lines.append(Text(clean(layout), style="strong", no_wrap=True))
        for (of, workload), square in found.items():
            if of == layout:
                line = Text("  " + _fitted(workload, name_width) + " ", no_wrap=True)
                lines.append(line.append_text(_square(square, column)))
    return lines


def _square(square: Square, width: int) -> Text:
    text = _signs(square)
    if square.value and len(text) + 1 + cell_len(square.value) <= width:
        text.append(square.value.rjust(width - len(text)))
    return text if len(text) >= width else text.append(" " * (width - len(text)))


def _signs(square: Square) -> Text:
    text, known = Text(no_wrap=True), _known_signs()
    if len(square.signs) <= _MOST_SIGNS:
        for name in square.signs:
            text.append(*known[name])
        return text
    for name, (sign, style) in known.items():
        if count := square.signs.count(name):
            text.append(f"{' ' if text else ''}{count}{sign}", style)
    return text


def _known_signs() -> dict[str, tuple[str, str]]:
    """Return sign and style by state."""
    known = glyphs()
    return {
        "valid": (known.good, "good"), "invalid": (known.bad, "alert"), "running": (known.now, "accent"),
        "skipped": (known.skipped, "dim"), "planned": (known.later, "dim"),
    }  # fmt: skip


def _fitted(name: str, width: int) -> str:
    return fit(clean(name), width, "left", glyphs().ellipsis)[0]


_IOPS, _RATE, _LATENCY = "iops", "rate", "latency"
_DISKS_STYLE = 4
"""Style of the first series of the disks: not one that means a warning."""
_FIGURES = {
    _IOPS: (("read", "read_iops"), ("write", "write_iops")),
    _RATE: (("read", "read_bytes_per_s"), ("write", "write_bytes_per_s")),
    _LATENCY: (("mean", "mean_us"), ("p99", "p99_us"), ("max", "max_us")),
}


def short_latency(us: float) -> str:
    """Return a latency in three digits: `85µs`, `1.24ms`, `500ms`."""
    if us <= 0:
        return "0"
    size, unit = (1, "µs") if us < 999.5 else (1e3, "ms") if us < 999_500 else (1e6, "s")
    return f"{us / size:.3g}{unit}"


class RunCharts(SharedTime):
    """IOPS, MB/s and latency over the run."""

    DEFAULT_CSS = """
    RunCharts { layout: horizontal; }
    RunCharts > Chart { width: 1fr; margin: 0 1 0 0; }
    RunCharts > #latency { margin: 0; }
    """

    def compose(self) -> ComposeResult:
        texts = (("IOPS", _IOPS, short_number), ("MB/s", _RATE, lambda bytes_per_s: short_number(bytes_per_s / 1e6)),
                 ("Latency", _LATENCY, short_latency))  # fmt: skip
        for title, id_, text in texts:
            yield Chart(title, id=id_, format=text, empty="nothing was measured yet", axis="" if id_ == _LATENCY else title)

    @property
    def leading(self) -> Chart:
        """The chart that keys of the screen go to; the others follow it."""
        return self.query_one(f"#{_IOPS}", Chart)

    def take(self, story: Story, until_s: float, *, ended: bool) -> None:
        """Show the run's samples with this second as the newest, or as the last of a run that has ended; and what the disks
        do where there are none.
        """
        edges = story.cell_edges()
        for chart in self.query(Chart):
            figures = _FIGURES[chart.id or ""]
            lines = [Series(name, story.samples.lines[figure]) for name, figure in figures]
            lines += [
                Series(f"disks {name}", story.disks.lines[figure], style)
                for style, (name, figure) in enumerate(figures, _DISKS_STYLE) if figure in story.disks.lines
            ]  # fmt: skip
            shown = [line for line in lines if line.points]
            chart.show(shown, until_s=until_s, begin_s=0.0, ended=ended, marks=edges)

    def look_at(self, window_s: float | None) -> None:
        """Show the last `window_s` seconds, or everything, and no playhead."""
        for chart in self.query(Chart):
            chart.window_s, chart.cursor_s = window_s, None


class _Tab(Static):
    DEFAULT_CSS = """
    _Tab { width: auto; padding: 0 1; color: $text-muted; }
    _Tab:hover { background: $panel; }
    _Tab.-here { color: $primary; text-style: bold underline; }
    """

    def __init__(self, pane: str, words: str) -> None:
        super().__init__(Text(words), id=f"tab-{pane}")
        self.pane = pane

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(PaneBar.Chosen(self.pane))


class PaneBar(Horizontal):
    """One line of names. A click shows the pane."""

    DEFAULT_CSS = """
    PaneBar { height: 1; background: $surface; }
    PaneBar > .note { width: 1fr; color: $text-muted; text-align: right; padding: 0 1; }
    """

    @dataclass
    class Chosen(Message):
        """A pane's name was clicked."""

        pane: str

    def __init__(self, panes: dict[str, str]) -> None:
        """Names of the panes, by id."""
        super().__init__()
        self._panes = panes
        self._note = ""

    def compose(self) -> ComposeResult:
        for pane, words in self._panes.items():
            yield _Tab(pane, words)
        yield Static(classes="note")

    def offer(self, panes: Collection[str]) -> None:
        """Show the names of these panes alone."""
        for tab in self.query(_Tab):
            tab.display = tab.pane in panes

    def mark(self, pane: str, note: str = "") -> None:
        """Show that this pane is the one in view, and a word about it on the right."""
        for tab in self.query(_Tab):
            tab.set_class(tab.pane == pane, "-here")
        if note != self._note:
            self._note = note
            self.query_one(".note", Static).update(Text(note, no_wrap=True, overflow="ellipsis"))
