"""Lines of the pane with the distribution of a cell's latency."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Final

from rich.text import Text

from raidtui.base.text import clean, plural
from raidtui.model.latency_bins import Bins, edges, median_bin
from raidtui.tui.run.latency_track import DIRECTIONS, LatencyTrack, Spread
from raidtui.tui.run.lines import Lines
from raidtui.tui.run.shown_run import Moment
from raidtui.tui.widgets.glyphs import bar, glyphs

OUTLIER_TIMES: Final = 10
"""So many times the median, an operation is an outlier."""


class LatencyPane(Lines):
    """The distribution of latency of the cell that is measured, or of the one before."""

    HELP = """\
## Latency

How many operations took how long: each line counts those from its latency up to that of the next line, in the cell so far,
and in the last second. `!` marks outliers: ten times the median and more.

fio counts every operation, and is asked every second; at the end of the cell its report stands. Another tool, and fio on
other hosts, say nothing of it while they run: then the lines count seconds of the measured device by the mean latency of
their requests, from the kernel's counters, and say so.

`d` shows and hides this pane.
"""


def latency_lines(track: LatencyTrack, moment: Moment, width: int) -> list[Text]:
    """Return the distribution of the cell at a moment, or of the one before: its source, then a bar for each bin."""
    cell = moment.cell.cell if moment.cell else ""
    if not track.of(cell) and moment.view.cells:
        cell = moment.view.cells[-1].id
    spread = track.of(cell)
    if spread is None or not (spread.operations or spread.seconds):
        return [Text("no latency was measured yet", style="dim")]
    ended = any(done.id == cell for done in moment.view.cells)
    newest: Mapping[str, Bins] = {}
    if moment.view.sample is not None and not moment.view.prefill and not ended:
        newest = moment.view.sample.bins
    said = _source(spread, ended, moment.past)
    lines = [Text(line, style="dim", no_wrap=True) for line in textwrap.wrap(said, max(20, width))]
    lines.insert(0, Text(clean(cell), style="strong", no_wrap=True))
    for direction in DIRECTIONS:
        if bins := (spread.operations or spread.seconds).get(direction):
            counted = "operation" if spread.operations else "second"
            lines.append(Text())
            lines += _histogram(direction, bins, newest.get(direction, {}), counted, width)
    return lines


def _source(spread: Spread, ended: bool, past: bool) -> str:
    if not spread.operations:
        names = ", ".join(clean(name, 20) for name in spread.devices)
        return f"kernel's counters of {names}: mean latency of each second, not of each operation (the tool tells none yet)"
    if ended:
        return "fio's report: completion latency of each operation of the cell"
    return "fio, every second: completion latency of each operation" + (", until now" if past else "")


_LABEL = 8
_SHARE = 8


def _histogram(direction: str, bins: Bins, newest: Bins, counted: str, width: int) -> Iterator[Text]:
    total, recent = sum(bins.values()), sum(newest.values())
    middle = median_bin(bins) or 0
    columns = 2 if recent else 1
    room = max(4, width - _LABEL - 2 - columns * _SHARE)
    head = Text(no_wrap=True).append(direction.capitalize(), "strong").append(f"  {plural(total, counted)}", "dim")
    yield head
    if recent:
        yield Text(f"{'from':>{_LABEL}}  {'':<{room}}{'cell':>{_SHARE}}{'last s':>{_SHARE}}", style="dim", no_wrap=True)
    most, first = max(bins.values()), _first_edge(bins)
    below = sum(count for at, count in bins.items() if at < first)
    if below:
        line = Text(f"{'<' + edge_text(first):>{_LABEL}}  ", no_wrap=True)
        line.append_text(bar(100 * below / most, room, "accent")).append(f"{_share(below, total):>{_SHARE}}")
        if recent:
            lately = sum(count for at, count in newest.items() if at < first)
            line.append(f"{_share(lately, recent):>{_SHARE}}", "dim")
        yield line
    for at in edges(first, max(bins)):
        count = bins.get(at, 0)
        outlier = at >= OUTLIER_TIMES * middle > 0
        style = "warn" if outlier else "accent"
        line = Text(f"{edge_text(at):>{_LABEL}}", no_wrap=True).append(" ! " if outlier and count else "  ", style)
        line.append_text(bar(100 * count / most, room - (1 if outlier and count else 0), style))
        line.append(f"{_share(count, total):>{_SHARE}}", style if outlier and count else "")
        if recent:
            line.append(f"{_share(newest.get(at, 0), recent):>{_SHARE}}", "dim")
        yield line


def _first_edge(bins: Bins) -> int:
    """Return the first bin that has a line of its own: the fastest percent of the operations share one."""
    seen, total = 0, sum(bins.values())
    for at in sorted(bins):
        seen += bins[at]
        if seen * 100 >= total:
            return at
    return 0


def _share(count: int, total: int) -> str:
    if not count:
        return glyphs().absent
    percent = 100 * count / total
    return f"{percent:.1f} %" if percent >= 0.05 else "<0.1 %"


def edge_text(ns: int) -> str:
    """Return a bin's lower edge, which has two digits: `150 µs`, `1.5 ms`."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if ns >= size:
            return f"{ns / size:g} {unit}"
    return f"{ns} ns"
