"""Predicted bytes written per byte of a workload: the layers' declarations, multiplied up the stack. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from raidtui.engine.compose.reading import counts_of, devices_of
from raidtui.load.engine import Pattern
from raidtui.model.plan import Amplification
from raidtui.model.scenario import Node, Role, RoleRef
from raidtui.stack.amplification import Share, Writes
from raidtui.stack.catalog import all_layers

_ANY: Writes = Writes(4096, 4096, True)
"""Any pattern of writes: the inputs that keep the data do not depend on it."""
_CACHED = "what is written goes through the page cache: when and how much of it reaches the disks is not known"

_PARTLY = "what it reports is a part of what it writes"


class _Sum(NamedTuple):
    low: float | None
    high: float | None
    read_low: float
    read_high: float | None
    beside: float
    """Part of `low` that goes to disks that do not keep the data."""


_DISK = _Sum(1.0, 1.0, 0.0, 0.0, 0.0)


def expected(layout: Node, roles: Mapping[str, Role], pattern: Pattern) -> Amplification | None:
    """Return the prediction for a layout under a workload; None if it does not write. Mixed block sizes give a range."""
    if not pattern.writes or not pattern.block_bytes:
        return None
    if not pattern.reported_whole:
        return Amplification(_PARTLY)
    if not pattern.whole_sectors and not pattern.syncs:
        return Amplification(_CACHED)
    why: list[str] = []
    sums = [_of(layout, roles, _writes(pattern, size), why) for size in sorted(set(pattern.block_bytes))]
    words = "; ".join(dict.fromkeys(why))
    lows, highs = [one.low for one in sums if one.low is not None], [one.high for one in sums if one.high is not None]
    if len(lows) < len(sums):
        return Amplification(words)
    reads = [one.read_high for one in sums if one.read_high is not None]
    least = min(sums, key=lambda one: one.low or 0.0)
    return Amplification(
        words,
        round(min(lows), 4),
        round(max(highs), 4) if len(highs) == len(sums) else None,
        round(min(one.read_low for one in sums), 4),
        round(max(reads), 4) if len(reads) == len(sums) else None,
        round(least.beside, 4),
    )


def data_roles(layout: Node, roles: Mapping[str, Role]) -> tuple[str, ...]:
    """The roles whose disks keep the layout's data, in order: no journals, logs, caches or spares."""
    return tuple(dict.fromkeys(_data_roles(layout, roles)))


def _data_roles(node: Node, roles: Mapping[str, Role]) -> Iterator[str]:
    spread = all_layers()[node.kind].spread(node.spec, counts_of(node, roles), _ANY)
    for name, share in spread.inputs.items():
        for source in node.inputs.get(name, ()) if share.keeps else ():
            yield from [source.role] if isinstance(source, RoleRef) else _data_roles(source, roles)


def _writes(pattern: Pattern, block_bytes: int) -> Writes:
    alone = pattern.random or pattern.paced
    run = block_bytes if alone else max(block_bytes, pattern.in_flight_bytes // pattern.streams)
    return Writes(block_bytes, run, pattern.random, pattern.syncs, pattern.reducible, pattern.streams)


def _of(node: Node, roles: Mapping[str, Role], writes: Writes, why: list[str]) -> _Sum:
    spread = all_layers()[node.kind].spread(node.spec, counts_of(node, roles), writes)
    why.append(spread.why)
    total = _Sum(0.0, 0.0, 0.0, 0.0, 0.0)
    for name, share in spread.inputs.items():
        below = _mean(node, name, roles, share.writes, why)
        total = _added(total, share, below)
    return total


def _mean(node: Node, name: str, roles: Mapping[str, Role], writes: Writes, why: list[str]) -> _Sum:
    """Return the sum over one input: each of its devices takes the same share."""
    found = [(_DISK if isinstance(one, RoleRef) else _of(one, roles, writes, why), devices_of(one, roles))
             for one in node.inputs.get(name, ())]  # fmt: skip
    if not found:
        return _DISK
    devices = sum(count for _, count in found)
    columns = zip(*([(None if value is None else value * count) for value in one] for one, count in found), strict=True)
    means = [None if None in column else sum(v for v in column if v is not None) / devices for column in columns]
    return _Sum(means[0], means[1], means[2] or 0.0, means[3], means[4] or 0.0)


def _added(total: _Sum, share: Share, below: _Sum) -> _Sum:
    """Add one input's share of the writes, multiplied by the layers below it. Reads are added unchanged."""
    low = _times(share.low, below.low)
    high = _times(share.high, below.high)
    read_high = _plus(share.reads_high, _times(share.high, below.read_high))
    return _Sum(
        _plus(total.low, low),
        _plus(total.high, high),
        total.read_low + share.reads_low + (share.low or 0.0) * below.read_low,
        _plus(total.read_high, read_high),
        total.beside + ((share.low or 0.0) * below.beside if share.keeps else low or 0.0),
    )


def _times(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a * b


def _plus(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a + b
