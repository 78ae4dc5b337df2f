"""Frames of one cell as columns: one per rate and device, and their totals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from raidtui.model.frame import CacheState, DeviceRates, Flow, Frame, Frames
from raidtui.model.network import NetRates, NetworkUse, no_traffic

Column = list[float | None]
"""One value per frame of the cell (`Series.at_s`); None where it is not known or not defined."""

_COLUMNS: Final[Mapping[str, tuple[Callable[[DeviceRates], float | None], int]]] = {
    "reads_per_s": (lambda rates: rates.read.ios_per_s, 1),
    "writes_per_s": (lambda rates: rates.write.ios_per_s, 1),
    "read_bytes_per_s": (lambda rates: rates.read.bytes_per_s, 0),
    "written_bytes_per_s": (lambda rates: rates.write.bytes_per_s, 0),
    "read_await_ms": (lambda rates: rates.read.await_ms, 3),
    "write_await_ms": (lambda rates: rates.write.await_ms, 3),
    "queue_length": (lambda rates: rates.queue_length, 2),
    "util_percent": (lambda rates: rates.util_percent, 1),
}
"""Columns of a device, each with the number of digits that are kept."""


class DeviceTotals(msgspec.Struct, frozen=True, omit_defaults=True):
    """One device over the whole cell. Means are weighted by requests (awaits) or time (the others)."""

    known_s: float
    """Seconds that the counters cover; less than the cell when the device came, left, or began to count anew."""
    reads: int = 0
    writes: int = 0
    reads_merged: int = 0
    writes_merged: int = 0
    discards: int | None = None
    flushes: int | None = None
    read_bytes: int = 0
    written_bytes: int = 0
    discarded_bytes: int | None = None
    read_await_ms: float | None = None
    write_await_ms: float | None = None
    flush_await_ms: float | None = None
    queue_length: float | None = None
    util_mean_percent: float | None = None
    util_max_percent: float | None = None
    temperature_max_c: float | None = None


class Series(msgspec.Struct, frozen=True):
    """One cell, frame by frame."""

    at_s: list[float]
    """End of each interval, in seconds since the first frame."""
    span_s: list[float]
    """Length of each interval."""
    devices: dict[str, dict[str, Column]]
    totals: dict[str, DeviceTotals]
    cores_used: Column
    """Cores that were busy, all processes of the machine together."""
    cores_used_mean: float | None
    caches: dict[str, CacheState]
    """Caches with requests during the cell: hits and misses of the cell, sizes at its end."""
    busy: tuple[Busy, ...] = ()
    """Background work of arrays and caches during the cell, in the order in which it was first seen."""
    networks: dict[str, NetworkUse] = {}
    """Interfaces and RDMA ports that moved or lost anything."""


class Busy(NamedTuple):
    """Something beside the workload, as it was first seen."""

    device: str
    action: str
    """`resync`, `recover`, `check`, … of an array, in the kernel's words; `cache full` of a cache."""
    at_s: float
    """Seconds since the first frame."""


FULL: Final = "cache full"
_FULL_SHARE: Final = 0.95


class SeriesFold:
    """Takes a cell's frames one by one and keeps only what its devices need. Begins with the first whole frame."""

    def __init__(self, devices: Iterable[str]) -> None:
        """`devices`: kernel names of members and target."""
        self._names = tuple(dict.fromkeys(devices))
        self._frames = Frames()
        self._began_s: float | None = None
        self._at_s: list[float] = []
        self._span_s: list[float] = []
        self._rates: dict[str, list[DeviceRates | None]] = {name: [] for name in self._names}
        self._temperature_max_c: dict[str, float] = {}
        self._cores_used: Column = []
        self._caches: tuple[Mapping[str, CacheState], Mapping[str, CacheState]] = ({}, {})
        """Counters in the first frame, and in the last."""
        self._busy: dict[tuple[str, str], Busy] = {}
        self._networks: dict[str, list[NetRates | None]] = {}
        """Rates of interfaces whose counters changed, from the first frame on."""
        self._first_networks: frozenset[str] = frozenset()

    def add(self, frame: Frame) -> None:
        """Take the next frame. Those before the first whole one are passed over: a tick may come before the asked one."""
        if self._began_s is None and not frame.whole:
            return
        self._frames.apply(narrow(frame, self._names))
        for name, celsius in frame.temperatures_c.items():
            self._temperature_max_c[name] = max(celsius, self._temperature_max_c.get(name, celsius))
        if self._began_s is None:
            self._began_s = frame.at_s
            self._caches = (frame.caches, frame.caches)
            self._first_networks = frozenset(self._frames.networks)
        for device, action in _beside(frame):
            self._busy.setdefault((device, action), Busy(device, action, round(frame.at_s - self._began_s, 3)))
        if self._began_s == frame.at_s:
            return
        self._caches = (self._caches[0], frame.caches)
        self._at_s.append(round(frame.at_s - self._began_s, 3))
        self._span_s.append(frame.span_s or 0.0)
        for name, rates in self._rates.items():
            rates.append(self._frames.rates(name))
        self._cores_used.append(self._frames.cores_used())
        self._count_networks(frame)

    def _count_networks(self, frame: Frame) -> None:
        for name in frame.networks.keys() - self._networks.keys():
            idle = name in self._first_networks
            self._networks[name] = [no_traffic(span_s) if idle else None for span_s in self._span_s[:-1]]
        for name, rates in self._networks.items():
            rates.append(self._frames.network_rates(name))

    def series(self) -> Series:
        """Return the series taken so far. Devices that were never seen are left out."""
        seen = [name for name, rates in self._rates.items() if any(rates)]
        return Series(
            at_s=list(self._at_s),
            span_s=[round(span_s, 3) for span_s in self._span_s],
            devices={name: _columns(self._rates[name]) for name in seen},
            totals={name: self._totals(name) for name in seen},
            cores_used=_rounded(self._cores_used, 2),
            cores_used_mean=_mean(zip(self._cores_used, self._span_s, strict=True)),
            caches=dict(self._cache_uses()),
            busy=tuple(self._busy.values()),
            networks={name: use for name in sorted(self._networks) if (use := _network_use(self._networks[name]))},
        )

    def _cache_uses(self) -> Iterator[tuple[str, CacheState]]:
        first, last = self._caches
        for name in first.keys() & last.keys():
            use = last[name].since(first[name])
            if use.hits + use.misses + (use.write_hits or 0) + (use.write_misses or 0):
                yield name, use

    def _totals(self, name: str) -> DeviceTotals:
        known = [
            (rates, span_s) for rates, span_s in zip(self._rates[name], self._span_s, strict=True) if rates is not None
        ]
        reads = [(rates.read, span_s) for rates, span_s in known]
        writes = [(rates.write, span_s) for rates, span_s in known]
        discards = [(rates.discard, span_s) for rates, span_s in known if rates.discard is not None]
        flushes = [(r.flush_await_ms, r.flushes_per_s * s) for r, s in known if r.flushes_per_s is not None]
        utils = [(rates.util_percent, span_s) for rates, span_s in known]
        return DeviceTotals(
            known_s=round(sum(span_s for _, span_s in known), 3),
            reads=_ios(reads),
            writes=_ios(writes),
            reads_merged=_merged(reads),
            writes_merged=_merged(writes),
            discards=_ios(discards) if discards else None,
            flushes=round(sum(count for _, count in flushes)) if flushes else None,
            read_bytes=_bytes(reads),
            written_bytes=_bytes(writes),
            discarded_bytes=_bytes(discards) if discards else None,
            read_await_ms=_mean((flow.await_ms, flow.ios_per_s * span_s) for flow, span_s in reads),
            write_await_ms=_mean((flow.await_ms, flow.ios_per_s * span_s) for flow, span_s in writes),
            flush_await_ms=_mean(flushes),
            queue_length=_mean((rates.queue_length, span_s) for rates, span_s in known),
            util_mean_percent=_mean(utils),
            util_max_percent=max((round(util, 2) for util, _ in utils if util is not None), default=None),
            temperature_max_c=self._temperature_max_c.get(name),
        )


def _network_use(rates: list[NetRates | None]) -> NetworkUse | None:
    """Return the sums of an interface, with its series if it moved noticeable data; None if it moved and lost nothing."""
    known = [one for one in rates if one is not None]
    counts = [sum(column) for column in zip(*(msgspec.structs.astuple(one.counted) for one in known), strict=True)]
    if not any(counts):
        return None
    received_bytes, received, received_errors, received_drops, sent_bytes, sent, sent_errors, sent_drops = counts
    use = NetworkUse(
        received_bytes, sent_bytes, received, sent, received_errors, sent_errors, received_drops, sent_drops,
        known_s=round(sum(one.span_s for one in known), 3),
    )  # fmt: skip
    if not use.noticeable:
        return use
    return msgspec.structs.replace(use, series={
        "received_bytes_per_s": _rounded([None if one is None else one.received_bytes_per_s for one in rates], 0),
        "sent_bytes_per_s": _rounded([None if one is None else one.sent_bytes_per_s for one in rates], 0),
    })  # fmt: skip


def narrow(frame: Frame, devices: Collection[str]) -> Frame:
    """The frame with these devices only (and all cores)."""
    few = {name: frame.devices[name] for name in devices if name in frame.devices}
    return msgspec.structs.replace(frame, devices=few)


def write_amplification(member_written_bytes: Iterable[int | None], workload_written_bytes: int) -> float | None:
    """Return the bytes that reached the members for each byte that the workload wrote: 2.0 on a mirror of two.

    None when the workload wrote nothing or a member's bytes are not known.
    """
    written = list(member_written_bytes)
    if workload_written_bytes <= 0 or not written:
        return None
    total = 0
    for member_bytes in written:
        if member_bytes is None:
            return None
        total += member_bytes
    return total / workload_written_bytes


PROBE_BYTES = 8 << 20
"""Allowance for reads by udev: about 0.7 MB whenever a writer, such as a fio job, closes the device."""


def counters_agree(
    workload_bytes: int, device_bytes: int | None, tolerance: float = 0.02, extra_bytes: int = PROBE_BYTES
) -> bool | None:
    """Return True if the target's own counters agree with the bytes reported by the workload; None if they are unknown.

    The device may have moved `extra_bytes` more, but never less: then the workload ran on something else. For writes and
    discards of a block device nobody else has an excuse, and `extra_bytes` is 0.
    """
    if device_bytes is None:
        return None
    return workload_bytes * (1 - tolerance) <= device_bytes <= workload_bytes * (1 + tolerance) + extra_bytes


def _beside(frame: Frame) -> Iterator[tuple[str, str]]:
    """Device and action of what arrays and caches do beside serving the workload."""
    for name, state in frame.md.items():
        if state.action not in (None, "idle", "frozen"):
            yield name, state.action
    for name, cache in frame.caches.items():
        if cache.dirty_bytes and cache.room_bytes and cache.dirty_bytes >= _FULL_SHARE * cache.room_bytes:
            yield name, FULL


def _columns(rates: list[DeviceRates | None]) -> dict[str, Column]:
    return {
        name: _rounded([None if one is None else value(one) for one in rates], digits)
        for name, (value, digits) in _COLUMNS.items()
    }


def _rounded(column: Column, digits: int) -> Column:
    return [None if value is None else round(value, digits) for value in column]


def _ios(flows: list[tuple[Flow, float]]) -> int:
    return round(sum(flow.ios_per_s * span_s for flow, span_s in flows))


def _merged(flows: list[tuple[Flow, float]]) -> int:
    return round(sum(flow.merged_per_s * span_s for flow, span_s in flows))


def _bytes(flows: list[tuple[Flow, float]]) -> int:
    return round(sum(flow.bytes_per_s * span_s for flow, span_s in flows))


def _mean(weighted: Iterable[tuple[float | None, float]]) -> float | None:
    """Mean of (value, weight), or None when no known value has weight."""
    total, weights = 0.0, 0.0
    for value, weight in weighted:
        if value is not None:
            total += value * weight
            weights += weight
    return round(total / weights, 4) if weights else None
