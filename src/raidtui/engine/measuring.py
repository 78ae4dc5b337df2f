"""One cell: open its target, run the workload while frames are taken, and judge the numbers."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from raidtui.engine import verdict
from raidtui.engine.journal import wall_clock
from raidtui.engine.planner import FIRST_TARGET_FD
from raidtui.load.catalog import engines
from raidtui.load.engine import Target, TargetDevice
from raidtui.model.convert import decode
from raidtui.model.frame import Frame
from raidtui.model.measure import Measured, Sample
from raidtui.model.plan import CellPlan, Step
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.model.result import Cell, DeviceUse
from raidtui.stack.context import Context
from raidtui.watch.sampler import Sampler
from raidtui.watch.series import Series, SeriesFold, write_amplification


class Scene(NamedTuple):
    """What a cell is measured in."""

    context: Context
    sampler: Sampler
    listen: Callable[[Callable[[Frame], None] | None], None]
    """Have every frame handed to a function as well, or to none."""
    live: Callable[[Sample], None]
    stop: threading.Event
    """Set when the workload is to end at once: the run was cancelled, or a disk was lost."""
    health: Callable[[], tuple[str, ...]]
    devices: Mapping[str, str]
    """Kernel names of the layers' devices and of the disks below, and what each is."""
    disks: Mapping[str, str]
    """Kernel name → disk id."""
    lost: Callable[[], tuple[str, ...]]
    out_of_space: Callable[[], bool]


def prefill(step: Step, scene: Scene) -> Measured:
    """Write the region that will be read. Raises ProblemError (`prefill`) when it could not be written."""
    engine = engines()[str(step.args["engine"])]
    with _open_target(step, scene.context) as target:
        measured = engine.prefill(
            int(step.args["region_bytes"]), target, folder=_work(scene), live=scene.live, stop=scene.stop
        )
    if measured.problems and not scene.stop.is_set():
        raise fail("prefill", "; ".join(measured.problems), place=step.cell, exit=Exit.INVALID)
    return measured


def measure(step: Step, cell: CellPlan, scene: Scene) -> tuple[Cell, Problem | None]:
    """Run the workload of `step`. The cell, valid or not: what goes wrong is among its reasons.

    With it a problem after which nothing more can be measured: a device that hangs.
    """
    engine = engines()[str(step.args["engine"])]
    spec = decode(engine.spec, step.args["spec"], step.cell)
    fold = SeriesFold(scene.devices)
    measured: Measured | None = None
    stuck: Problem | None = None
    trouble: list[str] = list(scene.health())
    started, clocks = wall_clock(), _clocks()
    target_names: tuple[str, ...] = ()
    try:
        with _open_target(step, scene.context) as target:
            target_names = tuple(device.name for device in target.devices)
            if problems := engine.check_target(spec, step.cell, target.size_bytes):
                raise ProblemError(*problems)
            scene.listen(fold.add)
            try:
                scene.sampler.tick(whole=True)
                clocks = _clocks()
                measured = engine.run(spec, target, folder=_work(scene), live=scene.live, stop=scene.stop)
                ended = _clocks()
                scene.sampler.tick()
            finally:
                scene.listen(None)
    except ProblemError as error:
        trouble += [problem.message for problem in error.problems]
        stuck = next((problem for problem in error.problems if problem.code == "stuck"), None)
        ended = _clocks()
    except OSError as error:
        trouble.append(f"the target could not be used: {error.strerror}")
        ended = _clocks()
    trouble += scene.health()
    series = fold.series()
    counted = [series.totals[name] for name in target_names if name in series.totals]
    complete = bool(counted) and len(counted) == len(target_names)
    spent = [b - a for a, b in zip(clocks, ended, strict=True)]
    why = verdict.reasons(
        verdict.Facts(
            measured=measured,
            target_read_bytes=sum(t.read_bytes for t in counted) if complete else None,
            target_written_bytes=sum(t.written_bytes for t in counted) if complete else None,
            monotonic_s=spent[0],
            boottime_s=spent[1],
            wall_s=spent[2],
            health=tuple(trouble),
            lost=scene.lost(),
            cancelled=scene.context.cancelled.is_set(),
            has_ramp=bool(getattr(spec, "ramp_time", None)),
            out_of_space=scene.out_of_space(),
        )
    )
    done = Cell(
        id=cell.id,
        layout=cell.layout,
        workload=cell.workload,
        round=cell.round,
        part=cell.part,
        valid=not why,
        reasons=why,
        summary=measured.summary if measured else None,
        samples=measured.samples if measured else (),
        devices=_devices(series, scene, target_names),
        device_at_s=tuple(series.at_s),
        cpu_cores_used=series.cores_used_mean,
        write_amplification=_amplification(series, scene, target_names, measured),
        command=measured.command if measured else step.commands[0],
        started=started,
        seconds=round(spent[0], 3),
        report=msgspec.json.decode(measured.raw) if measured and measured.raw else None,
    )
    return done, stuck


@contextmanager
def _open_target(step: Step, context: Context) -> Iterator[Target]:
    """Hold the target for ourselves (O_EXCL: nothing else can mount, stop or claim it), under the planned numbers.

    A target that came out a little larger than planned is used up to its planned size: what was shown is what runs.
    """
    refs: list[str] = step.args["refs"]
    devices: list[TargetDevice] = []
    context.about_to_write([ref.removeprefix("disk:") for ref in refs if ref.startswith("disk:")])
    try:
        for index, ref in enumerate(refs):
            fd = _open(ref, context)
            wanted = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_TARGET_FD + index)
            os.close(fd)
            info = os.fstat(wanted)
            name = Path(f"/sys/dev/block/{os.major(info.st_rdev)}:{os.minor(info.st_rdev)}").resolve().name
            size_bytes = min(os.lseek(wanted, 0, os.SEEK_END), int(step.args["size_bytes"]))
            devices.append(TargetDevice(wanted, name, size_bytes))
            if not stat.S_ISBLK(info.st_mode) or wanted != FIRST_TARGET_FD + index:
                raise fail("target", f"{ref} is not a block device that can be pinned", place=ref, exit=Exit.INVALID)
        yield Target(tuple(devices))
    finally:
        for device in devices:
            os.close(device.fd)


def _open(ref: str, context: Context) -> int:
    if ref.startswith("disk:"):
        return context.permits[ref.removeprefix("disk:")].open_for_writing()
    return os.open(context.path(ref), os.O_RDWR | os.O_EXCL | os.O_CLOEXEC | os.O_NONBLOCK)


def _work(scene: Scene) -> Path:
    return scene.context.folder / "work"


def _clocks() -> tuple[float, float, float]:
    return time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME), time.time()


def _devices(series: Series, scene: Scene, targets: tuple[str, ...]) -> dict[str, DeviceUse]:
    found = {}
    for name, totals in series.totals.items():
        found[name] = DeviceUse(
            role="target" if name in targets else scene.devices.get(name, ""),
            disk=scene.disks.get(name, ""),
            read_bytes=totals.read_bytes,
            written_bytes=totals.written_bytes,
            reads=totals.reads,
            writes=totals.writes,
            mean_utilisation_percent=totals.util_mean_percent,
            max_utilisation_percent=totals.util_max_percent,
            mean_read_await_ms=totals.read_await_ms,
            mean_write_await_ms=totals.write_await_ms,
            series=msgspec.to_builtins(series.devices[name]),
        )
    return found


def _amplification(
    series: Series, scene: Scene, targets: tuple[str, ...], measured: Measured | None
) -> float | None:
    """Bytes written to disks below ÷ bytes written by the workload; None where nothing was written or nothing is below."""
    if any(name in scene.disks for name in targets):
        return None
    members = [t.written_bytes for name, t in series.totals.items() if name in scene.disks and name not in targets]
    return write_amplification(members, measured.summary.written_bytes) if measured else None
