"""One cell: open its target, run the workload while frames are taken, and judge the numbers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from raidtui.engine import verdict
from raidtui.engine.journal import wall_clock
from raidtui.engine.target import open_target
from raidtui.load.catalog import engines
from raidtui.load.engine import Pattern, Target
from raidtui.model.convert import decode
from raidtui.model.frame import Frame
from raidtui.model.measure import Measured, Sample
from raidtui.model.plan import CellPlan, Step, TargetKind
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
    spec = decode(engine.spec, step.args["spec"], step.cell)
    with open_target(step, scene.context) as target:
        measured = engine.prefill(spec, target, folder=_work(scene), live=scene.live, stop=scene.stop)
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
        with open_target(step, scene.context) as target:
            target_names = _target_names(target, scene)
            if problems := engine.check_target(spec, step.cell, target.size_bytes, kind=target.kind):
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
            counted=counted_how(step, engine.pattern(spec)),
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
        caches=series.caches,
        write_amplification=_amplification(series, scene, target_names, measured, step.args["kind"]),
        command=measured.command if measured else step.commands[0],
        started=started,
        seconds=round(spent[0], 3),
        report=msgspec.json.decode(measured.raw) if measured and measured.raw else None,
    )
    return done, stuck


def counted_how(step: Step, pattern: Pattern) -> verdict.Counted:
    """How far the devices' own counters can be held against what the workload says."""
    how: verdict.Counted = step.args.get("counted", "exactly")
    # What goes through the page cache into files may reach the devices later, or not at all.
    return how if how == "exactly" or pattern.whole_sectors else "no"


def _target_names(target: Target, scene: Scene) -> tuple[str, ...]:
    """Kernel names of the devices that are measured; of a directory, those that its filesystem is on."""
    if target.kind == "block":
        return tuple(device.name for device in target.devices)
    return tuple(name for name, what in scene.devices.items() if what == "target")


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
    series: Series, scene: Scene, targets: tuple[str, ...], measured: Measured | None, kind: TargetKind
) -> float | None:
    """Bytes written to disks below ÷ bytes written by the workload; None where nothing was written or nothing is below."""
    on_disks = any(name in scene.disks for name in targets)
    if on_disks and kind == "block":
        return None
    members = [t.written_bytes for name, t in series.totals.items() if name in scene.disks]
    return write_amplification(members, measured.summary.written_bytes) if measured else None
