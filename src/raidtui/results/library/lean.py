"""A result file without series, samples and most of the tools' reports: what an index needs is read, the rest skipped."""

from __future__ import annotations

from functools import _lru_cache_wrapper, lru_cache
from typing import Any, TypeVar

import msgspec

from raidtui.model.disk import Disk, Fingerprint
from raidtui.model.mark import Mark
from raidtui.model.measure import Summary
from raidtui.model.problem import Problem
from raidtui.model.result import NOT_PRECONDITIONED, RESULT_SCHEMA, Machine
from raidtui.results.extract import Extract, extract
from raidtui.results.facts import Given, Server, given_of, options_facts, server_of

T = TypeVar("T")
_LONGEST_KEPT = 16384
"""Bytes."""


class LeanReport(msgspec.Struct, frozen=True, gc=False, rename={"version": "fio version", "raw": "global options"}):
    """Of a tool's report: what it says of how it was run."""

    version: Any = None
    raw: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def options(self) -> dict[str, str]:
        """As `options_facts`. One object for all cells that were run with the same options."""
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
    """As `Result`, of which it has the fields that `extract` looks at."""

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
        """What the scenario says. Decoded once for all runs of one scenario."""
        return _remembered(_given, self.scenario)

    @property
    def server(self) -> Server:
        """What is said of the server. Decoded once for all runs that found it as it was."""
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
    """From memory where it was made of the same bytes before, and these are few: a stranger's file may hold millions."""
    data = bytes(raw)
    return make(data) if len(data) <= _LONGEST_KEPT else make.__wrapped__(data)


def lean_extract(data: bytes) -> tuple[Extract, int | None]:
    """What a comparison needs, and how the run ended. Raises ValueError or RecursionError for what is no result."""
    found = _DECODER.decode(data)
    if found.schema != RESULT_SCHEMA:
        raise ValueError(f"it is of schema {found.schema[:60]!r}, not {RESULT_SCHEMA}")
    return extract(found), found.exit
