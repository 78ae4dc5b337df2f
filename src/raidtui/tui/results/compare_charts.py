"""Charts beside a comparison: latency by percentile and rate by second, all layouts of a workload over each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from raidtui.base.text import clean
from raidtui.model.measure import DIRECTIONS
from raidtui.results.charts.courses import seconds_of
from raidtui.results.comparison import Comparison, Entry
from raidtui.results.percentiles import TICKS, curve_of
from raidtui.results.rates import histogram
from raidtui.tui.widgets.chart import Chart
from raidtui.tui.widgets.chart_picture import Series
from raidtui.tui.widgets.signs import colour, letter

_MOST_LINES = 12
_MOST_NAME = 60


class PercentileChart(Chart):
    """Latency by percentile. The playhead stands at a percentile."""

    HELP = """\
## Latency by percentile

All layouts of one workload over each other: to the right the share of operations that took no longer, upwards how long they
took. Each layout has the letter and the colour that it has in the table.

Left and right move the playhead, a click puts it there: the title then says the latency of every layout at that percentile.
Escape takes it away. `L` makes the scale linear or logarithmic.

`.` and `,` go to the charts of the next and of the previous workload.
"""
    LEAST_STEP = 0.0

    def __init__(self, *, id: str) -> None:
        super().__init__("Latency", id=id, format=short_latency, window_s=None, empty="no histogram of latencies was kept")
        self._look = self._look._replace(ticks=percentile_ticks, axes=("", ""))
        self.set_reactive(Chart.log_scale, True)

    def note(self) -> str:
        at = "the longest" if self.cursor_s is None else f"at {percentile_text(self.cursor_s)}"
        return f"{at}  log" if self.log_scale else at

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "zoom" and (action != "live" or self.cursor_s is not None)


class SecondsChart(Chart):
    """Rate by second. Its escape key removes the playhead; without one, the screen's escape leaves the comparison."""

    HELP = f"""\
{Chart.HELP}
All layouts of one workload are drawn over each other, each in its first valid round and with the letter and the colour that
it has in the table. `.` and `,` go to the next and the previous workload.
"""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "live" or self.cursor_s is not None


class CompareCharts(Vertical):
    """Both charts of one workload. `show` chooses it."""

    DEFAULT_CSS = """
    CompareCharts Chart { background: $background; }
    CompareCharts > #compare-seconds { margin: 1 0 0 0; }
    CompareCharts > #compare-names { height: auto; max-height: 4; color: $text-muted; }
    """

    def compose(self) -> ComposeResult:
        yield Static(id="compare-names")
        yield PercentileChart(id="compare-percentiles")
        yield SecondsChart(id="compare-seconds", window_s=None, empty="no samples were kept")

    def show(self, comparison: Comparison, workload: int, first: int | None) -> None:
        """Draw the layouts of a workload of a comparison of rates, the row `first` in front of the others."""
        if not 0 <= workload < len(comparison.workloads):
            return
        name = clean(comparison.workloads[workload], _MOST_NAME)
        names = [Content.assemble((letter(place), colour(place)), f" {clean(comparison.rows[place].label, _MOST_NAME)}")
                 for place, _ in _entries(comparison, workload, None)]  # fmt: skip
        self.query_one("#compare-names", Static).update(Content("  ").join(names))
        direction, curves = percentile_series(comparison, workload, first)
        chart = self.query_one(PercentileChart)
        chart.title = f"{name}: latency of {direction}" if direction else f"{name}: latency"
        end = max((one.points[-1][0] for one in curves), default=4.0)
        chart.show(curves, begin_s=0.0, until_s=end, ended=True)
        seconds = self.query_one(SecondsChart)
        seconds.measure_in(comparison.units[workload])
        seconds.title = f"{name}: {comparison.units[workload]} by second"
        seconds.show(second_series(comparison, workload, first), begin_s=0.0, ended=True)


def is_drawable(comparison: Comparison) -> bool:
    """Return True if a valid cell has samples or a report of its tool."""
    points = (point for row in comparison.rows for entry in row.entries if entry is not None for point in entry.points)
    return any(point.valid and point.cell is not None and (point.cell.samples or point.cell.report) for point in points)


def percentile_series(comparison: Comparison, workload: int, first: int | None) -> tuple[str, list[Series]]:
    """Return the slowest direction that has histograms, and the curve of each layout in it."""
    entries = list(_entries(comparison, workload, first))
    means = {
        name: sum(entry.latency[name].mean_us or 0.0 for _, entry in entries if name in entry.latency)
        for name in DIRECTIONS
    }
    for direction in sorted(means, key=lambda name: -means[name]):
        found = []
        for place, entry in entries:
            counts = histogram([one for one in entry.points if one.valid and direction in one.latency], direction)
            if counts:
                points = [(-math.log10(share), us) for share, us in curve_of(counts)]
                found.append(_line(place, points))
        if found:
            return direction, found
    return "", []


def second_series(comparison: Comparison, workload: int, first: int | None) -> list[Series]:
    """Return the rate of each layout by second, in its first valid round."""
    found = []
    for place, entry in _entries(comparison, workload, first):
        for _, rounds in seconds_of(comparison.rows[place].label, entry, comparison.units[workload]):
            if valid := [one.points for one in rounds if one.valid]:
                found.append(_line(place, valid[0]))
    return found


def _line(place: int, points: Sequence[tuple[float, float]]) -> Series:
    return Series("", points, place, letter(place))


def _entries(comparison: Comparison, workload: int, first: int | None) -> Iterator[tuple[int, Entry]]:
    """Yield place and entry of the layouts measured under a workload, the first one first, and no more than fit."""
    places = [place for place, row in enumerate(comparison.rows) if row.entries[workload] is not None]
    for place in sorted(places, key=lambda place: place != first)[:_MOST_LINES]:
        if (entry := comparison.rows[place].entries[workload]) is not None:
            yield place, entry


def percentile_ticks(start: float, end: float, width: int, origin: float) -> list[tuple[int, str]]:
    """Return cell and name of each percentile between two powers of ten: `p99` is 2, since 1 of 10² takes longer."""
    span = end - start
    places = [(round((-math.log10(share) - start) / span * width), name) for share, name in TICKS.items()]
    return [(cell, name) for cell, name in places if 0 <= cell <= width - len(name)]


def percentile_text(at: float) -> str:
    """`p50`, `p99.9`, `p99.97`: the percentile at a place of the axis."""
    return f"p{100 * (1 - 10**-at):.{max(0, math.ceil(at) - 1)}f}"


def short_latency(us: float) -> str:
    """`85µs`, `1.2ms`, `100ms`, `2s`: a latency in at most five cells, for an axis."""
    value, unit = (us, "µs") if us < 999.5 else (us / 1000, "ms") if us < 999_500 else (us / 1e6, "s")
    return f"{value:.0f}{unit}" if value >= 9.95 or value == round(value) else f"{value:.1f}{unit}"
