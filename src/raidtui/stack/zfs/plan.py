"""Plan of a ZFS pool with one volume or one filesystem in it (zpoolconcepts(7)): its devices, its size, its steps."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import Final

from raidtui.base.text import plural
from raidtui.model.plan import Created, Names, TargetKind
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.model.scenario import Policy
from raidtui.model.units import size_text, size_texts
from raidtui.stack import mounts
from raidtui.stack.layer import Draft, Part, Parts, Planned, PlannedTarget, Reading, Shape
from raidtui.stack.zfs import arc, describe, pool, rules, size
from raidtui.stack.zfs import spec as options
from raidtui.stack.zfs.commands import (
    FILESYSTEM,
    VOLUME,
    ArcLimit,
    PoolDevice,
    PoolGroup,
    ZfsPool,
    cold_argvs,
    create_argv,
    filesystem_argv,
    mount_argv,
    part_path,
    undo_argvs,
    vdev_words,
    volume_argv,
)
from raidtui.stack.zfs.pool import module_version, require_new_enough
from raidtui.stack.zfs.properties import LARGEST_BLOCK, PROPERTY, check_known
from raidtui.stack.zfs.rules import MIXED
from raidtui.stack.zfs.spec import Group, ZpoolSpec

_METADATA_BYTES: Final = 64 << 20
"""Upper limit of the bytes that a new pool writes to one device: labels, partition table, metadata."""

TOO_SMALL: Final = Refusal(
    "zpool-too-small",
    "No room in the pool",
    "Labels, metaslabs, slop space, parity and padding leave less room than requested. Small blocks on raidz need "
    "much more space than their length.",
    "Ask for less, bind larger disks, or choose a larger volblocksize.",
)


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
    found, block = groups_of(spec, parts), options.block_bytes(spec)
    return Shape(
        size_bytes(spec, parts),
        describe.may_fail(found),
        describe.write_penalty(found, block, options.ashift(spec), options.copies(spec)),
        data_share=size.data_share(found, block, options.ashift(spec)) / options.copies(spec),
    )


def plan(spec: ZpoolSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Raises ProblemError: `zpool-too-small`, `zpool-property`, and what this server's ZFS does not know."""
    devices = devices_of(spec, parts)
    refuse_impossible(spec, devices)
    refuse_unequal(spec, parts)
    created = names.new("zpool")
    zpool = pool_of(spec, parts, created.name, created.uuid)
    undo, paths = undo_argvs(zpool), planned_paths(zpool)
    written = _METADATA_BYTES * len(devices)
    words = describe.describe(spec, counts_of(spec, parts))
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
    title = f"Mount it on {target_path(zpool)}"
    return [
        Draft("zpool.dataset", "Create a filesystem in it", zpool, (filesystem_argv(zpool),), undo[1:2], created,
              _METADATA_BYTES, 2.0),
        Draft("zpool.mount", title, zpool, (mount_argv(zpool),), undo[:1], created, seconds=1.0),
    ]  # fmt: skip


def _target(zpool: ZfsPool) -> PlannedTarget:
    where, size_bytes = (zpool.ref,), zpool.size_bytes
    if zpool.has_volume:
        return PlannedTarget(where, (target_path(zpool),), size_bytes)
    # It compresses unless told not to, and it caches: devices' counters say nothing of what a workload does.
    return PlannedTarget(where, (target_path(zpool),), size_bytes, kind="directory", counted="no")


def _offer(zpool: ZfsPool, devices: list[Part]) -> Part:
    return Part(
        zpool.ref,
        target_path(zpool),
        zpool.size_bytes,
        512,
        tuple(zpool.disks),
        discard=True,
        rotational=any(part.rotational for part in devices),
    )


PARTITIONED: Final = ("disk:", "md:")
"""Devices that can have partitions; the pool takes others as they are."""
Values = Mapping[str, str | int]


def counts_of(spec: ZpoolSpec, parts: Parts) -> dict[str, int]:
    """Return the number of devices of each input."""
    return {name: len(parts.get(name, ())) for name in options.operands(spec)}


def groups_of(spec: ZpoolSpec, parts: Parts) -> list[Group]:
    return options.groups(spec, counts_of(spec, parts))


def devices_of(spec: ZpoolSpec, parts: Parts) -> list[Part]:
    """Return all devices in the order in which groups count them."""
    return [part for name in options.operands(spec) for part in parts.get(name, ())]


def _leaf_bytes(found: list[Group], devices: list[Part]) -> list[int]:
    """Return the bytes that the pool uses of each device: the same within a vdev, because zpool refuses unequal devices."""
    room = [size.part_bytes(part.size_bytes) if part.ref.startswith(PARTITIONED) else part.size_bytes for part in devices]
    for group in found:
        least = min(room[device] for device in group.devices)
        for device in group.devices:
            room[device] = least
    return room


def size_bytes(spec: ZpoolSpec, parts: Parts) -> int:
    """Return the size of the volume, or of the room for files, in whole blocks. A share refers to the largest size that can
    be written fully.

    Raises ProblemError (`zpool-too-small`).
    """
    found, block = groups_of(spec, parts), options.block_bytes(spec)
    leaves = _leaf_bytes(found, devices_of(spec, parts))
    what, child = ("dataset", spec.dataset) if spec.dataset is not None else ("volume", spec.volume)
    assert child is not None, "refused when the scenario was read"
    place = f"zpool.{what}.size"
    if min(leaves) < size.SMALLEST_BYTES:
        raise fail(TOO_SMALL, "a pool takes devices of 64 MiB or more", place="zpool",
                   remedy="Bind larger disks.", exit=Exit.USAGE)  # fmt: skip
    room = size.volume_room(found, leaves, options.ashift(spec), block, options.copies(spec))
    wanted = child.size.of(room) // block * block
    if wanted < block:
        raise fail(TOO_SMALL, f"there is no room for a {what}", place=place,
                   remedy="Bind larger disks, or ask for a larger share.", exit=Exit.USAGE)  # fmt: skip
    sparse = spec.volume is not None and spec.volume.sparse
    if wanted > room and not sparse:
        asked, most = size_texts(wanted, room)
        text = f"a {what} of {asked} does not fit: there is room for {most}"
        remedy = "Ask for less." if spec.volume is None else 'Ask for less, or for a sparse one: "sparse": true.'
        raise fail(TOO_SMALL, text, place=place, remedy=remedy, exit=Exit.USAGE)
    return wanted


def refuse_impossible(spec: ZpoolSpec, devices: list[Part]) -> None:
    """Refuse pools that are impossible on these disks, layers below and this server's ZFS. Raises ProblemError."""
    require_new_enough(module_version())
    sector = max(part.logical_sector_bytes for part in devices)
    if sector > 1 << options.ashift(spec):
        # Not an error for zpool: it says that it took this ashift, and takes a larger one (vdev_open in vdev.c).
        text = f"with ashift={options.ashift(spec)} ZFS writes less than the disks' sectors of {sector} bytes"
        raise fail(PROPERTY, text, place="zpool.properties.ashift", remedy="Write 12.", exit=Exit.USAGE)
    arc.refuse_more_than_memory(spec)
    if unmet := list(rules.check_feature_sets(spec, "zpool")):
        raise ProblemError(*unmet)
    own, tuned = options.measured_properties(spec), spec.tuning.parameters if spec.tuning is not None else {}
    largest = options.number(tuned.get(LARGEST_BLOCK, ""))
    refuse_unknown(spec.properties, spec.inherited, own, volume=spec.dataset is None, largest=largest)


def refuse_unequal(spec: ZpoolSpec, parts: Parts) -> None:
    """Devices of one vdev are of one size for zpool, which mixes others only when forced (zpool_vdev.c, ZPOOL_FUZZ).

    Disks and arrays get partitions as large as the smallest; other devices are taken whole. Raises ProblemError.
    """
    found, devices = groups_of(spec, parts), devices_of(spec, parts)
    room = _leaf_bytes(found, devices)
    for group in found:
        whole = [devices[place] for place in group.devices if not devices[place].ref.startswith(PARTITIONED)]
        least, most = room[group.devices[0]], max((part.size_bytes for part in whole), default=0)
        if most - least > size.FUZZ_BYTES:
            smallest, largest = size_texts(least, most)
            text = f"devices of one {group.kind} have {smallest} and {largest}: zpool refuses to mix them"
            remedy = "Make the layers below alike in size."
            raise fail(MIXED, text, place="zpool.vdevs", remedy=remedy, exit=Exit.USAGE)


def refuse_unknown(of_pool: Values, of_root: Values, own: Values, *, volume: bool, largest: int | None = None) -> None:
    """Raise ProblemError for each property that this server's ZFS does not have, or not with this value."""
    where = "volume" if volume else "dataset"
    problems = [
        *check_known(of_pool, "pool", "zpool.properties"),
        *check_known(of_root, "filesystem", "zpool.inherited", largest),
        *check_known(own, "volume" if volume else "filesystem", f"zpool.{where}.properties", largest),
    ]
    if problems:
        raise ProblemError(*problems)


def pool_of(spec: ZpoolSpec, parts: Parts, name: str, pool_uuid: str) -> ZfsPool:
    """Arguments of every action: the whole pool, so that each can be run, and undone, from its own step alone."""
    found, devices = groups_of(spec, parts), devices_of(spec, parts)
    room = _leaf_bytes(found, devices)
    roles = {device: group.role for group in found for device in group.devices}
    namespace = uuid.UUID(pool_uuid)
    volume = spec.dataset is None
    return ZfsPool(
        name=name,
        uuid=pool_uuid,
        ref=f"zpool:{name}" if volume else f"dir:{name}",
        devices=tuple(
            PoolDevice(
                ref=part.ref,
                path=part.path,
                role=roles[place],
                disk_guid=str(uuid.uuid5(namespace, f"disk {place}")) if part.ref.startswith(PARTITIONED) else "",
                part_guid=str(uuid.uuid5(namespace, f"part {place}")),
                start=size.PART_START_BYTES,
                length=room[place],
            )
            for place, part in enumerate(devices)
        ),
        disks=tuple(dict.fromkeys(disk for part in devices for disk in part.disks)),
        groups=tuple(PoolGroup(group.role, group.word, group.devices) for group in found),
        words=vdev_words(found),
        properties=options.pool_properties(spec),
        inherited=options.root_properties(spec),
        child=VOLUME if volume else FILESYSTEM,
        own=options.own_properties(spec),
        size_bytes=size_bytes(spec, parts),
        sparse=spec.volume is not None and spec.volume.sparse,
    )


def planned_paths(zpool: ZfsPool) -> list[str]:
    """Return the paths that `zpool` will get for the devices."""
    return [part_path(entry.path) if entry.disk_guid else entry.path for entry in zpool.devices]


def target_path(zpool: ZfsPool) -> str:
    """Return the future path of the measured object."""
    name = zpool.name
    return str(pool.link_path(f"{name}/{VOLUME}")) if zpool.child == VOLUME else mounts.point_of(name)
