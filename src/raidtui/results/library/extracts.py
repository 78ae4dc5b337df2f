"""Extracts of result files for the index: read without series and samples; shared texts are stored once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import _lru_cache_wrapper, lru_cache
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec

from raidtui.model.disk import Disk, Fingerprint
from raidtui.model.mark import Mark
from raidtui.model.measure import Latency, Summary
from raidtui.model.problem import Problem
from raidtui.model.result import NOT_PRECONDITIONED, RESULT_SCHEMA, Machine
from raidtui.results.extract import Extract, Point, extract
from raidtui.results.facts import Given, Server, given_of, options_facts, server_of

T = TypeVar("T")
_LONGEST_KEPT = 16384
"""Bytes."""


class LeanReport(msgspec.Struct, frozen=True, gc=False, rename={"version": "fio version", "raw": "global options"}):
    """Part of a tool's report: its options."""

    version: Any = None
    raw: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def options(self) -> dict[str, str]:
        """Facts like those of `options_facts`. One object for all cells with the same options."""
        return _remembered(_options, self.raw)


class LeanCell(msgspec.Struct, frozen=True, gc=False):
    id: str
    layout: str
    workload: str
    round: int
    valid: bool
    reasons: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    part: str = ""
    summary: Summary | None = None
    cpu_cores_used: float | None = None
    write_amplification: float | None = None
    command: tuple[str, ...] = ()
    started: str = ""
    seconds: float = 0.0
    report: LeanReport | str | list[Any] | float | bool | None = None
    again: bool = False


class LeanTuned(msgspec.Struct, frozen=True, gc=False):
    set: str


class LeanBuilt(msgspec.Struct, frozen=True, gc=False):
    layout: str
    status: str
    read_back: dict[str, Any] = {}
    initial_sync: str = ""
    tuning: dict[str, LeanTuned] = {}
    problem: Problem | None = None
    preconditioned: str = NOT_PRECONDITIONED


class LeanResult(msgspec.Struct, frozen=True, gc=False):
    """Result with only those fields that `extract` reads."""

    schema: str
    run: str
    rehearsal: bool
    complete: bool
    started: str
    scenario: msgspec.Raw
    machine: msgspec.Raw
    exit: int | None = None
    binding: dict[str, tuple[Fingerprint, ...]] = {}
    disks: tuple[Disk, ...] = ()
    layouts: tuple[LeanBuilt, ...] = ()
    cells: tuple[LeanCell, ...] = ()

    @property
    def given(self) -> Given:
        """Facts of the scenario. Decoded once for all runs of one scenario."""
        return _remembered(_given, self.scenario)

    @property
    def server(self) -> Server:
        """Facts of the server. Decoded once for all runs that found it unchanged."""
        return _remembered(_server, self.machine)


_DECODER = msgspec.json.Decoder(LeanResult)


@lru_cache(maxsize=128)
def _given(raw: bytes) -> Given:
    return given_of(msgspec.json.decode(raw, type=dict[str, Any]))


@lru_cache(maxsize=128)
def _server(raw: bytes) -> Server:
    return server_of(msgspec.json.decode(raw, type=Machine))


@lru_cache(maxsize=256)
def _options(raw: bytes) -> dict[str, str]:
    options = msgspec.json.decode(raw)
    return options_facts(options) if isinstance(options, dict) else {}


def _remembered(make: _lru_cache_wrapper[T], raw: msgspec.Raw) -> T:
    """Return the object that was made of the same bytes before, if they are few: a foreign file may hold millions."""
    data = bytes(raw)
    return make(data) if len(data) <= _LONGEST_KEPT else make.__wrapped__(data)


def lean_extract(data: bytes) -> tuple[Extract, int | None]:
    """Return the extract of a result, and how the run ended. Raises ValueError or RecursionError for other data."""
    found = _DECODER.decode(data)
    if found.schema != RESULT_SCHEMA:
        raise ValueError(f"it is of schema {found.schema[:60]!r}, not {RESULT_SCHEMA}")
    return extract(found), found.exit


Shared = Mapping[bytes, bytes]
"""Texts that results have in common, encoded, by digest."""


class _KeptPoint(msgspec.Struct, frozen=True, array_like=True, gc=False):
    id: str
    layout: int
    """Position among the extract's layouts; `workload` likewise."""
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
_KEPT_DECODER = msgspec.msgpack.Decoder(Kept)
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
    """Return the stored extract. Raises ValueError for other data."""
    return _KEPT_DECODER.decode(data)


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
