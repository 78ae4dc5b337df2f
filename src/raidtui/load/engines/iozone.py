"""The workload engine `iozone`, or the same pattern by fio where it is not installed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from raidtui.base.proc import find_tool
from raidtui.load.child import follow
from raidtui.load.engine import Engine, Estimate, Pattern, Target
from raidtui.load.engines.fio import FioEngine
from raidtui.load.fio.options import FioSpec
from raidtui.load.iozone import options
from raidtui.load.iozone.options import KIB, IozoneSpec, file_bytes
from raidtui.load.iozone.report import read_table
from raidtui.load.reasons import REASONS
from raidtui.model.describe import Preset
from raidtui.model.measure import Direction, Latency, Measured, Sample, Summary
from raidtui.model.plan import TargetKind
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.model.units import Duration, Extent, Size

QUICK_BYTES: Final = 32 << 20
_FILE: Final = "iozone.out"
_PASSES: Final = {"write": ("0",), "rewrite": ("0",), "read": ("0", "1"), "reread": ("0", "1"), "random-read": ("0", "2"),
                  "random-write": ("0", "2")}  # fmt: skip
"""Numbers of iozone's tests: 0 writes and writes again, 1 reads and reads again, 2 does both at random."""
_RW: Final[dict[str, Literal["write", "read", "randread", "randwrite"]]] = {
    "write": "write", "rewrite": "write", "read": "read", "reread": "read", "random-read": "randread",
    "random-write": "randwrite",
}  # fmt: skip
_LONGEST: Final = "12h"
_GUESS_BYTES_S: Final = 2e8
_SLOWEST_BYTES_S: Final = 64 << 10
_PATIENCE_S: Final = 1800.0


class IozoneEngine:
    """On one file of its own in a directory."""

    kind = "iozone"
    title = "iozone"
    spec: type[msgspec.Struct] = IozoneSpec
    takes: Final[Literal["directory"]] = "directory"
    presets: Final = (
        Preset("iozone-random-read-64k", "iozone random read, 64k records", "iozone",
               {"test": "random-read", "record": "64KiB", "size": "8GiB"}),
        Preset("iozone-random-write-64k", "iozone random write, 64k records", "iozone",
               {"test": "random-write", "record": "64KiB", "size": "8GiB"}),
    )  # fmt: skip

    def __init__(self) -> None:
        self._fio = FioEngine()

    def check(self, spec: IozoneSpec, place: str) -> list[Problem]:
        return options.check(spec, place)

    def words(self, spec: IozoneSpec) -> str:
        """`iozone random-read 64KiB, 8GiB`; says so where fio does it."""
        buffered = "" if spec.direct else ", buffered"
        by_fio = "" if find_tool("iozone") else " (by fio: iozone is not installed)"
        return f"iozone {spec.test} {spec.record.text}, {spec.size.text}{buffered}{by_fio}"

    def defaults(self, spec: IozoneSpec) -> Mapping[str, tuple[str, str]]:
        why = "nothing is buffered" if spec.direct else "there must be one"
        return {"direct": ("true", "without it the page cache is measured"), "why_buffered": ("none", why)}

    def pattern(self, spec: IozoneSpec) -> Pattern:
        record = spec.record.bytes
        return Pattern((record,), not spec.reads, spec.test.startswith("random"), record, spec.direct, reads=spec.reads,
                       in_turns=True)  # fmt: skip

    def check_target(self, spec: IozoneSpec, place: str, size_bytes: int, *, kind: TargetKind = "block") -> list[Problem]:
        return options.check_target(spec, place, size_bytes)

    def stated(self, spec: IozoneSpec) -> IozoneSpec:
        return spec

    def check_reduced(self, spec: IozoneSpec, place: str, how: tuple[str, ...]) -> list[Problem]:
        text = f"iozone writes one pattern over and over, of which little is left where the layout {' and '.join(how)}"
        return [Problem("iozone-pattern", text, f"{place}.test", REASONS["iozone-pattern"][2], int(Exit.USAGE))]

    def quick(self, spec: IozoneSpec, size_bytes: int, *, kind: TargetKind = "block") -> IozoneSpec:
        most = max(QUICK_BYTES, options.SMALLEST_RECORDS * spec.record.bytes)
        return spec if file_bytes(spec, size_bytes) <= most else msgspec.structs.replace(spec, size=Extent(f"{most}B"))

    def sliced(self, spec: IozoneSpec, seconds: float) -> IozoneSpec:
        return spec

    def reads(self, spec: IozoneSpec) -> bool:
        """iozone writes its file itself; for fio it has to be there."""
        return find_tool("iozone") is None and spec.test != "write"

    def region_bytes(self, spec: IozoneSpec, size_bytes: int, *, kind: TargetKind = "block") -> int:
        return file_bytes(spec, size_bytes)

    def estimate(self, spec: IozoneSpec, size_bytes: int, *, kind: TargetKind = "block") -> Estimate:
        size = file_bytes(spec, size_bytes)
        passes = 2 * len(_PASSES[spec.test])
        return Estimate(1.0 + passes * size / _GUESS_BYTES_S, size * (3 if "2" in _PASSES[spec.test] else 2))

    def command(
        self, spec: IozoneSpec, paths: tuple[str, ...], *, size_bytes: int | None = None, kind: TargetKind = "directory"
    ) -> tuple[str, ...]:
        size = file_bytes(spec, size_bytes) if size_bytes is not None else spec.size.bytes
        tool = find_tool("iozone")
        if tool is None:
            return self._fio.command(_by_fio(spec, size), paths, size_bytes=size_bytes, kind="directory")
        argv = [
            tool,
            *(word for number in _PASSES[spec.test] for word in ("-i", number)),
            "-r",
            f"{spec.record.bytes // KIB}k",
        ]
        argv += ["-s", f"{size // KIB}k" if size is not None else spec.size.text, *(["-I"] if spec.direct else [])]
        # e: a pass ends when what it wrote is durable; f: the file.
        return (*argv, f"-ef{paths[0]}/{_FILE}")

    def prefill_command(
        self, spec: IozoneSpec, paths: tuple[str, ...], *, size_bytes: int, kind: TargetKind = "directory"
    ) -> tuple[str, ...]:
        by_fio = _by_fio(spec, file_bytes(spec, size_bytes))
        return self._fio.prefill_command(by_fio, paths, size_bytes=size_bytes, kind="directory")

    def run(
        self, spec: IozoneSpec, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        """Raises ProblemError: options refused, no directory, not started, or `stuck`."""
        if target.kind != "directory":
            raise fail("workload-target", "iozone measures a file", exit=Exit.INVALID)
        size_bytes = target.size_bytes
        if problems := self.check(spec, self.kind) + self.check_target(spec, self.kind, size_bytes):
            raise ProblemError(*problems)
        size = file_bytes(spec, size_bytes)
        if find_tool("iozone") is None:
            return self._fio.run(_by_fio(spec, size), target, folder=folder, live=live, stop=stop)
        fds = [device.fd for device in target.devices]
        argv = self.command(spec, tuple(f"/proc/self/fd/{fd}" for fd in fds), size_bytes=size_bytes)
        limit_s = _PATIENCE_S + 2 * len(_PASSES[spec.test]) * size / _SLOWEST_BYTES_S
        ended = follow(argv, fds, folder, limit_s=limit_s, stop=stop, on_line=lambda line: None)
        table = read_table(ended.out)
        found = ended.problems("iozone")
        if not found and (table is None or not table.get(spec.test)):
            found.append(f"iozone ended without an error, and its table has no number for {spec.test}")
        return Measured(
            summary=_summary(spec, size, table or {}),
            command=argv,
            problems=tuple(found),
            raw=msgspec.Raw(msgspec.json.encode({"size_bytes": size, "bytes_per_s": table})) if table else None,
        )

    def prefill(
        self, spec: IozoneSpec, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        by_fio = _by_fio(spec, file_bytes(spec, target.size_bytes))
        return self._fio.prefill(by_fio, target, folder=folder, live=live, stop=stop)


def _by_fio(spec: IozoneSpec, size: int | None) -> FioSpec:
    """One pass over the file by one process, record by record."""
    return FioSpec(
        rw=_RW[spec.test], ioengine="psync", bs=spec.record, direct=spec.direct, why_buffered=spec.why_buffered,
        runtime=Duration(_LONGEST), time_based=False, end_fsync=not spec.reads,
        overwrite=spec.test in ("rewrite", "random-write"),
        filesize=Size(f"{size}B") if size is not None else None, size=None if size is not None else spec.size,
    )  # fmt: skip


def _summary(spec: IozoneSpec, size: int, table: Mapping[str, int]) -> Summary:
    """The pass that counts: its rate is all that iozone says of it."""
    rate = table.get(spec.test, 0)
    if not rate:
        return Summary(jobs=1)
    seconds, count = size / rate, size // spec.record.bytes
    moved = Direction(count, size, rate / spec.record.bytes, float(rate), seconds, Latency(1e6 * seconds / count))
    return Summary(read=moved if spec.reads else None, write=None if spec.reads else moved, runtime_s=seconds, jobs=1)


ENGINE: Engine = IozoneEngine()
