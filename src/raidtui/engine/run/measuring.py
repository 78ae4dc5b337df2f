"""One cell: open its target, run the workload while frames are taken, and judge the numbers."""

from __future__ import annotations

import functools
import itertools
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple

import msgspec

from raidtui.engine import validity
from raidtui.engine.run import space
from raidtui.engine.run.host_cores import HostWork, daemon_kinds
from raidtui.engine.run.journal import wall_clock
from raidtui.engine.run.passes import Passes
from raidtui.engine.run.target import TARGET
from raidtui.engine.step_args import CellRun, Prefill, WorkloadRun, decode_args
from raidtui.engine.validity.evidence import Counted, Evidence
from raidtui.engine.validity.incidents import REMARK, TOOL
from raidtui.load.catalog import engines
from raidtui.load.engine import Engine, Pattern, Target
from raidtui.model.convert import decode
from raidtui.model.disk import Disk
from raidtui.model.frame import Frame
from raidtui.model.host import KEEPS_DATA, STORAGE, HostCores, HostUse, all_seen
from raidtui.model.mark import Mark, mark_of
from raidtui.model.measure import Measured, Sample
from raidtui.model.plan import CellPlan, Step, TargetKind
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.model.result import Cell, DeviceUse, HostPart, marked
from raidtui.stack.catalog import all_layers
from raidtui.stack.context import Context
from raidtui.watch import processes
from raidtui.watch.host_load import Moved
from raidtui.watch.processes import ProcessWatch
from raidtui.watch.sampler import FrameSource
from raidtui.watch.series import DeviceTotals, Series, SeriesFold, write_amplification
from raidtui.watch.temperature import Heat
from raidtui.watch.threads import Used, busiest, look_once

PREFILL: Final = Refusal(
    "prefill",
    "The prefill failed",
    "The region has to be written before it is read, and writing it did not complete.",
    "Solve what the message names and run the cell again (--layout, --workload).",
)

MOST_THREADS: Final = 8
"""Number of kernel threads that are kept with a cell."""


class Scene(NamedTuple):
    """Everything that measuring a cell needs of its run."""

    context: Context
    sampler: FrameSource
    listen: Callable[[Callable[[Frame], None] | None], None]
    """Have every frame handed to a function as well, or to none."""
    live: Callable[[int, Sample], None]
    """Sees every sample, with the number of its pass; 0 where nothing is repeated."""
    stop: threading.Event
    """Set when the workload is to end at once: the run was cancelled, or a disk was lost."""
    health: Callable[[], tuple[Mark, ...]]
    """Return the marks for layers that are unhealthy now."""
    watch: Callable[[], Callable[[], tuple[Mark, ...]]]
    """Begin to watch what surrounds the layers; the returned function ends it, and returns the marks."""
    devices: Mapping[str, str]
    """Kernel names of the layers' devices and of the disks below, and what each is."""
    disks: Mapping[str, Disk]
    """Disks by kernel name."""
    heat: Callable[[], Mapping[str, Heat]]
    """Return the temperatures of the disks."""
    earlier: Callable[[], tuple[Cell, ...]]
    """Return the cells that the run has measured so far."""
    memory_bytes: int
    lost: Callable[[], tuple[str, ...]]
    target: Callable[[WorkloadRun], AbstractContextManager[Target]]
    """Hold the target of the step open, here or on the hosts that load it."""
    work: Callable[[CellRun], AbstractContextManager[Mapping[str, HostWork]]]
    """Count the work of all hosts, if other hosts load the target or daemons serve it; the mapping is filled at the end, by
    names of hosts."""
    daemons: Callable[[], Mapping[str, int]]
    """Return how many daemons of the layout's cluster are up, by kind."""
    out_of_space: Callable[[], bool]


def prefill(args: Prefill, cell: str, scene: Scene) -> Measured:
    """Write the region that will be read. Raises ProblemError (`prefill`, `no-space`) when it could not be written."""
    engine = engines()[args.engine]
    spec = decode(engine.spec, args.spec, cell)
    with scene.target(args) as target, space.told(space.THIS, scene.context.folder):
        live = functools.partial(scene.live, 0)
        measured = engine.prefill(spec, target, folder=scene.context.folder / "work", live=live, stop=scene.stop)
    if measured.problems and not scene.stop.is_set():
        raise fail(PREFILL, "; ".join(measured.problems), place=cell, exit=Exit.INVALID)
    return measured


def measure(step: Step, plan: CellPlan, scene: Scene) -> tuple[Cell, Problem | None]:
    """Run the workload of `step`. The cell, valid or not: what goes wrong is among its marks.

    With it a problem after which nothing more can be measured: a device that hangs.
    """
    args = decode_args(CellRun, step.args, step.cell)
    engine = engines()[args.engine]
    spec = decode(engine.spec, args.spec, step.cell)
    fold = SeriesFold(scene.devices)
    passes = Passes(args.passes or 1)
    stuck: Problem | None = None
    said, watched = list(scene.health()), scene.watch()
    started, clocks = wall_clock(), _clocks()
    target_names: tuple[str, ...] = ()
    heat = scene.heat()
    before: Mapping[str, Used] = {}
    after: Mapping[str, Used] = {}
    watch = _process_watch(args, scene) if processes.installed() else None
    host: HostUse | None = None
    work: Mapping[str, HostWork] = {}
    try:
        with scene.target(args) as target:
            target_names = _target_names(target, scene)
            if problems := engine.check_target(spec, step.cell, target.size_bytes, kind=target.kind):
                raise ProblemError(*problems)
            scene.listen(fold.add)
            try:
                scene.sampler.tick(whole=True)
                before = look_once()
                if watch:
                    watch.start()
                clocks = _clocks()
                with scene.work(args) as work:
                    _run(engine, spec, target, passes, scene, clocks[0], repeated=args.passes is not msgspec.UNSET)
                ended, after = _clocks(), look_once()
                scene.sampler.tick()
                host = watch.stop() if watch else None
            finally:
                scene.listen(None)
                if watch:
                    watch.close()
    except ProblemError as error:
        said += [Mark(problem.code, problem.message) for problem in error.problems]
        stuck = next((problem for problem in error.problems if problem.code == "stuck"), None)
        ended = _clocks()
    except OSError as error:
        said.append(Mark(TARGET.code, f"the target could not be used: {error.strerror}"))
        ended = _clocks()
    said += (*scene.health(), *watched())
    measured = passes.whole
    if measured:
        said += [mark_of(sentence, TOOL.code) for sentence in measured.problems]
        said += [REMARK.mark(sentence) for sentence in measured.remarks]
    if watch and watch.failure:
        said.append(validity.UNCHECKED_CELL.mark(f"the processes could not be watched: {watch.failure}"))
    series = fold.series()
    counted: list[DeviceTotals | Moved] = [series.totals[name] for name in target_names if name in series.totals]
    complete = bool(counted) and len(counted) == len(target_names)
    if args.on:
        counted = [moved for one in args.on if one.host in work and (moved := work[one.host].moved) is not None]
        complete = len(counted) == len(args.on)
    cores = {host: one.cores for host, one in work.items() if one.cores is not None}
    daemons = scene.daemons() if any(one.daemons for one in cores.values()) else {}
    spent = [b - a for a, b in zip(clocks, ended, strict=True)]
    pattern = engine.pattern(spec)
    written = measured.summary.written_bytes if measured and pattern.reported_whole else 0
    if pattern.ramp and written:
        # In a ramp devices count and the workload does not: the target's own count is of the same time as its members'.
        known = complete and counted_how(args.counted, pattern) == "exactly"
        written = sum(t.written_bytes for t in counted) if known else 0
    loading = measured.hosts if measured else {}
    cell = Cell(
        id=plan.id,
        layout=plan.layout,
        workload=plan.workload,
        round=plan.round,
        part=plan.part,
        again=plan.again,
        valid=False,
        summary=passes.summary,
        samples=measured.samples if measured else (),
        devices=device_uses(series, scene.devices, scene.disks, target_names),
        device_at_s=tuple(series.at_s),
        cpu_cores_used=series.cores_used_mean,
        threads=dict(itertools.islice(busiest(before, after, spent[0]).items(), MOST_THREADS)),
        caches=series.caches,
        networks=series.networks,
        write_amplification=(
            _of_daemons(cores.values(), daemons, written) if daemon_kinds(args.layers)
            else _amplification(series, scene, target_names, args.kind, written)
        ),
        expected_write_amplification=plan.expected_write_amplification,
        data_disks=plan.data_disks,
        command=measured.command if measured else step.commands[0],
        started=started,
        seconds=round(spent[0], 3),
        report=passes.report(),
        steady=passes.steady(),
        host=host,
        sweep=plan.sweep,
        hosts=_host_parts(measured, cores) if measured else {},
        cores=cores.get(STORAGE),
        serving={host: used for host, used in cores.items() if used.daemons and host != STORAGE and host not in loading},
        daemons=dict(daemons),
    )
    evidence = Evidence(
        cell=cell,
        whole=measured.summary if measured else None,
        said=tuple(said),
        lost=scene.lost(),
        cancelled=scene.context.cancelled.is_set(),
        out_of_space=scene.out_of_space(),
        target_read_bytes=sum(t.read_bytes for t in counted) if complete else None,
        target_written_bytes=sum(t.written_bytes for t in counted) if complete else None,
        counted=counted_how(args.counted, pattern),
        monotonic_s=spent[0],
        boottime_s=spent[1],
        wall_s=spent[2],
        pattern=pattern,
        region_bytes=args.region_bytes,
        memory_cache=next((name for kind in args.layers if (name := all_layers()[kind].memory_cache)), ""),
        reduces=args.reduces,
        prefilled=args.laid_out,
        caches=args.caches,
        disks={disk.id: disk for disk in scene.disks.values()},
        heat=(heat, scene.heat()),
        busy=series.busy,
        earlier=scene.earlier(),
        memory_bytes=scene.memory_bytes,
    )
    return marked(cell, validity.marks(evidence)), stuck


def _process_watch(args: CellRun, scene: Scene) -> ProcessWatch:
    return ProcessWatch({name: disk.id for name, disk in scene.disks.items()}, kinds=daemon_kinds(args.layers))


def _host_parts(measured: Measured, cores: Mapping[str, HostCores]) -> dict[str, HostPart]:
    return {
        host: HostPart(**msgspec.structs.asdict(summary), cores=cores.get(host))
        for host, summary in sorted(measured.hosts.items())
    }  # fmt: skip


def _run(
    engine: Engine, spec: Any, target: Target, passes: Passes, scene: Scene, began_s: float, *, repeated: bool
) -> None:
    """One pass, or as many as it takes. `began_s`: when the cell did, by the monotonic clock."""
    while not passes.ended:
        if repeated:
            scene.context.report(passes.words(), None)
        live = functools.partial(scene.live, passes.number if repeated else 0)
        at_s, folder = time.monotonic() - began_s, scene.context.folder / "work"
        with space.told(space.THIS, scene.context.folder):
            passes.add(engine.run(spec, target, folder=folder, live=live, stop=scene.stop), at_s)
        if scene.stop.is_set():
            return


def counted_how(how: Counted, pattern: Pattern) -> Counted:
    """Return how far the devices' counters can be compared with the workload's."""
    # What goes through the page cache may reach the devices later, or not at all; into files it always may.
    return "no" if pattern.cached or (how != "exactly" and not pattern.whole_sectors) else how


def _target_names(target: Target, scene: Scene) -> tuple[str, ...]:
    """Kernel names of the devices that are measured; of a directory, those that its filesystem is on. None of images."""
    if target.on or target.kind == "image":
        return ()
    if target.kind == "block":
        return tuple(device.name for device in target.devices)
    return tuple(name for name, what in scene.devices.items() if what == "target")


def _clocks() -> tuple[float, float, float]:
    return time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME), time.time()


def device_uses(
    series: Series, devices: Mapping[str, str], disks: Mapping[str, Disk], targets: Collection[str]
) -> dict[str, DeviceUse]:
    """Return the use of each device. `devices`: role by kernel name; `disks`: those that are disks."""
    found = {}
    for name, totals in series.totals.items():
        found[name] = DeviceUse(
            role="target" if name in targets else devices.get(name, ""),
            disk=disks[name].id if name in disks else "",
            read_bytes=totals.read_bytes,
            written_bytes=totals.written_bytes,
            reads=totals.reads,
            writes=totals.writes,
            mean_utilisation_percent=totals.util_mean_percent,
            max_utilisation_percent=totals.util_max_percent,
            mean_read_await_ms=totals.read_await_ms,
            mean_write_await_ms=totals.write_await_ms,
            reads_merged=totals.reads_merged,
            writes_merged=totals.writes_merged,
            flushes=totals.flushes,
            mean_flush_await_ms=totals.flush_await_ms,
            temperature_max_c=totals.temperature_max_c,
            series=series.devices[name],
        )
    return found


def _amplification(
    series: Series, scene: Scene, targets: tuple[str, ...], kind: TargetKind, written_bytes: int
) -> float | None:
    """Return bytes written to the disks ÷ bytes written by the workload; None if none were, or no layer is between."""
    on_disks = any(name in scene.disks for name in targets)
    if on_disks and kind == "block":
        return None
    members = [t.written_bytes for name, t in series.totals.items() if name in scene.disks]
    return write_amplification(members, written_bytes)


def _of_daemons(hosts: Collection[HostCores], up: Mapping[str, int], written_bytes: int) -> float | None:
    """Return bytes that the daemons wrote ÷ bytes written by the workload; None unless all that keep data were seen."""
    if not all_seen(hosts, up, (KEEPS_DATA,)):
        return None
    written = (use.written_bytes for one in hosts if (use := one.daemons.get(KEEPS_DATA)) is not None)
    return write_amplification(written, written_bytes)
