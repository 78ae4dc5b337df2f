"""The workload engine `pg_test_fsync`: rates of the methods that make a database's log durable (pg_test_fsync(1))."""

from __future__ import annotations

import errno
import os
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from raidtui.base.proc import find_tool
from raidtui.load.child import follow
from raidtui.load.engine import Engine, Estimate, Pattern, Target
from raidtui.model.describe import Preset
from raidtui.model.measure import Direction, Latency, Measured, Sample, Summary
from raidtui.model.plan import TargetKind
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.refusals import WORKLOAD_TARGET
from raidtui.model.tool import Tool
from raidtui.model.units import size_text

FILE_BYTES: Final = 16 << 20
WRITE_BYTES: Final = 8192
TABLES: Final = 5
_TESTS: Final = 18
"""Rows of all tables; one of them is never available on Linux."""
_FILE: Final = "pg_test_fsync.out"
_PATIENCE_S: Final = 180.0
_REFUSED: Final = os.strerror(errno.EINVAL)
_SECTORS: Final = (
    "pg_test_fsync ended before its last tables, which write 1 KiB and 2 KiB with O_DIRECT: devices with 4 KiB sectors "
    "(disks, or a writecache with such blocks) refuse them, and so does ZFS from 2.3 on without direct=disabled"
)
_HEADLINE: Final = "fdatasync"
"""PostgreSQL's default method on Linux: the figure that is compared."""
_ROW: Final = re.compile(r"\s+(\S.*?)\s{2,}(?:([\d.]+) ops/sec\s+(\d+) usecs/op|n/a\*?)\s*")
_TITLE: Final = re.compile(r"(?:Compare|Test|Non-sync).*:")

PG_MISSING: Final = Refusal(
    "pg-missing",
    "pg_test_fsync is not installed",
    "pg_test_fsync belongs to the PostgreSQL server; it is neither in PostgreSQL's folder nor in the system's folders.",
    "Install it: apt install postgresql. The server need not run.",
)
PG_DEDUP: Final = Refusal(
    "pg-dedup",
    "The same bytes on a layout that deduplicates",
    "pg_test_fsync writes one buffer of random bytes over and over; a deduplicating layout stores it once.",
    "Turn deduplication off in the layout, or write with fio and an fsync after each write.",
)
PG_ROOM: Final = Refusal(
    "pg-room",
    "No room for the file of pg_test_fsync",
    "pg_test_fsync writes a file of 16 MiB and copies of its blocks.",
    "Use larger disks.",
)


class PgTestFsyncSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """PostgreSQL's test of durable writes (pg_test_fsync(1)), on a file that it creates and removes."""

    secs_per_test: Annotated[int, Meta(ge=1, le=600, extra={"unit": "s"})] = 5
    """Duration of each of its 17 tests."""


class Row(msgspec.Struct, frozen=True):
    """One row of a table; None for a method that this platform does not have."""

    name: str
    ops_per_s: float | None
    us_per_op: float | None


class Table(msgspec.Struct, frozen=True):
    """One table, with the title that pg_test_fsync prints."""

    title: str
    rows: tuple[Row, ...]


def read_row(line: str) -> Row | None:
    """Parse a row of a table; None for any other line."""
    match = _ROW.fullmatch(line)
    if match is None:
        return None
    ops, us = match.group(2), match.group(3)
    return Row(match.group(1), float(ops) if ops else None, float(us) if us else None)


def read_tables(text: str) -> tuple[Table, ...]:
    """Parse all tables, in order."""
    found: list[Table] = []
    for line in text.splitlines():
        if _TITLE.fullmatch(line):
            found.append(Table(line.rstrip(":"), ()))
        elif found and (row := read_row(line)) is not None:
            found[-1] = Table(found[-1].title, (*found[-1].rows, row))
    return tuple(found)


def _headline(tables: tuple[Table, ...]) -> Row | None:
    """Return the row of fdatasync in the first table (one write), if it has a number."""
    rows = tables[0].rows if tables else ()
    return next((row for row in rows if row.name == _HEADLINE and row.ops_per_s is not None), None)


def find_pg_test_fsync() -> str | None:
    """Return its path. Distributions keep it beside the server, in one folder per version; the newest version is used."""
    if path := find_tool("pg_test_fsync"):
        return path
    found = [path for path in Path("/usr/lib/postgresql").glob("*/bin/pg_test_fsync") if path.is_file()]
    versions = {int(path.parts[4]): str(path) for path in found if path.parts[4].isdigit()}
    return versions[max(versions)] if versions else None


class PgTestFsyncEngine(Engine):
    """One writer, 8 KiB at a time. The compared figure is fdatasync after one write; all tables are kept."""

    kind = "pg_test_fsync"
    title = "pg_test_fsync"
    spec: type[msgspec.Struct] = PgTestFsyncSpec
    tools = (
        Tool(name="pg_test_fsync", needed_for="workloads of kind pg_test_fsync", remedy="apt install postgresql",
             without="such workloads are refused", find=find_pg_test_fsync),
    )  # fmt: skip
    takes: tuple[TargetKind, ...] = ("directory",)
    presets = (Preset("pg-test-fsync", "pg_test_fsync, 5 s per test", "pg_test_fsync", {"secs_per_test": 5}),)

    def describe(self, spec: PgTestFsyncSpec) -> str:
        return f"pg_test_fsync, {spec.secs_per_test}s per test"

    def defaults(self, spec: PgTestFsyncSpec) -> Mapping[str, tuple[str, str]]:
        return {"secs_per_test": ("5", "pg_test_fsync's default")}

    def pattern(self, spec: PgTestFsyncSpec) -> Pattern:
        return Pattern((WRITE_BYTES,), writes=True, random=False, in_flight_bytes=2 * WRITE_BYTES, whole_sectors=False,
                       syncs=True, in_turns=True, reported_whole=False)  # fmt: skip

    def check_target(
        self, spec: PgTestFsyncSpec, place: str, size_bytes: int, *, kind: TargetKind = "block"
    ) -> list[Problem]:
        if size_bytes >= 2 * FILE_BYTES:
            return []
        text = f"the directory has {size_text(size_bytes)}, and the file needs {size_text(2 * FILE_BYTES)}"
        return [PG_ROOM.problem(text, place=place, remedy=PG_ROOM.way_out)]

    def check_reduced(self, spec: PgTestFsyncSpec, place: str, how: tuple[str, ...]) -> list[Problem]:
        if "deduplicates" not in how:
            return []
        text = "pg_test_fsync writes the same bytes over and over, and this layout stores them once"
        return [PG_DEDUP.problem(text, place=place, remedy=PG_DEDUP.way_out)]

    def quick(self, spec: PgTestFsyncSpec, size_bytes: int, *, kind: TargetKind = "block") -> PgTestFsyncSpec:
        """Return one second per test, the shortest that pg_test_fsync accepts."""
        return PgTestFsyncSpec(secs_per_test=1)

    def reads(self, spec: PgTestFsyncSpec) -> bool:
        return False

    def region_bytes(self, spec: PgTestFsyncSpec, size_bytes: int, *, kind: TargetKind = "block") -> int:
        return FILE_BYTES

    def estimate(self, spec: PgTestFsyncSpec, size_bytes: int, *, kind: TargetKind = "block") -> Estimate:
        return Estimate(float(_TESTS * spec.secs_per_test), None)

    def command(
        self, spec: PgTestFsyncSpec, paths: tuple[str, ...], *, size_bytes: int | None = None, kind: TargetKind = "block"
    ) -> tuple[str, ...]:
        # pg_test_fsync unlinks the file that it is given: so it gets a name of its own in the cell's folder.
        tool = find_pg_test_fsync() or "pg_test_fsync"
        return tool, f"--secs-per-test={spec.secs_per_test}", f"--filename={paths[0]}/{_FILE}"

    def run(
        self, spec: PgTestFsyncSpec, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        """Run all tests; each gives one sample. Raises ProblemError: no directory, not installed, not started, `stuck`."""
        if target.kind != "directory":
            raise fail(WORKLOAD_TARGET, "pg_test_fsync needs a directory for its file", exit=Exit.INVALID)
        if problems := self.check_target(spec, self.kind, target.size_bytes):
            raise ProblemError(*problems)
        if find_pg_test_fsync() is None:
            raise fail(PG_MISSING, "pg_test_fsync is not installed", remedy=PG_MISSING.way_out, exit=Exit.INVALID)
        fds = target.fds
        argv = self.command(spec, target.paths)
        samples: list[Sample] = []

        def on_line(line: str) -> None:
            row = read_row(line)
            if row is not None and row.ops_per_s is not None:
                done = _direction(row.ops_per_s, row.us_per_op, spec.secs_per_test)
                span_s = float(spec.secs_per_test)
                samples.append(Sample((len(samples) + 1) * span_s, span_s, write=done))
                live(samples[-1])

        limit_s = _TESTS * spec.secs_per_test + _PATIENCE_S
        ended = follow(argv, fds, folder, limit_s=limit_s, stop=stop, on_line=on_line)
        tables = read_tables(ended.out)
        doubts, remark = _problems_and_remark(ended.problems("pg_test_fsync"), tables)
        return Measured(
            summary=_summary(tables, spec.secs_per_test),
            command=argv,
            samples=tuple(samples),
            problems=tuple(doubts),
            remarks=(remark,) if remark else (),
            version=_version(argv[0]),
            raw=msgspec.Raw(msgspec.json.encode({"tables": tables})),
        )


def _version(path: str) -> str:
    match = re.search(r"/postgresql/(\d+)/", path)
    return match.group(1) if match else ""


def _problems_and_remark(problems: list[str], tables: tuple[Table, ...]) -> tuple[list[str], str]:
    if any(_REFUSED in problem for problem in problems) and _headline(tables) is not None:
        return [], _SECTORS
    return problems or _missing(tables), ""


def _missing(tables: tuple[Table, ...]) -> list[str]:
    found = []
    if len(tables) != TABLES:
        found.append(f"pg_test_fsync printed {len(tables)} tables instead of {TABLES}, and reported no error")
    if _headline(tables) is None:
        found.append(f"pg_test_fsync printed no number for {_HEADLINE}, the figure that is compared")
    return found


def _summary(tables: tuple[Table, ...], seconds: int) -> Summary:
    row = _headline(tables)
    if row is None or row.ops_per_s is None:
        return Summary(jobs=1)
    write = _direction(row.ops_per_s, row.us_per_op, seconds)
    durable = Direction(write.ios, 0, write.iops, 0.0, write.runtime_s, write.latency)
    return Summary(write=write, sync=durable, runtime_s=float(seconds), jobs=1)


def _direction(ops_per_s: float, us_per_op: float | None, seconds: int) -> Direction:
    count = round(ops_per_s * seconds)
    return Direction(count, count * WRITE_BYTES, ops_per_s, ops_per_s * WRITE_BYTES, float(seconds), Latency(us_per_op))


ENGINE: Final = PgTestFsyncEngine()
