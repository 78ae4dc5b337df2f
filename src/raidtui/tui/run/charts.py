"""The three charts of a run: they share window and playhead."""

from __future__ import annotations

from textual.app import ComposeResult

from raidtui.results.rates import latency_text
from raidtui.tui.run.story import Story
from raidtui.tui.widgets.chart import Chart, Series, SharedTime
from raidtui.tui.widgets.chart_scale import short_number

_IOPS, _RATE, _LATENCY = "iops", "rate", "latency"
_FIGURES = {
    _IOPS: (("read", "read_iops"), ("write", "write_iops")),
    _RATE: (("read", "read_bytes_per_s"), ("write", "write_bytes_per_s")),
    _LATENCY: (("mean", "mean_us"), ("p99", "p99_us"), ("max", "max_us")),
}


def _mb(bytes_per_s: float) -> str:
    return short_number(bytes_per_s / 1e6)


def _latency(us: float) -> str:
    return latency_text(us).replace(" ", "")


class RunCharts(SharedTime):
    """IOPS, MB/s and latency over the run."""

    DEFAULT_CSS = """
    RunCharts { layout: horizontal; }
    RunCharts > Chart { width: 1fr; margin: 0 1 0 0; }
    RunCharts > #latency { margin: 0; }
    """

    def compose(self) -> ComposeResult:
        yield Chart("IOPS", id=_IOPS, empty="nothing was measured yet")
        yield Chart("MB/s", id=_RATE, format=_mb, empty="nothing was measured yet")
        yield Chart("Latency", id=_LATENCY, format=_latency, empty="nothing was measured yet")

    @property
    def leading(self) -> Chart:
        """The one that keys of the screen go to; the others do as it does."""
        return self.query_one(f"#{_IOPS}", Chart)

    def take(self, story: Story, until_s: float, *, ended: bool) -> None:
        """The run's samples, with this second as the newest; of a run that has ended, as the last."""
        for chart in self.query(Chart):
            lines = [Series(name, story.samples.lines[figure]) for name, figure in _FIGURES[chart.id or ""]]
            chart.show([line for line in lines if line.points], until_s=until_s, begin_s=0.0, ended=ended)

    def look_at(self, window_s: float | None) -> None:
        """Show the last `window_s` seconds, or everything, and no playhead."""
        for chart in self.query(Chart):
            chart.window_s = window_s
            chart.cursor_s = None
