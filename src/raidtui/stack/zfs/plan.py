"""ZFS pools with one volume or one filesystem in them (zpoolconcepts(7)), built by `zpool` and `zfs`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from raidtui.base.text import plural
from raidtui.model.plan import Created, Names, TargetKind
from raidtui.model.scenario import Policy
from raidtui.model.units import size_text
from raidtui.stack.layer import Draft, Part, Parts, Planned, PlannedTarget, Reading, Shape
from raidtui.stack.zfs import arc, describe, planning, size
from raidtui.stack.zfs import spec as options
from raidtui.stack.zfs.command import (
    cold_argvs,
    create_argv,
    filesystem_argv,
    mount_argv,
    undo_argvs,
    volume_argv,
)
from raidtui.stack.zfs.spec import ArcLimit, ZfsPool, ZpoolSpec

_METADATA_BYTES: Final = 64 << 20
"""More than a fresh pool writes to one device: labels, partition table, its own metadata."""


def reduces(spec: ZpoolSpec) -> tuple[str, ...]:
    """ZFS compresses unless it is told not to, and deduplicates where it is told to."""
    words = (("compression", "on", "compresses"), ("dedup", "off", "deduplicates"))
    return tuple(word for name, default, word in words if options.in_force(spec, name, default) != "off")


def memory_bytes(spec: ZpoolSpec, reading: Reading) -> int | None:
    """The ARC's limit, while the pool stands."""
    return arc.most_bytes(spec) if arc.keeps(spec, reading) else None


def cautions(spec: ZpoolSpec, below: Collection[str]) -> tuple[str, ...]:
    """ZFS takes any block device, but some of what it is for it can only do on disks of its own."""
    return tuple(
        f"ZFS stands on {kind}: what its checksums find wrong it cannot repair from the copies and parity down there."
        for kind in sorted({"md", "lvm"} & set(below))
    )


def measured_as(spec: ZpoolSpec) -> TargetKind:
    return "block" if spec.dataset is None else "directory"


def shape(spec: ZpoolSpec, parts: Parts) -> Shape:
    """Raises ProblemError (`zpool-too-small`)."""
    found, block = planning.groups_of(spec, parts), options.block_bytes(spec)
    return Shape(
        planning.size_bytes(spec, parts),
        describe.may_fail(found),
        describe.write_penalty(found, block, options.ashift(spec), options.copies(spec)),
        data_share=size.data_share(found, block, options.ashift(spec)) / options.copies(spec),
    )


def plan(spec: ZpoolSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Raises ProblemError: `zpool-too-small`, `zpool-property`, and what this server's ZFS does not know."""
    devices = planning.devices_of(spec, parts)
    planning.refuse(spec, devices)
    planning.refuse_unequal(spec, parts)
    created = names.new("zpool")
    zpool = planning.arguments(spec, parts, created.name, created.uuid)
    undo, paths = undo_argvs(zpool), planning.planned_paths(zpool)
    written = _METADATA_BYTES * len(devices)
    words = describe.describe(spec, planning.counts_of(spec, parts))
    create = Draft("zpool.create", f"Partition {plural(len(devices), 'disk')} and create {words}", zpool,
                   (create_argv(zpool, paths),), undo[-1:], created, written, 3.0 + 0.2 * len(devices))  # fmt: skip
    verify = Draft("zpool.verify", "Read pool and properties back", zpool, seconds=1.0)
    teardown = Draft("zpool.destroy", "Destroy the pool and take its labels and partitions off", zpool, undo,
                     writes_bytes=written, seconds=3.0)  # fmt: skip
    cold = Draft("zpool.cold", "Export and import the pool, which empties the ARC of it", zpool,
                 cold_argvs(zpool, paths), seconds=3.0)  # fmt: skip
    build, teardowns = [create, *_measured(zpool, created), verify], [teardown]
    if spec.arc_max is not None:
        changed = names.new("arc")
        limit = ArcLimit(spec.arc_max.bytes, changed.uuid)
        title = f"Limit the ARC to {spec.arc_max.text}"
        build.insert(0, Draft("zpool.arc", title, limit, creates=changed, seconds=0.5))
        teardowns.append(Draft("zpool.arc-back", "Give the ARC back its limit", limit, seconds=0.5))
    return Planned(
        tuple(build),
        tuple(teardowns),
        (_target(zpool),),
        _offer(zpool, devices) if zpool.has_volume else None,
        before_cell=(cold,) if policy.caches == "cold" else (),
    )


def _measured(zpool: ZfsPool, created: Created) -> list[Draft]:
    """The steps that make what is measured in the pool."""
    undo = undo_argvs(zpool)
    if zpool.has_volume:
        title = f"Create a volume of {size_text(zpool.size_bytes)}"
        return [Draft("zpool.volume", title, zpool, (volume_argv(zpool),), undo[:1], created, _METADATA_BYTES, 2.0)]
    title = f"Mount it on {planning.target_path(zpool)}"
    return [
        Draft("zpool.dataset", "Create a filesystem in it", zpool, (filesystem_argv(zpool),), undo[1:2], created,
              _METADATA_BYTES, 2.0),
        Draft("zpool.mount", title, zpool, (mount_argv(zpool),), undo[:1], created, seconds=1.0),
    ]  # fmt: skip


def _target(zpool: ZfsPool) -> PlannedTarget:
    where, size_bytes = (zpool.ref,), zpool.size_bytes
    if zpool.has_volume:
        return PlannedTarget(where, (planning.target_path(zpool),), size_bytes)
    # It compresses unless told not to, and it caches: devices' counters say nothing of what a workload does.
    return PlannedTarget(where, (planning.target_path(zpool),), size_bytes, kind="directory", counted="no")


def _offer(zpool: ZfsPool, devices: list[Part]) -> Part:
    return Part(
        zpool.ref,
        planning.target_path(zpool),
        zpool.size_bytes,
        512,
        tuple(zpool.disks),
        discard=True,
        rotational=any(part.rotational for part in devices),
    )
