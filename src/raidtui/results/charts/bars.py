"""Layouts side by side, a panel for each workload: medians as bars, with the interval in which the typical round lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raidtui.results.charts.base import Chart, Panel, numbers
from raidtui.results.charts.style import Style, short
from raidtui.results.comparison import Comparison, Entry, Row
from raidtui.results.lines import MARKS, share_text, state_of
from raidtui.results.numbers import SCALE, Unit, rate_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS = 60


def panels(comparison: Comparison) -> list[Panel]:
    """A panel for each workload. Of very many layouts the first ones are shown, and that is said."""
    found = []
    for index, (name, unit) in enumerate(zip(comparison.workloads, comparison.units, strict=True)):
        # A layout that could not be built has its place; one that was never to be measured so has none.
        known = tuple(row for row in comparison.rows if row.entries[index] is not None or row.failed)
        rows, left_out = known[:_MOST_BARS], len(known[_MOST_BARS:])
        if not any(row.entries[index] is not None for row in rows):
            continue
        title = f"{short(name, 40)}, {unit}" + (f" (and {left_out} more)" if left_out else "")
        about = "; ".join(f"{short(row.label)} {_words(row, index, unit)}" for row in rows)
        draw = _Bars(comparison.baseline, rows, index, unit)
        found.append(Panel(title, draw, 0.75 + 0.24 * len(rows), about))
    return found


class _Bars:
    """One workload."""

    def __init__(self, baseline: str, rows: tuple[Row, ...], index: int, unit: Unit) -> None:
        self._baseline, self._rows, self._index, self._unit = baseline, rows, index, unit

    def __call__(self, axes: Axes, style: Style) -> None:
        scale = SCALE[self._unit]
        largest = max((_reach(row.entries[self._index]) for row in self._rows), default=0.0) * scale or 1.0
        for place, row in enumerate(self._rows):
            entry = row.entries[self._index]
            middle = entry.median * scale if entry is not None and entry.median is not None else 0.0
            is_baseline = row.label == self._baseline
            axes.barh(place, middle, height=0.66, color=style.colour(1 if is_baseline else 0))
            if entry is not None and entry.median is not None:
                low, high = _interval(entry)
                if high > low:
                    axes.plot([low * scale, high * scale], [place, place], color=style.ink, linewidth=1.2,
                              marker="|", markersize=5)  # fmt: skip
            right = max(middle, (_reach(entry) * scale))
            axes.text(right + largest * 0.015, place, _words(row, self._index, self._unit), va="center", fontsize=7.5,
                      color=style.ink)  # fmt: skip
        axes.set_yticks(range(len(self._rows)), [short(row.label) for row in self._rows])
        axes.set_ylim(len(self._rows) - 0.4, -0.6)
        axes.set_xlim(0, largest * 1.32)
        axes.locator_params(axis="x", nbins=5)
        axes.grid(visible=False, axis="y")
        numbers(axes.xaxis)


def _interval(entry: Entry) -> tuple[float, float]:
    """At 95 % where there are rounds enough for one that says something, else from the worst round to the best."""
    if entry.valid >= 3 and entry.interval_low is not None and entry.interval_high is not None:
        return entry.interval_low, entry.interval_high
    return entry.low or 0.0, entry.high or 0.0


def _reach(entry: Entry | None) -> float:
    return max(entry.median, _interval(entry)[1]) if entry is not None and entry.median is not None else 0.0


def _words(row: Row, index: int, unit: Unit) -> str:
    entry = row.entries[index]
    if entry is None or entry.median is None:
        return f"{MARKS[state_of(row, index)]} {state_of(row, index)}"
    return f"{rate_text(entry.median, unit)}  {share_text(entry)}".rstrip()


CHART = Chart("bars", "Layouts side by side", panels)
