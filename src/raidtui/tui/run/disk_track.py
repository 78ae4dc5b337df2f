"""Throughput of the run's disks while no workload tells its own: builds, syncs, and cells that other hosts load."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from raidtui.model.event import CellStarted
from raidtui.model.frame import SECTOR_BYTES, Frames
from raidtui.tui.run.tracks import Line

MOST_POINTS: Final = 7200
"""Above that, the oldest quarter goes."""
_WHOLE_DISK: Final = re.compile(r"(sd|vd|xvd|hd)[a-z]+|nvme\d+n\d+|mmcblk\d+")
_COLUMNS: Final = ((0, 1), (4, 1), (2, SECTOR_BYTES), (6, SECTOR_BYTES))
"""Columns of a device's counters and their units, in the order of `FIGURES`."""
FIGURES: Final = ("read_iops", "write_iops", "read_bytes_per_s", "write_bytes_per_s")


class DiskTrack:
    """Rates of all disks together as points of charts, taken in order."""

    def __init__(self, most: int = MOST_POINTS) -> None:
        self._most = most
        self._drawing = False
        self._last_s = 0.0
        self.count = 0
        """Number of frames taken."""
        self.lines: dict[str, Line] = {figure: [] for figure in FIGURES}

    def take(self, at_s: float, frames: Frames, cell: CellStarted | None) -> None:
        """Add the rates since the previous frame. `cell` says which disks there are."""
        moved = moved_by(frames, disks_of(cell) if cell else filter(_WHOLE_DISK.fullmatch, frames.devices))
        if moved is None:
            return
        self.count += 1
        self._drawing, self._last_s = True, at_s
        for value, line in zip(moved, self.lines.values(), strict=True):
            if len(line) >= self._most:
                del line[: self._most // 4]
            line.append((at_s, value))

    def pause(self) -> None:
        """End the lines: a workload tells its own numbers now."""
        if self._drawing:
            self._drawing = False
            for line in self.lines.values():
                line.append((self._last_s, None))


def moved_by(frames: Frames, names: Iterable[str]) -> tuple[float, ...] | None:
    """Return reads and writes, and bytes of each, per second of these devices together since the previous frame.

    None for the first frame, and if a device began to count anew.
    """
    if not frames.span_s:
        return None
    changes = [(change[0].split(), change[1].split()) for name in names if (change := frames.change(name))]
    totals = [sum(int(after[column]) - int(before[column]) for before, after in changes) for column, _ in _COLUMNS]
    if min(totals) < 0:
        return None
    return tuple(total * unit / frames.span_s for total, (_, unit) in zip(totals, _COLUMNS, strict=True))


def disks_of(cell: CellStarted) -> Iterable[str]:
    """Return the devices at the bottom of a layout."""
    arrays = set(cell.parents.values())
    found = [name for name in cell.devices if name not in arrays]
    below = [name for name in found if cell.devices[name] != "target"]
    # Older records do not say what stands on what: then a target stands on all others.
    return below if below and not cell.parents else found
