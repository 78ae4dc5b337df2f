"""The workload engine `dd`: the oldest of all benchmarks, kept honest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from raidtui.base.proc import find_tool
from raidtui.load.child import Ended, follow
from raidtui.load.dd import options
from raidtui.load.dd.options import DdSpec, blocks_of
from raidtui.load.dd.report import Copied, read_last, read_line
from raidtui.load.engine import Engine, Estimate, Pattern, Target
from raidtui.load.reasons import REASONS
from raidtui.model.describe import Preset
from raidtui.model.measure import Direction, Latency, Measured, Sample, Summary
from raidtui.model.plan import TargetKind
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.model.units import Extent

QUICK_BYTES: Final = 64 << 20
QUICK_SYNCED_BLOCKS: Final = 500
_FILE: Final = "dd.out"
_GUESS_BYTES_S: Final = 3e8
_SLOWEST_BYTES_S: Final = 64 << 10
"""Below this it is taken to hang."""
_PATIENCE_S: Final = 1800.0
_FILL_BYTES: Final = 1 << 20


class DdEngine:
    """On a block device by its open descriptor, or on a file of its own in a directory."""

    kind = "dd"
    title = "dd"
    spec: type[msgspec.Struct] = DdSpec
    takes: Final[Literal["both"]] = "both"
    presets: Final = (
        Preset("dd-write-1m", "dd, 1M blocks, direct", "dd", {"bs": "1MiB", "size": "10GiB", "flag": "direct"}),
        Preset("dd-write-8k-dsync", "dd, 8k blocks, each durable", "dd", {"bs": "8KiB", "size": "256MiB", "flag": "dsync"}),
    )

    def check(self, spec: DdSpec, place: str) -> list[Problem]:
        return options.check(spec, place)

    def words(self, spec: DdSpec) -> str:
        """`dd write 1MiB, 10GiB, direct`."""
        flags: list[str] = [word for word in (spec.flag, spec.conv) if word != "none"]
        return ", ".join([f"dd {spec.do} {spec.bs.text}", spec.size.text, *(flags or ["buffered"])])

    def defaults(self, spec: DdSpec) -> Mapping[str, tuple[str, str]]:
        return {
            "do": ("write", "what most use dd for"),
            "flag": ("direct", "without it the page cache is measured"),
            "conv": ("none", "with direct, what dd wrote has left the machine's memory"),
            "why_buffered": ("none", "nothing is buffered") if not spec.buffered else ("none", "there must be one"),
        }

    def pattern(self, spec: DdSpec) -> Pattern:
        size = spec.bs.bytes
        durable, direct = spec.flag in ("dsync", "sync"), spec.flag == "direct"
        return Pattern((size,), spec.do == "write", False, size, direct, syncs=durable, reads=spec.do == "read",
                       cached=spec.buffered)  # fmt: skip

    def check_target(self, spec: DdSpec, place: str, size_bytes: int, *, kind: TargetKind = "block") -> list[Problem]:
        return options.check_target(spec, place, size_bytes)

    def stated(self, spec: DdSpec) -> DdSpec:
        return spec

    def check_reduced(self, spec: DdSpec, place: str, how: tuple[str, ...]) -> list[Problem]:
        if spec.do == "read":
            return []
        text = f"dd writes zeroes, of which nothing is left where the layout {' and '.join(how)}"
        return [Problem("dd-zeroes", text, f"{place}.do", REASONS["dd-zeroes"][2], int(Exit.USAGE))]

    def quick(self, spec: DdSpec, size_bytes: int, *, kind: TargetKind = "block") -> DdSpec:
        most = QUICK_SYNCED_BLOCKS * spec.bs.bytes if spec.flag in ("dsync", "sync") else QUICK_BYTES
        most = max(spec.bs.bytes, min(most, QUICK_BYTES))
        if spec.size.of(size_bytes) <= most:
            return spec
        return msgspec.structs.replace(spec, size=Extent(f"{most}B"))

    def sliced(self, spec: DdSpec, seconds: float) -> DdSpec:
        return spec

    def reads(self, spec: DdSpec) -> bool:
        return spec.do == "read"

    def region_bytes(self, spec: DdSpec, size_bytes: int, *, kind: TargetKind = "block") -> int:
        return blocks_of(spec, size_bytes) * spec.bs.bytes

    def estimate(self, spec: DdSpec, size_bytes: int, *, kind: TargetKind = "block") -> Estimate:
        moved = self.region_bytes(spec, size_bytes)
        return Estimate(1.0 + moved / _GUESS_BYTES_S, moved if spec.do == "write" else 0)

    def command(
        self, spec: DdSpec, paths: tuple[str, ...], *, size_bytes: int | None = None, kind: TargetKind = "block"
    ) -> tuple[str, ...]:
        path = _path(paths, kind)
        count = [f"count={blocks_of(spec, size_bytes)}"] if size_bytes is not None else []
        if size_bytes is None and spec.size.bytes is not None:
            count = [f"count={blocks_of(spec, spec.size.bytes)}"]
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
        """Raises ProblemError: options refused, more than one device, not started, or `stuck`."""
        size_bytes = target.size_bytes
        if problems := self.check(spec, self.kind) + self.check_target(spec, self.kind, size_bytes):
            raise ProblemError(*problems)
        argv = self.command(spec, _paths(target), size_bytes=size_bytes, kind=target.kind)
        return _drive(argv, spec.do, spec.bs.bytes, self.region_bytes(spec, size_bytes), target, folder, live, stop)

    def prefill(
        self, spec: DdSpec, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        size_bytes = target.size_bytes
        argv = self.prefill_command(spec, _paths(target), size_bytes=size_bytes, kind=target.kind)
        return _drive(argv, "write", _FILL_BYTES, self.region_bytes(spec, size_bytes), target, folder, live, stop)


def _conv(kind: TargetKind, durable: str) -> list[str]:
    """A device is never cut short nor, when it went away, made a file of."""
    words = ["notrunc", "nocreat"] if kind == "block" else []
    words += [durable] if durable != "none" else []
    return [f"conv={','.join(words)}"] if words else []


def _paths(target: Target) -> tuple[str, ...]:
    return tuple(f"/proc/self/fd/{device.fd}" for device in target.devices)


def _path(paths: tuple[str, ...], kind: TargetKind) -> str:
    if len(paths) != 1:
        raise fail("dd-one-device", "dd moves one stream, and there are several devices", place="dd",
                   remedy=REASONS["dd-one-device"][2])  # fmt: skip
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
    said: list[Copied] = [Copied(0, 0.0)]
    samples: list[Sample] = []

    def on_line(line: str) -> None:
        now = read_line(line)
        if now is not None and now.seconds - said[-1].seconds > 0.25:
            samples.append(_sample(do, said[-1], now, block_bytes))
            said.append(now)
            live(samples[-1])

    limit_s = _PATIENCE_S + whole_bytes / _SLOWEST_BYTES_S
    fds: Sequence[int] = [device.fd for device in target.devices]
    ended = follow(argv, fds, folder, limit_s=limit_s, stop=stop, on_line=on_line)
    last = read_last(ended.err)
    return Measured(
        summary=_summary(do, last, block_bytes),
        command=argv,
        samples=tuple(samples),
        problems=tuple(_doubts(ended, last, whole_bytes)),
        raw=msgspec.Raw(msgspec.json.encode({"bytes": last.bytes, "seconds": last.seconds})) if last else None,
    )


def _doubts(ended: Ended, last: Copied | None, whole_bytes: int) -> list[str]:
    found = ended.problems("dd")
    if last is None:
        found.append("dd ended without its last line, which says how much it copied: there are no numbers")
    elif not found and last.bytes != whole_bytes:
        found.append(f"dd moved {last.bytes} of {whole_bytes} bytes, and reported no error")
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
    """One operation at a time: its mean latency is what the time divides into."""
    count = max(1, moved // block_bytes)
    return Direction(count, moved, count / seconds, moved / seconds, seconds, Latency(1e6 * seconds / count))


ENGINE: Engine = DdEngine()
