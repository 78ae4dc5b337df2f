"""Ceilings of a layout, estimated from the assumed rates of its data disks and what each write costs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from raidtui.front.design.assumptions import Speed
from raidtui.model.describe import LayerView, LayoutView, RoleView
from raidtui.model.disk import Disk

_SMALL_BYTES = 4096
_WHOLE_BLOCKS = ("zpool",)
"""Layers that write whole blocks, which may be larger than what was written, and write scattered ones in long runs."""


class Ceilings(msgspec.Struct, frozen=True, omit_defaults=True):
    """Upper limits of a layout's rates, of all its disks together. None where what a write costs is not known."""

    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    read_iops: float | None = None
    """Random reads of 4 KiB."""
    write_iops: float | None = None
    """Random writes of 4 KiB."""


def ceilings(view: LayoutView, disks: Mapping[str, Disk], speeds: Mapping[str, Speed]) -> Ceilings:
    """Return the ceilings by the disks that keep the data; caches, logs and special vdevs beside them are not counted."""
    data = [speeds[disks[id_].kind] for id_ in view.data_disks]
    if not data:
        return Ceilings()
    count, slowest = len(data), _slowest(data)
    large, per_write = view.large_write, _disk_seconds(view, slowest)
    written = large.low - large.low_beside if large is not None and large.low is not None else None
    return Ceilings(
        count * slowest.read_bytes_per_s,
        count * slowest.write_bytes_per_s / written if written else None,
        count * slowest.read_iops / (view.read_penalty or 1.0),
        count / per_write if per_write else None,
    )


def _slowest(data: list[Speed]) -> Speed:
    """Return the rates that every disk has: a stripe is as fast as its slowest disk."""
    return Speed(
        min(one.read_bytes_per_s for one in data),
        min(one.write_bytes_per_s for one in data),
        min(one.read_iops for one in data),
        min(one.write_iops for one in data),
        "",
    )


class SmallWrite(NamedTuple):
    """Cost of one random write of 4 KiB, in an area so large that no two writes meet in one block."""

    writes: float
    """Device writes."""
    reads: float
    """Device reads before them."""
    written_bytes: float
    long_runs: bool
    """True if writes are gathered, so that their number does not matter."""


def small_write(view: LayoutView) -> SmallWrite | None:
    """Return the cost on the disks that keep the data; None where it is not known."""
    small = view.small_write
    if small is None or small.low is None or view.write_penalty is None or view.stack is None:
        return None
    if any(kind in _WHOLE_BLOCKS for kind in _kinds(view.stack)):
        most = small.high if small.high is not None else small.low
        reads = (view.read_penalty or 1.0) if small.read_high or small.read_low else 0.0
        return SmallWrite(view.write_penalty, reads, (most - small.low_beside) * _SMALL_BYTES, True)
    # A page is what parity is computed of: as many pages are read as bytes are.
    kept = small.low - small.low_beside
    return SmallWrite(min(view.write_penalty, max(1.0, kept)), small.read_low, kept * _SMALL_BYTES, False)


def _disk_seconds(view: LayoutView, speed: Speed) -> float | None:
    """Return the time that all disks together spend on one random write of 4 KiB."""
    if (cost := small_write(view)) is None:
        return None
    moved = cost.written_bytes / speed.write_bytes_per_s
    return cost.reads / speed.read_iops + (moved if cost.long_runs else max(cost.writes / speed.write_iops, moved))


def _kinds(view: LayerView | RoleView) -> Iterator[str]:
    if isinstance(view, LayerView):
        yield view.kind
        for sources in view.inputs.values():
            for source in sources:
                yield from _kinds(source)
