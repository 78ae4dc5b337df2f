"""Reduce the frames of a host that loads an export to what a run shows of it, once a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from raidtui.model.frame import SECTOR_BYTES, Frame, Frames
from raidtui.model.hosts import LOAD_EVERY_S, MOST_NAMED, HostLoad
from raidtui.watch.sampler import Sampler

_TRAFFIC_BYTES_PER_S: Final = 1e4
"""An interface with less is left out."""


def load_of(frames: Frames, devices: Iterable[str]) -> HostLoad | None:
    """Return the activity since the previous frame; None for the first frame. `devices`: those that are loaded."""
    if not frames.span_s:
        return None
    names = tuple(devices)
    rates = [found for name in names if (found := frames.rates(name)) is not None]
    utils = [one.util_percent for one in rates if one.util_percent is not None]
    moved = {name: seen for name in frames.networks if name != "lo" and (seen := frames.network_rates(name)) is not None}
    busy = [name for name, seen in moved.items() if seen.busiest_bytes_per_s >= _TRAFFIC_BYTES_PER_S]
    busiest = sorted(busy, key=lambda name: -moved[name].busiest_bytes_per_s)[:MOST_NAMED]
    used = frames.cores_used()
    return HostLoad(
        span_s=round(frames.span_s, 3),
        devices=names[:MOST_NAMED],
        read_iops=round(sum(one.read.ios_per_s for one in rates), 1),
        write_iops=round(sum(one.write.ios_per_s for one in rates), 1),
        read_bytes_per_s=round(sum(one.read.bytes_per_s for one in rates)),
        written_bytes_per_s=round(sum(one.write.bytes_per_s for one in rates)),
        util_percent=round(min(100.0, max(utils)), 1) if utils else None,
        cores_used=None if used is None else round(used, 2),
        cores=len(frames.cpus),
        networks={
            name: (round(moved[name].received_bytes_per_s), round(moved[name].sent_bytes_per_s)) for name in busiest
        },
    )  # fmt: skip


class Moved(msgspec.Struct, frozen=True):
    """Bytes that block devices read and wrote, by their own counters."""

    read_bytes: int
    written_bytes: int

    def since(self, before: Moved) -> Moved:
        return Moved(self.read_bytes - before.read_bytes, self.written_bytes - before.written_bytes)


def moved_by(names: Iterable[str]) -> Moved | None:
    """Return what these block devices moved since they are there; None if one of them is no block device, or gone.

    Source: Documentation/block/stat.rst.
    """
    read = written = 0
    for name in names:
        try:
            fields = Path("/sys/class/block", name, "stat").read_text().split()
        except OSError:
            return None
        read, written = read + int(fields[2]), written + int(fields[6])
    return Moved(read * SECTOR_BYTES, written * SECTOR_BYTES)


class LoadWatch:
    """Tells the activity of this host once a second, from a thread of its own, until `stop`."""

    def __init__(self, devices: Iterable[str], say: Callable[[HostLoad], None]) -> None:
        """Raises OSError when the kernel's tables cannot be opened."""
        self._devices = tuple(devices)
        self._say = say
        self._frames = Frames()
        self._sampler = Sampler(self._take, interval_s=LOAD_EVERY_S)
        self._sampler.start()

    def stop(self) -> None:
        """End it. What made it fail earlier is of no consequence for the load."""
        with suppress(Exception):  # the thread's own error, or a thread that is stuck
            self._sampler.stop()

    def _take(self, frame: Frame) -> None:
        self._frames.apply(frame)
        if (load := load_of(self._frames, self._devices)) is not None:
            self._say(load)
