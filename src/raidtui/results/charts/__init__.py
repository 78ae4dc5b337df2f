"""Charts of a comparison, by the word that names them on the command line, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from raidtui.results.charts.bars import BARS
from raidtui.results.charts.changes import CHANGES
from raidtui.results.charts.courses import HEAT_MAP, LINES, PASSES, ROUNDS
from raidtui.results.charts.drawing import Chart, Panel, Style, Tip
from raidtui.results.charts.summaries import LATENCY, ROOFLINE
from raidtui.results.charts.sweeps import SWEEPS
from raidtui.results.comparison import Comparison, without_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ALL = (CHANGES, SWEEPS, BARS, ROUNDS, PASSES, LATENCY, LINES, HEAT_MAP, ROOFLINE)
CHARTS = MappingProxyType({made.name: made for made in _ALL})
"""Charts by the word that names them on the command line."""

_MOST_PANELS = 24
"""Largest number of panels of one kind; what is beside another one is not counted."""


def panels_of(comparison: Comparison, names: Sequence[str] = ()) -> list[Panel]:
    """Panels of these kinds, or of all; one that says so where there is nothing to draw."""
    if names:
        found = [panel for name in names for panel in some_of(CHARTS[name], comparison)]
    else:
        found = [panel for chart in CHARTS.values() for panel in some_of(chart, unswept(chart, comparison))]
    return found or [_words("There is nothing to draw")]


def unswept(chart: Chart, comparison: Comparison) -> Comparison:
    """Return what a chart shows that need not repeat the numbers of curves: no workloads of sweeps."""
    return comparison if chart.swept else without_curves(comparison)


def some_of(chart: Chart, comparison: Comparison) -> list[Panel]:
    """The panels of one kind, the first ones where they are very many, and then one that says so."""
    panels = chart.panels(comparison)
    counted = [place for place, panel in enumerate(panels) if not panel.beside]
    left_out = len(counted) - _MOST_PANELS
    if left_out <= 0:
        return panels
    return [*panels[: counted[_MOST_PANELS]], _words(f"{chart.title}: {left_out} more are not drawn")]


def _words(title: str) -> Panel:
    return Panel(title, _draw_nothing, 0.6)


def _draw_nothing(axes: Axes, _: Style) -> Sequence[Tip]:
    axes.set_axis_off()
    return ()
