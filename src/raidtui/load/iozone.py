"""The workload engine `iozone`; fio runs the same pattern where iozone is not installed."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.base.proc import find_tool
from raidtui.load.child import follow
from raidtui.load.engine import Engine, Estimate, Found, Pattern, Target, problems_at
from raidtui.load.fio.engine import FioEngine
from raidtui.load.fio.rules import FIO_BUFFERED
from raidtui.load.fio.spec import FioSpec
from raidtui.model.describe import Preset
from raidtui.model.measure import Direction, Latency, Measured, Sample, Summary
from raidtui.model.plan import TargetKind
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.refusals import WORKLOAD_TARGET
from raidtui.model.tool import Tool
from raidtui.model.units import Duration, Extent, Size, size_text, size_texts

KIB: Final = 1 << 10
SMALLEST_RECORD: Final = 4 * KIB
LARGEST_RECORD: Final = 16 << 20
SMALLEST_RECORDS: Final = 16
QUICK_BYTES: Final = 32 << 20
_FILE: Final = "iozone.out"
_TESTS: Final = {"write": ("0",), "rewrite": ("0",), "read": ("0", "1"), "reread": ("0", "1"), "random-read": ("0", "2"),
                 "random-write": ("0", "2")}  # fmt: skip
"""Numbers of iozone's tests: 0 writes and rewrites, 1 reads and rereads, 2 reads and writes at random."""
_RW: Final[dict[str, Literal["write", "read", "randread", "randwrite"]]] = {
    "write": "write", "rewrite": "write", "read": "read", "reread": "read", "random-read": "randread",
    "random-write": "randwrite",
}  # fmt: skip
_LONGEST: Final = "12h"
_GUESS_BYTES_S: Final = 2e8
_SLOWEST_BYTES_S: Final = 64 << 10
_PATIENCE_S: Final = 1800.0
COLUMNS: Final = ("write", "rewrite", "read", "reread", "random-read", "random-write")
"""The first columns after size and record length, in iozone's order."""
_HEADING: Final = re.compile(r"\s*kB\s+reclen\s+write\s+rewrite\s+read\s+reread\s+read\s+write\b.*")
_ROW: Final = re.compile(r"\s*\d+\s+\d+(?:\s+\d+)*\s*")

IOZONE_RECORD: Final = Refusal(
    "iozone-record",
    "Record size out of range",
    "Records of iozone are powers of two, from 4 KiB to 16 MiB.",
    "Use 4KiB for a database's pages, 64KiB or 1MiB for files.",
)
IOZONE_SIZE: Final = Refusal(
    "iozone-size",
    "The file does not fit, or has too few records",
    "iozone writes the whole file before it reads it; a pass over a few records measures nothing.",
    'Use another size, or a share of the directory such as "10%".',
)
IOZONE_PATTERN: Final = Refusal(
    "iozone-pattern",
    "A constant pattern on a layout that compresses or deduplicates",
    "iozone fills all its records with the same pattern, and such a layout stores it once or compressed: reads and writes "
    "hardly reach the disks.",
    "Turn compression and deduplication off in the layout, or use fio and set buffer_compress_percentage.",
)


class IozoneSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """iozone(1): one process passes over one file, record by record. fio runs the pattern if iozone is not installed."""

    test: Literal["write", "rewrite", "read", "reread", "random-read", "random-write"]
    """The pass that counts. iozone always writes the file first, twice."""
    record: Annotated[Size, Meta(examples=["64KiB", "4KiB"])]
    """Size of every operation."""
    size: Annotated[Extent, Meta(examples=["8GiB", "10%"])]
    """Size of the file: `"8GiB"`, or a share of the directory."""
    direct: bool = True
    """O_DIRECT. False measures the page cache as well, and needs `why_buffered`."""
    why_buffered: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """The reason for `direct: false`. Kept with the result."""

    @property
    def reads(self) -> bool:
        return self.test in ("read", "reread", "random-read")


def read_table(text: str) -> dict[str, int] | None:
    """Parse iozone's output: bytes per second by test, of the first row. None without a row.

    Tests that did not run are missing. The kB of iozone are 1024 bytes.
    """
    ends: list[int] = []
    for line in text.splitlines():
        if _HEADING.fullmatch(line):
            ends = [match.end() for match in re.finditer(r"\S+", line)][2:]
        elif ends and _ROW.fullmatch(line):
            # The columns of tests that did not run are blank: a number stands where its heading ends.
            cells = list(re.finditer(r"\d+", line))[2:]
            found = ((_nearest(ends, cell.end()), int(cell.group())) for cell in cells)
            return {COLUMNS[at]: rate * 1024 for at, rate in found if at < len(COLUMNS)}
    return None


def _nearest(ends: list[int], end: int) -> int:
    return min(range(len(ends)), key=lambda at: abs(ends[at] - end))


class IozoneEngine(Engine):
    """iozone on one file in a directory."""

    kind = "iozone"
    title = "iozone"
    spec: type[msgspec.Struct] = IozoneSpec
    tools = (
        Tool(name="iozone", needed_for="workloads of kind iozone", remedy="apt install iozone3 (non-free)", version=("-v",),
             without="fio does the same pattern instead"),
    )  # fmt: skip
    takes: tuple[TargetKind, ...] = ("directory",)
    presets = (
        Preset("iozone-random-read-64k", "iozone random read, 64k records", "iozone",
               {"test": "random-read", "record": "64KiB", "size": "8GiB"}),
        Preset("iozone-random-write-64k", "iozone random write, 64k records", "iozone",
               {"test": "random-write", "record": "64KiB", "size": "8GiB"}),
    )  # fmt: skip

    def __init__(self) -> None:
        self._fio = FioEngine()

    def check(self, spec: IozoneSpec, place: str) -> list[Problem]:
        return problems_at(_check(spec), place)

    def describe(self, spec: IozoneSpec) -> str:
        """Return `iozone random-read 64KiB, 8GiB`, with a note if fio runs it."""
        buffered = "" if spec.direct else ", buffered"
        by_fio = "" if find_tool("iozone") else " (by fio: iozone is not installed)"
        return f"iozone {spec.test} {spec.record.text}, {spec.size.text}{buffered}{by_fio}"

    def defaults(self, spec: IozoneSpec) -> Mapping[str, tuple[str, str]]:
        why = "nothing is buffered" if spec.direct else "a reason is required"
        return {"direct": ("true", "otherwise the page cache is measured"), "why_buffered": ("none", why)}

    def pattern(self, spec: IozoneSpec) -> Pattern:
        record = spec.record.bytes
        return Pattern((record,), not spec.reads, spec.test.startswith("random"), record, spec.direct, reads=spec.reads,
                       in_turns=True)  # fmt: skip

    def check_target(self, spec: IozoneSpec, place: str, size_bytes: int, *, kind: TargetKind = "block") -> list[Problem]:
        return problems_at(_check_size(spec, size_bytes), place)

    def check_reduced(self, spec: IozoneSpec, place: str, how: tuple[str, ...]) -> list[Problem]:
        text = f"iozone writes one pattern over and over, and this layout {' and '.join(how)} it"
        return problems_at([(IOZONE_PATTERN, "test", text)], place)

    def quick(self, spec: IozoneSpec, size_bytes: int, *, kind: TargetKind = "block") -> IozoneSpec:
        most = max(QUICK_BYTES, SMALLEST_RECORDS * spec.record.bytes)
        return spec if file_bytes(spec, size_bytes) <= most else msgspec.structs.replace(spec, size=Extent(f"{most}B"))

    def reads(self, spec: IozoneSpec) -> bool:
        """Return True if the file has to exist: iozone writes it itself, fio does not."""
        return find_tool("iozone") is None and spec.test != "write"

    def region_bytes(self, spec: IozoneSpec, size_bytes: int, *, kind: TargetKind = "block") -> int:
        return file_bytes(spec, size_bytes)

    def estimate(self, spec: IozoneSpec, size_bytes: int, *, kind: TargetKind = "block") -> Estimate:
        size = file_bytes(spec, size_bytes)
        passes = 2 * len(_TESTS[spec.test])
        return Estimate(1.0 + passes * size / _GUESS_BYTES_S, size * (3 if "2" in _TESTS[spec.test] else 2))

    def command(
        self, spec: IozoneSpec, paths: tuple[str, ...], *, size_bytes: int | None = None, kind: TargetKind = "directory"
    ) -> tuple[str, ...]:
        size = file_bytes(spec, size_bytes) if size_bytes is not None else spec.size.bytes
        tool = find_tool("iozone")
        if tool is None:
            return self._fio.command(_as_fio(spec, size), paths, size_bytes=size_bytes, kind="directory")
        tests = [word for number in _TESTS[spec.test] for word in ("-i", number)]
        argv = [tool, *tests, "-r", f"{spec.record.bytes // KIB}k"]
        argv += ["-s", f"{size // KIB}k" if size is not None else spec.size.text, *(["-I"] if spec.direct else [])]
        # -e: include the flush in the time of a pass; -f: the file.
        return (*argv, f"-ef{paths[0]}/{_FILE}")

    def prefill_command(
        self, spec: IozoneSpec, paths: tuple[str, ...], *, size_bytes: int, kind: TargetKind = "directory"
    ) -> tuple[str, ...]:
        by_fio = _as_fio(spec, file_bytes(spec, size_bytes))
        return self._fio.prefill_command(by_fio, paths, size_bytes=size_bytes, kind="directory")

    def run(
        self, spec: IozoneSpec, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        """Run iozone to its end. Raises ProblemError: options refused, no directory, not started, or `stuck`."""
        if target.kind != "directory":
            raise fail(WORKLOAD_TARGET, "iozone needs a directory for its file", exit=Exit.INVALID)
        size_bytes = target.size_bytes
        if problems := self.check(spec, self.kind) + self.check_target(spec, self.kind, size_bytes):
            raise ProblemError(*problems)
        size = file_bytes(spec, size_bytes)
        if find_tool("iozone") is None:
            return self._fio.run(_as_fio(spec, size), target, folder=folder, live=live, stop=stop)
        argv = self.command(spec, target.paths, size_bytes=size_bytes)
        limit_s = _PATIENCE_S + 2 * len(_TESTS[spec.test]) * size / _SLOWEST_BYTES_S
        fds = target.fds
        ended = follow(argv, fds, folder, limit_s=limit_s, stop=stop, on_line=lambda line: None)
        table = read_table(ended.out)
        found = ended.problems("iozone")
        if not found and (table is None or not table.get(spec.test)):
            found.append(f"iozone reported no error, but its table has no number for {spec.test}")
        return Measured(
            summary=_summary(spec, size, table or {}),
            command=argv,
            problems=tuple(found),
            raw=msgspec.Raw(msgspec.json.encode({"size_bytes": size, "bytes_per_s": table})) if table else None,
        )

    def prefill(
        self, spec: IozoneSpec, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        by_fio = _as_fio(spec, file_bytes(spec, target.size_bytes))
        return self._fio.prefill(by_fio, target, folder=folder, live=live, stop=stop)


def file_bytes(spec: IozoneSpec, size_bytes: int) -> int:
    """Return the file's size in a directory with room for `size_bytes`: whole records, whole KiB."""
    grain = max(spec.record.bytes, KIB)
    return spec.size.of(size_bytes) // grain * grain


def _check(spec: IozoneSpec) -> Iterator[Found]:
    record = spec.record.bytes
    if not SMALLEST_RECORD <= record <= LARGEST_RECORD or record & (record - 1):
        yield IOZONE_RECORD, "record", f"a record of {spec.record.text} is not a power of two from 4 KiB to 16 MiB"
    if not spec.direct and spec.why_buffered is None:
        yield FIO_BUFFERED, "direct", "direct is false, and why_buffered gives no reason to measure the page cache"
    if spec.direct and spec.why_buffered is not None:
        yield FIO_BUFFERED, "why_buffered", "why_buffered is given, but direct is true"


def _check_size(spec: IozoneSpec, size_bytes: int) -> Iterator[Found]:
    wanted = file_bytes(spec, size_bytes)
    if wanted > size_bytes:
        asked, room = size_texts(wanted, size_bytes)
        yield IOZONE_SIZE, "size", f"a file of {asked} does not fit: the directory has {room}"
    elif wanted < SMALLEST_RECORDS * spec.record.bytes:
        yield IOZONE_SIZE, "size", f"a file of {size_text(wanted)} has fewer than {SMALLEST_RECORDS} records"


def _as_fio(spec: IozoneSpec, size: int | None) -> FioSpec:
    """Return the same pattern for fio: one process passes over the file once, record by record."""
    return FioSpec(
        rw=_RW[spec.test], ioengine="psync", bs=spec.record, direct=spec.direct, why_buffered=spec.why_buffered,
        runtime=Duration(_LONGEST), time_based=False, end_fsync=not spec.reads,
        overwrite=spec.test in ("rewrite", "random-write"),
        filesize=Size(f"{size}B") if size is not None else None, size=None if size is not None else spec.size,
    )  # fmt: skip


def _summary(spec: IozoneSpec, size: int, table: Mapping[str, int]) -> Summary:
    rate = table.get(spec.test, 0)
    if not rate:
        return Summary(jobs=1)
    seconds, count = size / rate, size // spec.record.bytes
    moved = Direction(count, size, rate / spec.record.bytes, float(rate), seconds, Latency(1e6 * seconds / count))
    return Summary(read=moved if spec.reads else None, write=None if spec.reads else moved, runtime_s=seconds, jobs=1)


ENGINE: Final = IozoneEngine()
