"""Every kind of chart, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from raidtui.results.charts import bars, heat_map, latency, lines, passes, roofline, rounds
from raidtui.results.charts.base import Panel
from raidtui.results.comparison import Comparison

_ALL = (bars.CHART, rounds.CHART, passes.CHART, latency.CHART, lines.CHART, heat_map.CHART, roofline.CHART)
CHARTS = MappingProxyType({made.name: made for made in _ALL})
"""By the word that names them on the command line."""

MOST_PANELS = 24
"""Of one kind."""


def panels_of(comparison: Comparison, names: Sequence[str] = ()) -> list[Panel]:
    """Panels of these kinds, or of all; one that says so where there is nothing to draw."""
    found = [panel for name in names or CHARTS for panel in CHARTS[name].panels(comparison)[:MOST_PANELS]]
    return found or [Panel("There is nothing to draw", lambda axes, _: axes.set_axis_off(), 0.6)]
