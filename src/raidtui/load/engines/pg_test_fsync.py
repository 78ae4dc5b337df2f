"""The workload engine `pg_test_fsync`: what each way of making a database's log durable costs."""

from __future__ import annotations

import errno
import os
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.base.proc import find_tool
from raidtui.load.child import follow
from raidtui.load.engine import Engine, Estimate, Pattern, Target
from raidtui.load.pg.report import TABLES, Table, read_row, read_tables, row_of
from raidtui.load.reasons import REASONS
from raidtui.model.describe import Preset
from raidtui.model.measure import Direction, Latency, Measured, Sample, Summary
from raidtui.model.plan import TargetKind
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.model.units import size_text

FILE_BYTES: Final = 16 << 20
WRITE_BYTES: Final = 8192
_TESTS: Final = 18
"""Lines of all tables; one of them is never available on Linux."""
_FILE: Final = "pg_test_fsync.out"
_PATIENCE_S: Final = 180.0
_REFUSED: Final = os.strerror(errno.EINVAL)
_SECTORS: Final = (
    "pg_test_fsync ended before its last tables, which write 1 KiB and 2 KiB with O_DIRECT: sectors of 4 KiB do not take "
    "them (of the disks, or of a writecache with such blocks), nor does ZFS from 2.3 on without direct=disabled"
)
_HEADLINE: Final = "fdatasync"
"""PostgreSQL's default on Linux."""


class PgTestFsyncSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """PostgreSQL's own test of durable writes (pg_test_fsync(1)), on a file that it makes and removes."""

    secs_per_test: Annotated[int, Meta(ge=1, le=600, extra={"unit": "s"})] = 5
    """How long each of its tests takes; there are 17."""


class PgTestFsyncEngine:
    """One writer, 8 KiB at a time. The figure that is compared is fdatasync of one write; all tables are kept."""

    kind = "pg_test_fsync"
    title = "pg_test_fsync"
    spec: type[msgspec.Struct] = PgTestFsyncSpec
    takes: Final[Literal["directory"]] = "directory"
    presets: Final = (Preset("pg-test-fsync", "pg_test_fsync, 5 s per test", "pg_test_fsync", {"secs_per_test": 5}),)

    def check(self, spec: PgTestFsyncSpec, place: str) -> list[Problem]:
        return []

    def words(self, spec: PgTestFsyncSpec) -> str:
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
        return [Problem("pg-room", text, place, REASONS["pg-room"][2], int(Exit.USAGE))]

    def stated(self, spec: PgTestFsyncSpec) -> PgTestFsyncSpec:
        return spec

    def check_reduced(self, spec: PgTestFsyncSpec, place: str, how: tuple[str, ...]) -> list[Problem]:
        """It writes random bytes, and the same ones again and again."""
        if "deduplicates" not in how:
            return []
        text = "pg_test_fsync writes the same bytes again and again, which this layout keeps once"
        return [Problem("pg-dedup", text, place, REASONS["pg-dedup"][2], int(Exit.USAGE))]

    def quick(self, spec: PgTestFsyncSpec, size_bytes: int, *, kind: TargetKind = "block") -> PgTestFsyncSpec:
        """One second per test: it knows no less."""
        return PgTestFsyncSpec(secs_per_test=1)

    def sliced(self, spec: PgTestFsyncSpec, seconds: float) -> PgTestFsyncSpec:
        return spec

    def reads(self, spec: PgTestFsyncSpec) -> bool:
        return False

    def region_bytes(self, spec: PgTestFsyncSpec, size_bytes: int, *, kind: TargetKind = "block") -> int:
        return FILE_BYTES

    def estimate(self, spec: PgTestFsyncSpec, size_bytes: int, *, kind: TargetKind = "block") -> Estimate:
        return Estimate(float(_TESTS * spec.secs_per_test), None)

    def command(
        self,
        spec: PgTestFsyncSpec,
        paths: tuple[str, ...],
        *,
        size_bytes: int | None = None,
        kind: TargetKind = "block",
    ) -> tuple[str, ...]:
        # It unlinks what it is given: the name is its own, in a folder that was made for it.
        return (_tool() or "pg_test_fsync", f"--secs-per-test={spec.secs_per_test}", f"--filename={paths[0]}/{_FILE}")

    def prefill_command(
        self, spec: PgTestFsyncSpec, paths: tuple[str, ...], *, size_bytes: int, kind: TargetKind = "block"
    ) -> tuple[str, ...]:
        raise NotImplementedError("it fills its file itself")

    def run(
        self,
        spec: PgTestFsyncSpec,
        target: Target,
        *,
        folder: Path,
        live: Callable[[Sample], None],
        stop: threading.Event,
    ) -> Measured:
        """A sample per test, as each one ends. Raises ProblemError: no directory, missing, not started, `stuck`."""
        if target.kind != "directory":
            raise fail("workload-target", "pg_test_fsync unlinks what it is given", exit=Exit.INVALID)
        if problems := self.check_target(spec, self.kind, target.size_bytes):
            raise ProblemError(*problems)
        if _tool() is None:
            raise fail("pg-missing", "pg_test_fsync is not installed", remedy=REASONS["pg-missing"][2], exit=Exit.INVALID)
        fds = [device.fd for device in target.devices]
        argv = self.command(spec, tuple(f"/proc/self/fd/{fd}" for fd in fds))
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
        doubts, remark = _judged(ended.problems("pg_test_fsync"), tables)
        return Measured(
            summary=_summary(tables, spec.secs_per_test),
            command=argv,
            samples=tuple(samples),
            problems=tuple(doubts),
            remarks=(remark,) if remark else (),
            version=_version(argv[0]),
            raw=msgspec.Raw(msgspec.json.encode({"tables": tables})),
        )

    def prefill(self, spec: Any, target: Target, *, folder: Path, live: Any, stop: threading.Event) -> Measured:
        raise NotImplementedError("it fills its file itself")


def _tool() -> str | None:
    """Distributions keep it beside the server, in a folder per version: the newest one."""
    if path := find_tool("pg_test_fsync"):
        return path
    found = [path for path in Path("/usr/lib/postgresql").glob("*/bin/pg_test_fsync") if path.is_file()]
    versions = {int(path.parts[4]): str(path) for path in found if path.parts[4].isdigit()}
    return versions[max(versions)] if versions else None


def _version(path: str) -> str:
    match = re.search(r"/postgresql/(\d+)/", path)
    return match.group(1) if match else ""


def _judged(doubts: list[str], tables: tuple[Table, ...]) -> tuple[list[str], str]:
    """What is wrong, and what is to be known beside the figures where they stand."""
    if any(_REFUSED in doubt for doubt in doubts) and not _no_headline(tables):
        return [], _SECTORS
    return doubts or _missing(tables), ""


def _missing(tables: tuple[Table, ...]) -> list[str]:
    found = []
    if len(tables) != TABLES:
        found.append(f"pg_test_fsync printed {len(tables)} tables instead of {TABLES}, and reported no error")
    if _no_headline(tables):
        found.append(f"pg_test_fsync printed no figure for {_HEADLINE}, which is what is compared")
    return found


def _no_headline(tables: tuple[Table, ...]) -> bool:
    row = row_of(tables, _HEADLINE)
    return row is None or row.ops_per_s is None


def _summary(tables: tuple[Table, ...], seconds: int) -> Summary:
    row = row_of(tables, _HEADLINE)
    if row is None or row.ops_per_s is None:
        return Summary(jobs=1)
    write = _direction(row.ops_per_s, row.us_per_op, seconds)
    durable = Direction(write.ios, 0, write.iops, 0.0, write.runtime_s, write.latency)
    return Summary(write=write, sync=durable, runtime_s=float(seconds), jobs=1)


def _direction(ops_per_s: float, us_per_op: float | None, seconds: int) -> Direction:
    count = round(ops_per_s * seconds)
    return Direction(count, count * WRITE_BYTES, ops_per_s, ops_per_s * WRITE_BYTES, float(seconds), Latency(us_per_op))


ENGINE: Engine = PgTestFsyncEngine()
