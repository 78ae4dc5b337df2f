"""A workload on a target: sizes and sectors that do not fit, and reads that memory may answer instead of the disks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from raidtui.engine.compose.reading import kind_problems, reductions
from raidtui.load.catalog import engines
from raidtui.load.engine import rehearsal
from raidtui.model.problem import Problem, Refusal
from raidtui.model.scenario import Load, Node, Policy
from raidtui.stack.catalog import all_layers
from raidtui.stack.layer import Part, PlannedTarget, Reading

HOSTS_NEED_FIO: Final = Refusal(
    "hosts-need-fio",
    "Only fio can load from other hosts",
    "A layout that is exported to other hosts is measured by fio's own client and server.",
    "Use a workload of fio, or name the layouts for this workload in the policy's `only`.",
)
UNDER_SECTOR: Final = Refusal(
    "under-sector",
    "Blocks smaller than a sector",
    "Direct I/O transfers whole logical sectors of the measured device; the kernel refuses anything else. Some "
    "layers have larger sectors than their disks: VDO and writecache use 4 KiB.",
    "Raise the block size of the workload, or bind disks with smaller sectors.",
)
IMAGE_CLIENTS: Final = Refusal(
    "image-clients",
    "Several clients of an image that takes one",
    "Each job of the workload opens the image for itself. With the feature exclusive-lock of RBD one client at a time "
    "writes: they take the lock from each other, and that is what would be measured.",
    'Use one job with a larger iodepth, more images, or images without exclusive-lock: "features": ["layering"].',
)


def unfit(
    layout: str, load: Load, given: Load, target: PlannedTarget, offers: tuple[Part, ...], disk_sector: int
) -> Iterator[Problem]:
    """`given`: as the scenario has it, `load`: as it will run. `disk_sector`: the largest sector of the layout's disks."""
    engine = engines()[load.kind]
    yield from kind_problems(engine, target.kind, load.place, layout)
    if target.on and not engine.from_hosts:
        yield HOSTS_NEED_FIO.problem(f"layout {layout} is loaded by other hosts, and {load.kind} cannot", place=load.place)
    if target.one_client and (jobs := engine.pattern(load.spec).streams) > 1:
        text = f"on layout {layout}: {jobs} jobs open each image, and one client at a time may write to it"
        yield IMAGE_CLIENTS.problem(text, place=load.place, remedy=IMAGE_CLIENTS.way_out)
    yield from _under_sector(given, target, offers, disk_sector)
    for problem in engine.check_target(load.spec, load.place, target.size_bytes, kind=target.kind):
        yield msgspec.structs.replace(problem, message=f"on layout {layout}: {problem.message}")


def _under_sector(load: Load, target: PlannedTarget, offers: tuple[Part, ...], disk_sector: int) -> Iterator[Problem]:
    """O_DIRECT fails where an operation is not whole logical sectors."""
    sector = target.sector_bytes
    if target.kind == "block":
        sector = max((part.logical_sector_bytes for part in offers), default=disk_sector)
    if sector is None:
        return
    if wrong := engines()[load.kind].pattern(load.spec).under_sector(sector):
        where = target.paths[0] if target.kind != "directory" else "what the filesystem stands on"
        text = f"{wrong} on sectors of {sector} bytes, which {where} has"
        remedy = f"Blocks and offsets of a multiple of {sector} bytes."
        yield UNDER_SECTOR.problem(text, place=load.place, remedy=remedy)


def as_run(load: Load, layout: Node, policy: Policy, target: PlannedTarget, *, quick: bool) -> Load:
    """Return the workload with the options that it runs with on this target."""
    engine, spec = engines()[load.kind], load.spec
    if reductions(layout):
        spec = engine.stated(spec)
    if policy.ranking is not None:
        spec = engine.sliced(spec, policy.ranking.slice.seconds)
    return load._replace(spec=rehearsal(engine, spec, target.size_bytes, target.kind) if quick else spec)


def memory_for(layout: Node, policy: Policy, load: Load, target: PlannedTarget) -> int | None:
    """Return the memory in which a layer can cache all data that the workload reads, in bytes; None if it does not fit."""
    engine = engines()[load.kind]
    pattern = engine.pattern(load.spec)
    if not pattern.reads or policy.caches == "cold":
        return None
    reading = Reading(pattern.block_bytes, pattern.whole_sectors, pattern.writes)
    kept = [all_layers()[node.kind].memory_bytes(node.spec, reading) for node in layout.walk()]
    most = max((found for found in kept if found is not None), default=0)
    return most if engine.region_bytes(load.spec, target.size_bytes, kind=target.kind) <= most else None
