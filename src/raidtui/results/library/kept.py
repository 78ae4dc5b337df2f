"""An extract as the index keeps it: its own numbers, and by their digest the texts that many results have in common.

Commands, options and facts of the server are the same in hundreds of results. They are kept once, read once, and are one
object in all extracts that are compared: memory grows with what differs, and what is equal is seen to be so at a glance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from raidtui.model.mark import Mark
from raidtui.model.measure import Latency
from raidtui.results.extract import Extract, Point

Shared = Mapping[bytes, bytes]
"""Texts that results have in common, encoded, by digest."""


class _KeptPoint(msgspec.Struct, frozen=True, array_like=True, gc=False):
    id: str
    layout: int
    """Its place among the extract's layouts; so with `workload`."""
    workload: int
    round: int
    part: str
    valid: bool
    reasons: tuple[str, ...]
    marks: tuple[Mark, ...]
    iops: float | None
    bytes_per_s: float | None
    latency: dict[str, Latency]
    cpu_cores_used: float | None
    write_amplification: float | None
    started: str
    seconds: float
    command: bytes
    facts: bytes
    again: bool
    queue_depth: int | None


class Kept(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One extract; bytes are digests of what is shared."""

    run: str
    points: tuple[_KeptPoint, ...]
    scenario: str
    title: str
    host: str
    started: str
    rehearsal: bool
    complete: bool
    failed: dict[str, str]
    layouts: bytes
    workloads: bytes
    facts: bytes


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Kept)
_LAYOUTS = msgspec.msgpack.Decoder(dict[str, dict[str, str]])
_TEXTS = msgspec.msgpack.Decoder(dict[str, str])
_WORDS = msgspec.msgpack.Decoder(tuple[str, ...])


def packed(found: Extract) -> tuple[bytes, dict[bytes, bytes]]:
    """A measured result's extract without whole cells, and what it shares with others, by digest."""
    shared: dict[bytes, bytes] = {}

    def share(value: object) -> bytes:
        data = _ENCODER.encode(value)
        digest = blake2b(data, digest_size=16).digest()
        shared[digest] = data
        return digest

    layouts = {name: place for place, name in enumerate(found.layouts)}
    workloads = {name: place for place, name in enumerate(found.workloads)}
    points = tuple(
        _KeptPoint(
            one.id, layouts[one.layout], workloads[one.workload], one.round, one.part, one.valid, one.reasons, one.marks,
            one.iops, one.bytes_per_s, one.latency, one.cpu_cores_used, one.write_amplification, one.started, one.seconds,
            share(one.command), share(one.facts), one.again, one.queue_depth,
        )
        for one in found.points
    )  # fmt: skip
    kept = Kept(
        found.run, points, found.scenario, found.title, found.host, found.started, found.rehearsal, found.complete,
        found.failed, share(found.layouts), share(found.workloads), share(found.facts),
    )  # fmt: skip
    return _ENCODER.encode(kept), shared


def unpacked(data: bytes) -> Kept:
    """What was kept. Raises ValueError for what is no such thing."""
    return _DECODER.decode(data)


def shared_of(kept: Kept) -> Iterator[bytes]:
    """Digests of all that it shares."""
    yield from (kept.layouts, kept.workloads, kept.facts)
    for point in kept.points:
        yield point.command
        yield point.facts


class Unfolding:
    """Extracts from what was kept of them. What they share is decoded once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}

    def missing(self, kept: Kept) -> list[bytes]:
        """Digests of what `extract` has not seen yet."""
        return [digest for digest in shared_of(kept) if digest not in self._known]

    def extract(self, kept: Kept, shared: Shared) -> Extract:
        """The extract; `shared` has what was missing. Raises ValueError or KeyError where the index is not whole."""
        layouts = self._value(kept.layouts, shared, _LAYOUTS)
        workloads = self._value(kept.workloads, shared, _TEXTS)
        names, loads = list(layouts), list(workloads)
        points = tuple(
            Point(
                one.id, names[one.layout], loads[one.workload], one.round, one.part, one.valid, one.reasons, one.marks,
                one.iops, one.bytes_per_s, one.latency, one.cpu_cores_used, one.write_amplification, one.started,
                one.seconds, self._value(one.command, shared, _WORDS), self._value(one.facts, shared, _TEXTS),
                one.again, queue_depth=one.queue_depth,
            )
            for one in kept.points
        )  # fmt: skip
        return Extract(
            kept.run, points, kept.scenario, kept.title, kept.host, kept.started, kept.rehearsal, kept.complete, layouts,
            kept.failed, workloads, self._value(kept.facts, shared, _TEXTS),
        )  # fmt: skip

    def _value(self, digest: bytes, shared: Shared, decoder: msgspec.msgpack.Decoder[Any]) -> Any:
        found = self._known.get(digest)
        if found is None:
            found = self._known[digest] = decoder.decode(shared[digest])
        return found
