"""Charts as a picture: one sheet, on white."""

from __future__ import annotations

from collections.abc import Sequence

from raidtui.results.charts.catalog import panels_of
from raidtui.results.charts.drawing import sheet_png
from raidtui.results.comparison import Comparison
from raidtui.results.formats.base import Format


def write(comparison: Comparison, names: Sequence[str] = ()) -> bytes:
    """Every chart, or those of these kinds. Raises ProblemError (`no-charts`) without the charting library."""
    return sheet_png(panels_of(comparison, names))


FORMAT = Format("png", ".png", "all charts on one sheet, as a picture", write, binary=True, charts=write)
