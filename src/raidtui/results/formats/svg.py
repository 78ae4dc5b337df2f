"""Charts as drawing: one sheet that scales."""

from __future__ import annotations

from collections.abc import Sequence

from raidtui.results.charts.catalog import panels_of
from raidtui.results.charts.drawing import sheet_svg
from raidtui.results.comparison import Comparison
from raidtui.results.formats.base import Format


def write(comparison: Comparison, names: Sequence[str] = ()) -> bytes:
    """Every chart, or those of these kinds. Raises ProblemError (`no-charts`) without the charting library."""
    return sheet_svg(panels_of(comparison, names))


FORMAT = Format("svg", ".svg", "all charts on one sheet, light or dark as the reader's screen is", write, charts=write)
