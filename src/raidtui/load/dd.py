"""The workload engine `dd`: one process copies blocks from the beginning of a device or file (dd(1))."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from raidtui.base.proc import find_tool
from raidtui.load.child import Ended, follow
from raidtui.load.engine import Engine, Estimate, Found, Pattern, Target, problems_at
from raidtui.model.describe import Preset
from raidtui.model.measure import Direction, Latency, Measured, Sample, Summary
from raidtui.model.plan import TargetKind
from raidtui.model.problem import Problem, ProblemError, Refusal, fail
from raidtui.model.units import Extent, Size, size_text, size_texts

SECTOR_BYTES: Final = 512
MAX_BLOCK_BYTES: Final = 1 << 30
QUICK_BYTES: Final = 64 << 20
QUICK_SYNCED_BLOCKS: Final = 500
_FILE: Final = "dd.out"
_GUESS_BYTES_S: Final = 3e8
_SLOWEST_BYTES_S: Final = 64 << 10
"""A dd that is slower than this counts as hanging."""
_PATIENCE_S: Final = 1800.0
_FILL_BYTES: Final = 1 << 20
_COPIED: Final = re.compile(r"(\d+) bytes?(?: \([^)]*\))? copied, ([\d.]+(?:e[-+]?\d+)?) s, .*")

DD_BLOCK: Final = Refusal(
    "dd-block",
    "Block size out of range",
    "The block size of dd must be a multiple of 512 bytes, up to 1 GiB.",
    "Use 1MiB, or the size that your application writes at once.",
)
DD_BUFFERED: Final = Refusal(
    "dd-buffered",
    "The page cache would be measured",
    "Without direct, dsync, sync or a final fsync, dd measures memory as much as disks.",
    'Use "flag": "direct" or "conv": "fsync", or give the reason in why_buffered.',
)
DD_DURABLE_READ: Final = Refusal(
    "dd-durable-read",
    "A flush after reads",
    "fsync, dsync and sync make writes durable; they have no effect on reads.",
    "Remove the option.",
)
DD_ZEROES: Final = Refusal(
    "dd-zeroes",
    "Zeroes on a layout that compresses or deduplicates",
    "dd writes zeroes, and such a layout does not store them: the disks would hardly be measured.",
    "Turn compression and deduplication off in the layout, or write with fio and set buffer_compress_percentage.",
)
DD_SIZE: Final = Refusal(
    "dd-size",
    "Size out of range",
    "size is the amount to write or read from the beginning of the target: at least one block, at most the target's size.",
    'Use a smaller size, or a share of the target such as "50%".',
)
DD_ONE_DEVICE: Final = Refusal(
    "dd-one-device",
    "dd on several devices at once",
    "dd copies a single stream.",
    "Measure each disk alone (mode each), or use fio.",
)


class DdSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """dd(1): one process copies one block after another, from the beginning."""

    do: Literal["write", "read"] = "write"
    """`write` zeroes to the target, or `read` data that was written before."""
    bs: Annotated[Size, Meta(examples=["1MiB", "8KiB"])]
    """Block size of every operation."""
    size: Annotated[Extent, Meta(examples=["10GiB", "50%"])]
    """Amount to write or read: `"10GiB"`, or a share of the target."""
    flag: Literal["none", "direct", "dsync", "sync"] = "direct"
    """oflag or iflag: bypass the page cache (`direct`), or make every write durable before the next (`dsync`, `sync`)."""
    conv: Literal["none", "fsync", "fdatasync"] = "none"
    """Make all data durable once, at the end, within the measured time."""
    why_buffered: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    """Reason to measure the page cache, needed if neither flag nor conv bypasses it. Kept with the result."""

    @property
    def buffered(self) -> bool:
        """True if the page cache may be all that is measured."""
        return self.flag == "none" and (self.do == "read" or self.conv == "none")


class Copied(NamedTuple):
    """Bytes copied so far, and the seconds that took."""

    bytes: int
    seconds: float


def read_progress(line: str) -> Copied | None:
    """Parse a progress line or the final line of dd; None for any other line."""
    match = _COPIED.fullmatch(line.strip())
    return Copied(int(match.group(1)), float(match.group(2))) if match else None


def _last_progress(text: str) -> Copied | None:
    found = [copied for line in text.splitlines() if (copied := read_progress(line)) is not None]
    return found[-1] if found else None


class DdEngine(Engine):
    """dd on a block device by its open descriptor, or on a file in a directory."""

    kind = "dd"
    title = "dd"
    spec: type[msgspec.Struct] = DdSpec
    takes: tuple[TargetKind, ...] = ("block", "directory")
    presets = (
        Preset("dd-write-1m", "dd, 1M blocks, direct", "dd", {"bs": "1MiB", "size": "10GiB", "flag": "direct"}),
        Preset("dd-write-8k-dsync", "dd, 8k blocks, each durable", "dd", {"bs": "8KiB", "size": "256MiB", "flag": "dsync"}),
    )

    def check(self, spec: DdSpec, place: str) -> list[Problem]:
        return problems_at(_check(spec), place)

    def describe(self, spec: DdSpec) -> str:
        """Return `dd write 1MiB, 10GiB, direct`."""
        flags: list[str] = [word for word in (spec.flag, spec.conv) if word != "none"]
        return ", ".join([f"dd {spec.do} {spec.bs.text}", spec.size.text, *(flags or ["buffered"])])

    def defaults(self, spec: DdSpec) -> Mapping[str, tuple[str, str]]:
        return {
            "do": ("write", "the usual test with dd"),
            "flag": ("direct", "otherwise the page cache is measured"),
            "conv": ("none", "with direct, written data has left the machine's memory"),
            "why_buffered": ("none", "nothing is buffered") if not spec.buffered else ("none", "a reason is required"),
        }

    def pattern(self, spec: DdSpec) -> Pattern:
        size = spec.bs.bytes
        durable, direct = spec.flag in ("dsync", "sync"), spec.flag == "direct"
        return Pattern((size,), spec.do == "write", False, size, direct, syncs=durable, reads=spec.do == "read",
                       cached=spec.buffered)  # fmt: skip

    def check_target(self, spec: DdSpec, place: str, size_bytes: int, *, kind: TargetKind = "block") -> list[Problem]:
        return problems_at(_check_size(spec, size_bytes), place)

    def check_reduced(self, spec: DdSpec, place: str, how: tuple[str, ...]) -> list[Problem]:
        if spec.do == "read":
            return []
        return problems_at([(DD_ZEROES, "do", f"dd writes zeroes, and this layout {' and '.join(how)} them away")], place)

    def quick(self, spec: DdSpec, size_bytes: int, *, kind: TargetKind = "block") -> DdSpec:
        most = QUICK_SYNCED_BLOCKS * spec.bs.bytes if spec.flag in ("dsync", "sync") else QUICK_BYTES
        most = max(spec.bs.bytes, min(most, QUICK_BYTES))
        if spec.size.of(size_bytes) <= most:
            return spec
        return msgspec.structs.replace(spec, size=Extent(f"{most}B"))

    def reads(self, spec: DdSpec) -> bool:
        return spec.do == "read"

    def region_bytes(self, spec: DdSpec, size_bytes: int, *, kind: TargetKind = "block") -> int:
        return _block_count(spec, size_bytes) * spec.bs.bytes

    def estimate(self, spec: DdSpec, size_bytes: int, *, kind: TargetKind = "block") -> Estimate:
        copied = self.region_bytes(spec, size_bytes)
        return Estimate(1.0 + copied / _GUESS_BYTES_S, copied if spec.do == "write" else 0)

    def command(
        self, spec: DdSpec, paths: tuple[str, ...], *, size_bytes: int | None = None, kind: TargetKind = "block"
    ) -> tuple[str, ...]:
        path = _path(paths, kind)
        count = [f"count={_block_count(spec, size_bytes)}"] if size_bytes is not None else []
        if size_bytes is None and spec.size.bytes is not None:
            count = [f"count={_block_count(spec, spec.size.bytes)}"]
        if spec.do == "read":
            argv = ["dd", f"if={path}", "of=/dev/null", f"bs={spec.bs.bytes}", *count]
            flags = [f"iflag={spec.flag}"] if spec.flag != "none" else []
        else:
            argv = ["dd", "if=/dev/zero", f"of={path}", f"bs={spec.bs.bytes}", *count]
            flags = [f"oflag={spec.flag}"] if spec.flag != "none" else []
            flags += _conv(kind, spec.conv)
        return (find_tool(argv[0]) or argv[0], *argv[1:], *flags, "status=progress")

    def prefill_command(
        self, spec: DdSpec, paths: tuple[str, ...], *, size_bytes: int, kind: TargetKind = "block"
    ) -> tuple[str, ...]:
        path = _path(paths, kind)
        whole = self.region_bytes(spec, size_bytes)
        return (find_tool("dd") or "dd", "if=/dev/urandom", f"of={path}", f"bs={_FILL_BYTES}", f"count={whole}",
                "iflag=fullblock,count_bytes", *_conv(kind, "fsync"), "status=progress")  # fmt: skip

    def run(
        self, spec: DdSpec, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        """Run dd to its end. Raises ProblemError: options refused, several devices, not started, or `stuck`."""
        size_bytes = target.size_bytes
        if problems := self.check(spec, self.kind) + self.check_target(spec, self.kind, size_bytes):
            raise ProblemError(*problems)
        argv = self.command(spec, target.paths, size_bytes=size_bytes, kind=target.kind)
        return _drive(argv, spec.do, spec.bs.bytes, self.region_bytes(spec, size_bytes), target, folder, live, stop)

    def prefill(
        self, spec: DdSpec, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        size_bytes = target.size_bytes
        argv = self.prefill_command(spec, target.paths, size_bytes=size_bytes, kind=target.kind)
        return _drive(argv, "write", _FILL_BYTES, self.region_bytes(spec, size_bytes), target, folder, live, stop)


def _check(spec: DdSpec) -> Iterator[Found]:
    if not SECTOR_BYTES <= spec.bs.bytes <= MAX_BLOCK_BYTES or spec.bs.bytes % SECTOR_BYTES:
        yield DD_BLOCK, "bs", f"a block size of {spec.bs.text} is not a multiple of 512 bytes up to 1 GiB"
    if spec.do == "read" and spec.conv != "none":
        yield DD_DURABLE_READ, "conv", f"{spec.conv} has no effect on reads"
    if spec.do == "read" and spec.flag in ("dsync", "sync"):
        yield DD_DURABLE_READ, "flag", f"{spec.flag} has no effect on reads"
    if spec.buffered and spec.why_buffered is None:
        yield DD_BUFFERED, "flag", "without flag or conv, the page cache would be measured"
    if not spec.buffered and spec.why_buffered is not None:
        yield DD_BUFFERED, "why_buffered", "why_buffered is given, but flag or conv bypasses the page cache"


def _check_size(spec: DdSpec, size_bytes: int) -> Iterator[Found]:
    wanted = spec.size.of(size_bytes)
    if wanted > size_bytes:
        asked, whole = size_texts(wanted, size_bytes)
        yield DD_SIZE, "size", f"{asked} do not fit: the target has {whole}"
    elif spec.bs.bytes and _block_count(spec, size_bytes) == 0:
        yield DD_SIZE, "size", f"a block of {spec.bs.text} does not fit into {size_text(wanted)}"


def _block_count(spec: DdSpec, size_bytes: int) -> int:
    return spec.size.of(size_bytes) // spec.bs.bytes if spec.bs.bytes else 0


def _conv(kind: TargetKind, durable: str) -> list[str]:
    # A block device must never be truncated, nor replaced by a new file when it is gone.
    words = ["notrunc", "nocreat"] if kind == "block" else []
    words += [durable] if durable != "none" else []
    return [f"conv={','.join(words)}"] if words else []


def _path(paths: tuple[str, ...], kind: TargetKind) -> str:
    if len(paths) != 1:
        raise fail(DD_ONE_DEVICE, "dd copies one stream, and the target has several devices", place="dd",
                   remedy=DD_ONE_DEVICE.way_out)  # fmt: skip
    return paths[0] if kind == "block" else f"{paths[0]}/{_FILE}"


def _drive(
    argv: tuple[str, ...],
    do: str,
    block_bytes: int,
    whole_bytes: int,
    target: Target,
    folder: Path,
    live: Callable[[Sample], None],
    stop: threading.Event,
) -> Measured:
    progress: list[Copied] = [Copied(0, 0.0)]
    samples: list[Sample] = []

    def on_line(line: str) -> None:
        now = read_progress(line)
        if now is not None and now.seconds - progress[-1].seconds > 0.25:
            samples.append(_sample(do, progress[-1], now, block_bytes))
            progress.append(now)
            live(samples[-1])

    limit_s = _PATIENCE_S + whole_bytes / _SLOWEST_BYTES_S
    fds = target.fds
    ended = follow(argv, fds, folder, limit_s=limit_s, stop=stop, on_line=on_line)
    last = _last_progress(ended.err)
    return Measured(
        summary=_summary(do, last, block_bytes),
        command=argv,
        samples=tuple(samples),
        problems=tuple(_problems(ended, last, whole_bytes)),
        raw=msgspec.Raw(msgspec.json.encode({"bytes": last.bytes, "seconds": last.seconds})) if last else None,
    )


def _problems(ended: Ended, last: Copied | None, whole_bytes: int) -> list[str]:
    found = ended.problems("dd")
    if last is None:
        found.append("dd ended without its final line, which tells how much it copied: there are no numbers")
    elif not found and last.bytes != whole_bytes:
        found.append(f"dd copied {last.bytes} of {whole_bytes} bytes, and reported no error")
    return found


def _sample(do: str, before: Copied, now: Copied, block_bytes: int) -> Sample:
    span_s = now.seconds - before.seconds
    moved = _direction(now.bytes - before.bytes, span_s, block_bytes)
    read, write = (moved, None) if do == "read" else (None, moved)
    return Sample(round(now.seconds, 3), round(span_s, 3), read=read, write=write)


def _summary(do: str, last: Copied | None, block_bytes: int) -> Summary:
    if last is None or not last.bytes or not last.seconds:
        return Summary(jobs=1)
    moved = _direction(last.bytes, last.seconds, block_bytes)
    read, write = (moved, None) if do == "read" else (None, moved)
    return Summary(read=read, write=write, runtime_s=last.seconds, jobs=1)


def _direction(moved: int, seconds: float, block_bytes: int) -> Direction:
    # dd does one operation at a time, so the mean latency is the time divided by the number of operations.
    count = max(1, moved // block_bytes)
    return Direction(count, moved, count / seconds, moved / seconds, seconds, Latency(1e6 * seconds / count))


ENGINE: Final = DdEngine()
