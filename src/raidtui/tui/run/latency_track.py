"""Distribution of latency of each cell, from the workload's tool, or from the counters of block devices."""

from __future__ import annotations

from typing import Final, NamedTuple

from raidtui.model.event import CellStarted, WorkloadSampled
from raidtui.model.frame import Frames
from raidtui.model.latency_bins import Bins, add, binned
from raidtui.model.result import Cell
from raidtui.results.rates import report_bins
from raidtui.tui.run.disk_track import disks_of

ByDirection = dict[str, Bins]
DIRECTIONS: Final = ("read", "write", "sync")
MOST_CELLS: Final = 2000
"""Above that, the oldest quarter goes."""


class Spread(NamedTuple):
    """Latencies of one cell."""

    operations: ByDirection
    """Operations as the tool counted them, so far or to the end of the cell."""
    seconds: ByDirection
    """Seconds of a device by the mean latency of its requests, from the kernel's counters."""
    devices: tuple[str, ...]
    """Devices of `seconds`."""


class LatencyTrack:
    """Latencies of the run's cells, taken in order."""

    def __init__(self, most: int = MOST_CELLS) -> None:
        self._most = most
        self._cells: dict[str, Spread] = {}
        self.count = 0
        """Counts up with every change."""

    def of(self, cell: str) -> Spread | None:
        """Return the latencies of a cell; None if it is not known."""
        return self._cells.get(cell)

    def begin(self, cell: CellStarted) -> None:
        targets = [name for name, role in cell.devices.items() if role == "target"]
        self._keep(cell.cell, Spread({}, {}, tuple(targets or disks_of(cell))))

    def take_sample(self, event: WorkloadSampled) -> None:
        """Add a sample's operations; those that fill the layout and those of a ramp are not the cell's."""
        if event.prefill or event.sample.at_s <= 0 or (known := self._cells.get(event.cell)) is None:
            return
        for direction, bins in event.sample.bins.items():
            add(known.operations.setdefault(direction, {}), bins)
        self.count += 1

    def take_frame(self, cell: str, frames: Frames) -> None:
        """Add the means of the cell's devices since the previous frame."""
        if (known := self._cells.get(cell)) is None or known.operations:
            return
        for name in known.devices:
            if (rates := frames.rates(name)) is not None:
                for direction, await_ms in (("read", rates.read.await_ms), ("write", rates.write.await_ms)):
                    if await_ms is not None:
                        add(known.seconds.setdefault(direction, {}), binned([(round(await_ms * 1e6), 1)]))
        self.count += 1

    def end(self, cell: Cell) -> None:
        """Take the distribution of the tool's report, which is of the whole cell, in place of what was heard."""
        timed = cell.summary is not None and cell.summary.sync is not None and cell.summary.sync.latency.mean_us is not None
        names = DIRECTIONS if timed else DIRECTIONS[:2]
        found = {name: binned(bins.items()) for name in names if (bins := report_bins(cell.report, name))}
        known = self._cells.get(cell.id)
        if found:
            self._keep(cell.id, Spread(found, {}, known.devices if known else ()))
        self.count += 1

    def _keep(self, cell: str, spread: Spread) -> None:
        self._cells[cell] = spread
        if len(self._cells) > self._most:
            for old in list(self._cells)[: self._most // 4]:
                del self._cells[old]
