"""The workload engine `fio`."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from raidtui.base.proc import find_tool
from raidtui.load.child import Bounds
from raidtui.load.engine import FIRST_TARGET_FD, Engine, Estimate, Hosted, Pattern, Target, TargetDevice
from raidtui.load.fio import describe, rules
from raidtui.load.fio.clients import from_hosts, read_clients, socket_of, write_files
from raidtui.load.fio.command import command, prefill_spec
from raidtui.load.fio.process import PATIENCE_S, Process, allow_open_files
from raidtui.load.fio.report import Report, Sampler, bins_of, compact, read_report, summary_of
from raidtui.load.fio.spec import ALIGN_BYTES, FioSpec, files_of, region_of
from raidtui.load.fio.verdict import Asked, problems_of, remarks_of
from raidtui.model.measure import Measured, Sample, Summary
from raidtui.model.plan import OnHost, TargetKind
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.tool import Tool
from raidtui.model.units import Duration, Extent, Size

QUICK_S: Final = 3.0
QUICK_REGION_BYTES: Final = 256 << 20
_START_S: Final = 1.0

FIO_MISSING: Final = Refusal(
    "fio-missing", "fio is not installed", "No fio was found in the system's folders.", "Install it: apt install fio."
)
FIO_TARGET: Final = Refusal(
    "fio-target",
    "The target has changed",
    "The open descriptor is not a block device of the planned size. A removed device has size 0; given by name, fio would "
    "measure memory.",
    "Look at the kernel log; the disk was probably lost. Plan again.",
)


class FioEngine(Engine):
    """fio with typed options, on devices that are already open. `block_only=False`: also on plain files, for tests."""

    kind = "fio"
    title = "fio workload"
    presets = describe.PRESETS
    spec: type[msgspec.Struct] = FioSpec
    tools = (Tool(name="fio", needed_for="measuring", remedy="apt install fio", at_least=(3, 33), packages=("fio",)),)
    takes: tuple[TargetKind, ...] = ("block", "directory", "image")
    from_hosts = True

    def __init__(self, *, block_only: bool = True) -> None:
        self._block_only = block_only

    def check(self, spec: FioSpec, place: str) -> list[Problem]:
        return rules.check(spec, place)

    def describe(self, spec: FioSpec) -> str:
        return describe.describe(spec)

    def defaults(self, spec: FioSpec) -> Mapping[str, tuple[str, str]]:
        return describe.defaults(spec)

    def pattern(self, spec: FioSpec) -> Pattern:
        return describe.pattern(spec)

    def check_target(self, spec: FioSpec, place: str, size_bytes: int, *, kind: TargetKind = "block") -> list[Problem]:
        return rules.check_target(spec, place, size_bytes, kind)

    def stated(self, spec: FioSpec) -> FioSpec:
        """Return options that state random data, unless they state a compressibility."""
        if not spec.writes or spec.refill_buffers:
            return spec
        compress, dedupe = spec.buffer_compress_percentage or 0, spec.dedupe_percentage or 0
        return msgspec.structs.replace(spec, buffer_compress_percentage=compress, dedupe_percentage=dedupe)

    def quick(self, spec: FioSpec, size_bytes: int, *, kind: TargetKind = "block") -> FioSpec:
        """Return options for at most 3 s without ramp; reads stay within 256 MiB, which are quickly prefilled."""
        runtime = _at_most(spec.runtime, QUICK_S)
        window = spec.latency_window and _at_most(spec.latency_window, QUICK_S / 6)
        think = spec.thinktime and _at_most(spec.thinktime, QUICK_S / 6)
        quick = msgspec.structs.replace(spec, runtime=runtime, ramp_time=None, latency_window=window, thinktime=think)
        if kind == "directory":
            return _quick_files(quick, size_bytes)
        region = region_of(spec, size_bytes)
        if not spec.reads or region.end <= QUICK_REGION_BYTES:
            return quick
        size = Extent(f"{min(region.size, QUICK_REGION_BYTES)}B")
        return msgspec.structs.replace(quick, size=size, offset=None, offset_increment=None)

    def sliced(self, spec: FioSpec, seconds: float) -> FioSpec:
        """Return options with at most this runtime; the ramp stays. Without time_based they are unchanged."""
        return msgspec.structs.replace(spec, runtime=_at_most(spec.runtime, seconds)) if spec.time_based else spec

    def reads(self, spec: FioSpec) -> bool:
        return spec.reads or spec.overwrite

    def region_bytes(self, spec: FioSpec, size_bytes: int, *, kind: TargetKind = "block") -> int:
        if kind == "directory":
            return files_of(spec, size_bytes).total
        return max(0, min(region_of(spec, size_bytes).end, size_bytes))

    def estimate(self, spec: FioSpec, size_bytes: int, *, kind: TargetKind = "block") -> Estimate:
        seconds = _ramp_s(spec) + spec.runtime.seconds
        bounds = [] if spec.time_based else [_job_bytes(spec, size_bytes, kind) * spec.numjobs]
        if spec.rate is not None:
            bounds.append(int(spec.rate.bytes * seconds) * spec.numjobs)
        if spec.rate_iops is not None:
            bounds.append(int(spec.rate_iops * seconds) * spec.largest_block_bytes * spec.numjobs)
        return Estimate(seconds + _START_S, (min(bounds) if bounds else None) if spec.writes else 0)

    def command(
        self, spec: FioSpec, paths: tuple[str, ...], *, size_bytes: int | None = None, kind: TargetKind = "block"
    ) -> tuple[str, ...]:
        return command(spec, paths, fio=find_tool("fio") or "fio", size_bytes=size_bytes, kind=kind)

    def prefill_command(
        self, spec: FioSpec, paths: tuple[str, ...], *, size_bytes: int, kind: TargetKind = "block"
    ) -> tuple[str, ...]:
        return self.command(prefill_spec(spec, size_bytes, kind=kind), paths, size_bytes=size_bytes, kind=kind)

    def hosted(
        self, spec: FioSpec, on: Sequence[OnHost], *, size_bytes: int, kind: TargetKind = "block", fill: bool = False
    ) -> Hosted:
        paths = tuple(f"/proc/self/fd/{FIRST_TARGET_FD + number}" for number in range(len(on[0].refs)))
        make = self.prefill_command if fill else self.command
        return from_hosts(make(spec, paths, size_bytes=size_bytes, kind=kind), on)

    def run(
        self, spec: FioSpec, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        """Run fio to its end, or until `stop` is set. `live` also gets samples of the ramp time, with negative `at_s`.

        Raises ProblemError: options or region refused, fio missing, target changed, or `stuck`.
        """
        bounds = Bounds(limit_s=_ramp_s(spec) + spec.runtime.seconds + PATIENCE_S)
        return self._drive(spec, target, bounds, folder, live, stop)

    def prefill(
        self, spec: FioSpec, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        """Write the region once. There is no time limit while it makes progress."""
        filling = prefill_spec(spec, target.size_bytes, kind=target.kind)
        return self.fill(filling, target, folder=folder, live=live, stop=stop)

    def fill(
        self, spec: FioSpec, target: Target, *, folder: Path, live: Callable[[Sample], None], stop: threading.Event
    ) -> Measured:
        """Run a write to its end. There is no time limit while it makes progress."""
        return self._drive(spec, target, Bounds(None, PATIENCE_S), folder, live, stop)

    def _drive(
        self,
        spec: FioSpec,
        target: Target,
        bounds: Bounds,
        folder: Path,
        live: Callable[[Sample], None],
        stop: threading.Event,
    ) -> Measured:
        size_bytes = target.size_bytes
        if problems := self.check(spec, self.kind) + self.check_target(spec, self.kind, size_bytes, kind=target.kind):
            raise ProblemError(*problems)
        if find_tool("fio") is None:
            raise fail(FIO_MISSING, "fio is not installed", remedy=FIO_MISSING.way_out, exit=Exit.INVALID)
        for device in target.devices if not target.on else ():
            self._check_device(device, target.kind)
        argv = self._argv_for(spec, target, folder)
        sampler = Sampler(_ramp_s(spec))

        def on_report(report: Report) -> None:
            if (sample := sampler.feed(report.group)) is not None:
                live(sample)

        allow_open_files(spec, len(target.devices))
        sockets = {socket_of(one.host): one.host for one in target.on}
        read = partial(read_clients, hosts=sockets) if target.on else read_report
        process = Process(argv, target.fds, folder, bounds, read)
        try:
            ended = process.follow(on_report, stop)
        finally:
            process.close()
        asked, last = asked_of(spec, target), process.last
        return Measured(
            summary=summary_of(last, asked.jobs, timed_syncs=spec.times_syncs) if last else Summary(jobs=asked.jobs),
            command=argv,
            samples=tuple(sampler.samples),
            problems=tuple(problems_of(asked, ended, last)),
            remarks=tuple(remarks_of(asked, last)) if last else (),
            version=last.version if last else "",
            raw=compact(last) if last else None,
            bins=bins_of(last, timed_syncs=spec.times_syncs) if last else {},
            hosts={host: summary_of(report, asked.jobs // len(target.on), timed_syncs=spec.times_syncs)
                   for host, report in last.hosts.items()} if last else {},
        )  # fmt: skip

    def _argv_for(self, spec: FioSpec, target: Target, folder: Path) -> tuple[str, ...]:
        """Return the command that runs the workload here, or on the hosts that load the target."""
        if not target.on:
            return self.command(spec, target.paths, size_bytes=target.size_bytes, kind=target.kind)
        hosted = self.hosted(spec, target.on, size_bytes=target.size_bytes, kind=target.kind)
        write_files(folder, hosted.files)
        return hosted.command

    def _check_device(self, device: TargetDevice, kind: TargetKind) -> None:
        """Raises ProblemError unless the descriptor is a block device of at least the planned size, or a folder."""
        if kind == "image":
            return
        mode = os.fstat(device.fd).st_mode
        if kind == "directory":
            if stat.S_ISDIR(mode):
                return
            message = f"{device.name} is not a directory"
        elif self._block_only and not stat.S_ISBLK(mode):
            message = f"{device.name} is not a block device"
        elif (size_bytes := os.lseek(device.fd, 0, os.SEEK_END)) < device.size_bytes:
            message = f"{device.name} has {size_bytes} bytes instead of {device.size_bytes}"
        else:
            return
        raise fail(FIO_TARGET, message, place=device.name, remedy=FIO_TARGET.way_out, exit=Exit.INVALID)


def _quick_files(spec: FioSpec, size_bytes: int) -> FioSpec:
    """Return options with files of at most 256 MiB in total, since all files are written before the measurement."""
    found = files_of(spec, size_bytes)
    if found.total <= QUICK_REGION_BYTES:
        return spec
    block = max(spec.largest_block_bytes, ALIGN_BYTES)
    per_job = min(spec.nrfiles, max(1, QUICK_REGION_BYTES // (block * spec.numjobs)))
    each = QUICK_REGION_BYTES // (spec.numjobs * per_job)
    each = max(block, each - each % block)
    return msgspec.structs.replace(spec, size=None, nrfiles=per_job, filesize=Size(f"{each - each % ALIGN_BYTES}B"))


def _job_bytes(spec: FioSpec, size_bytes: int, kind: TargetKind) -> int:
    return files_of(spec, size_bytes).job_bytes if kind == "directory" else region_of(spec, size_bytes).size


def asked_of(spec: FioSpec, target: Target) -> Asked:
    """Return the requested work of a run, for its verdict."""
    jobs = spec.numjobs * len(target.devices)
    files = spec.nrfiles if target.kind == "directory" else 1
    job_bytes = _job_bytes(spec, target.size_bytes, target.kind)
    return Asked(
        jobs=jobs,
        runtime_s=spec.runtime.seconds,
        time_based=spec.time_based,
        # fio leaves out a rest of less than a block at the end of a region or file.
        min_bytes=(job_bytes - (spec.largest_block_bytes - 1) * files) * jobs,
        blocks=spec.block_sizes,
        kind=target.kind,
        stretch_bytes=job_bytes // files,
        evenly=spec.random_distribution in (None, "random"),
        fsync=spec.fsync,
        fdatasync=spec.fdatasync,
        timed_syncs=spec.times_syncs,
    )


def _ramp_s(spec: FioSpec) -> float:
    return spec.ramp_time.seconds if spec.ramp_time else 0.0


def _at_most(duration: Duration, seconds: float) -> Duration:
    return duration if duration.seconds <= seconds else Duration(f"{seconds:g}s")
