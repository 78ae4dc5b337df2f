"""Every device of a cell over time, by how busy it was: a slow or idle member is a row of its own colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raidtui.model.result import Cell
from raidtui.results.charts.base import Chart, Panel
from raidtui.results.charts.style import Style, short
from raidtui.results.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMN = "util_percent"


def panels(comparison: Comparison) -> list[Panel]:
    """A panel for each layout and workload with series of more than one device: the first valid round."""
    found = []
    for row in comparison.rows:
        for index, name in enumerate(comparison.workloads):
            entry = row.entries[index]
            cells = [one.cell for one in entry.points if one.cell is not None and one.valid] if entry else []
            cell = next((one for one in cells if len(_devices(one)) > 1), None)
            if cell is not None:
                title = f"{short(row.label, 22)}, {short(name, 24)}"
                about = f"busy time of {', '.join(_devices(cell))} over {cell.seconds:.0f} s"
                found.append(Panel(title, _Heat(cell), 0.9 + 0.2 * len(_devices(cell)), about))
    return found


class _Heat:
    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    def __call__(self, axes: Axes, style: Style) -> None:
        names = _devices(self._cell)
        at_s = self._cell.device_at_s
        edges = [0.0, *at_s]
        values = []
        for name in names:
            series = self._cell.devices[name].series[_COLUMN][: len(at_s)]
            series = [*series, *[None] * (len(at_s) - len(series))]
            values.append([float("nan") if value is None else value for value in series])
        mesh = axes.pcolormesh(edges, range(len(names) + 1), values, vmin=0, vmax=100, cmap="cividis", rasterized=False)
        axes.set_yticks([place + 0.5 for place in range(len(names))], [self._label(name) for name in names])
        axes.invert_yaxis()
        axes.set_xlabel("s")
        axes.grid(visible=False)
        figure = axes.get_figure()
        assert figure is not None
        bar = figure.colorbar(mesh, ax=axes, pad=0.02, fraction=0.05, ticks=[0, 50, 100])
        bar.set_label("busy, %", color=style.muted)
        bar.outline.set_visible(False)

    def _label(self, name: str) -> str:
        use = self._cell.devices[name]
        return f"{short(name, 12)} {short(use.role, 8)}"


def _devices(cell: Cell) -> list[str]:
    """The target first, then what is below it by name."""
    found = [name for name, use in cell.devices.items() if len(cell.device_at_s) > 1 and use.series.get(_COLUMN)]
    return sorted(found, key=lambda name: (cell.devices[name].role != "target", name))


CHART = Chart("heat-map", "Devices over time", panels)
