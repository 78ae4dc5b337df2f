"""A result file without series, samples and most of the tools' reports: what an index needs is read, the rest skipped."""

from __future__ import annotations

from typing import Any

import msgspec

from raidtui.model.disk import Disk, Fingerprint
from raidtui.model.measure import Summary
from raidtui.model.problem import Problem
from raidtui.model.result import RESULT_SCHEMA, Machine
from raidtui.results.extract import Extract, extract


class LeanReport(msgspec.Struct, frozen=True, gc=False, rename={"version": "fio version", "options": "global options"}):
    """Of a tool's report: what it says of how it was run."""

    version: Any = None
    options: Any = None


class LeanCell(msgspec.Struct, frozen=True, gc=False):
    id: str
    layout: str
    workload: str
    round: int
    valid: bool
    reasons: tuple[str, ...] = ()
    part: str = ""
    summary: Summary | None = None
    cpu_cores_used: float | None = None
    write_amplification: float | None = None
    command: tuple[str, ...] = ()
    started: str = ""
    seconds: float = 0.0
    report: LeanReport | str | list[Any] | float | bool | None = None


class LeanTuned(msgspec.Struct, frozen=True, gc=False):
    set: str


class LeanBuilt(msgspec.Struct, frozen=True, gc=False):
    layout: str
    status: str
    read_back: dict[str, Any] = {}
    initial_sync: str = ""
    tuning: dict[str, LeanTuned] = {}
    problem: Problem | None = None


class LeanResult(msgspec.Struct, frozen=True, gc=False):
    """As `Result`, of which it has the fields that `extract` looks at."""

    schema: str
    run: str
    rehearsal: bool
    complete: bool
    started: str
    scenario: dict[str, Any]
    machine: Machine
    exit: int | None = None
    binding: dict[str, tuple[Fingerprint, ...]] = {}
    disks: tuple[Disk, ...] = ()
    layouts: tuple[LeanBuilt, ...] = ()
    cells: tuple[LeanCell, ...] = ()


_DECODER = msgspec.json.Decoder(LeanResult)


def lean_extract(data: bytes) -> tuple[Extract, int | None]:
    """What a comparison needs, and how the run ended. Raises ValueError or RecursionError for what is no result."""
    found = _DECODER.decode(data)
    if found.schema != RESULT_SCHEMA:
        raise ValueError(f"it is of schema {found.schema[:60]!r}, not {RESULT_SCHEMA}")
    return extract(found), found.exit
