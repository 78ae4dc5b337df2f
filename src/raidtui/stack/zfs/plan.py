"""Plan of a ZFS pool with one volume or one filesystem in it (zpoolconcepts(7)): its devices, its size, its steps."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from raidtui.base.text import plural
from raidtui.model.plan import Created, Names, TargetKind
from raidtui.model.problem import ProblemError, Refusal, fail
from raidtui.model.scenario import Policy
from raidtui.model.units import size_text, size_texts
from raidtui.stack import gpt, mounts
from raidtui.stack.layer import Draft, Part, Parts, Planned, PlannedTarget, Reading, Shape, all_at_once
from raidtui.stack.zfs import arc, commands, describe, pool, rules, size
from raidtui.stack.zfs.commands import FILESYSTEM, VOLUME, ArcLimit, PoolDevice, PoolGroup, ZfsPool, undo_argvs
from raidtui.stack.zfs.notation import number
from raidtui.stack.zfs.properties import LARGEST_BLOCK, PROPERTY, check_known
from raidtui.stack.zfs.rules import MIXED
from raidtui.stack.zfs.spec import DEFAULT_ASHIFT, DEFAULT_FAILMODE, FREE_SPACE, Group, ZpoolSpec

_METADATA_BYTES: Final = 64 << 20
"""Upper limit of the bytes that a new pool writes to one device: labels, partition table, metadata."""
PARTITIONED: Final = ("disk:", "md:", "nvmeof:", "iscsi:")
"""Devices that can have partitions, and that zpool would partition by itself; the pool takes others as they are."""
Values = Mapping[str, str | int]

TOO_SMALL: Final = Refusal(
    "zpool-too-small",
    "No room in the pool",
    "Labels, metaslabs, slop space, parity and padding leave less room than requested. Small blocks on raidz need "
    "much more space than their length.",
    "Ask for less, bind larger disks, or choose a larger volblocksize.",
)
_UNSURE: Final = ("md:", "lvm:")
"""Devices of which a plan knows for certain only that they accept discards, not that they do not."""
_WRITTEN_PER_S: Final = {True: 120e6, False: 500e6}
"""Rough sequential write rate of a disk in bytes per second, by rotational; for estimates only."""
NO_TRIM: Final = Refusal(
    "zpool-trim",
    "A device cannot be trimmed",
    "`zpool trim` leaves out devices that do not accept discards, so that the pool would be trimmed in part. An encrypted "
    "volume passes discards on only with `discards`, and an integrity device never.",
    'Remove "trim", or bind disks that accept discards (`discard` in `raidtui disks --json`).',
)
TRIM_UNDOES: Final = Refusal(
    "zpool-trim-preconditioned",
    "A trim would undo the preconditioning",
    "The policy has the disks written over before the pool is created; `zpool trim` would discard all of that again, and "
    "the result would still say that they were preconditioned.",
    'Remove "trim" from the pool, or "precondition" from the policy.',
)


class Devices(NamedTuple):
    """The devices below a pool, in the order in which its vdevs count them."""

    parts: list[Part]
    groups: list[Group]
    room: list[int]
    """Bytes that the pool uses of each device: the same within a vdev, because zpool refuses unequal devices."""


def devices_of(spec: ZpoolSpec, parts: Parts) -> Devices:
    found = [part for name in spec.operands() for part in parts.get(name, ())]
    groups = spec.groups({name: len(of_input) for name, of_input in parts.items()})
    room = [gpt.room_bytes(part.size_bytes) if part.ref.startswith(PARTITIONED) else part.size_bytes for part in found]
    for group in groups:
        least = min(room[device] for device in group.devices)
        for device in group.devices:
            room[device] = least
    return Devices(found, groups, room)


def reduces(spec: ZpoolSpec) -> tuple[str, ...]:
    """ZFS compresses unless it is told not to, and deduplicates where it is told to."""
    words = {"compression": "compresses", "dedup": "deduplicates"}
    return tuple(words[name] for name in spec.reducing)


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
    devices, block, copies = devices_of(spec, parts), spec.block_bytes, spec.copies
    return Shape(
        size_bytes(spec, devices) * spec.volumes,
        describe.may_fail(devices.groups),
        describe.write_penalty(devices.groups, block, spec.ashift, copies),
        data_share=size.data_share(devices.groups, block, spec.ashift) / copies,
        read_penalty=describe.read_penalty(devices.groups, block, spec.ashift),
    )


def plan(spec: ZpoolSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Raises ProblemError: `zpool-too-small`, `zpool-property`, and what this server's ZFS does not know."""
    devices = devices_of(spec, parts)
    refuse_impossible(spec, devices)
    if spec.trim and policy.precondition_times:
        text = f"the disks are preconditioned {policy.precondition}, and a trim would discard all that was written"
        raise fail(TRIM_UNDOES, text, place="zpool.trim", remedy='Remove it, or "precondition" from the policy.')
    created = names.new("zpool")
    zpool = pool_of(spec, devices, created.name, created.uuid)
    if policy.reset == "rollback" and zpool.volumes > 1:
        text = f"{zpool.volumes} volumes cannot be rolled back"
        raise fail(rules.VOLUMES, text, place="zpool.volumes", remedy='Write "reset": "rewind" into the policy.')
    if policy.reset == "rollback":
        zpool = msgspec.structs.replace(zpool, snapshot=f"{zpool.dataset}@{'filled' if zpool.has_volume else 'empty'}")
    if policy.reset == "rewind":
        refuse_rewind(spec, devices, zpool, policy)
    undo, count = undo_argvs(zpool), len(devices.parts)
    paths = [commands.part_path(entry.path) if entry.disk_guid else entry.path for entry in zpool.devices]
    written = _METADATA_BYTES * count
    words = describe.describe(spec, {name: len(of_input) for name, of_input in parts.items()})
    tables = sum(bool(entry.disk_guid) for entry in zpool.devices)
    title = f"Partition {plural(tables, 'disk')} and create {words}" if tables else f"Create {words}"
    argvs = (*commands.partition_argvs(zpool), commands.create_argv(zpool, paths))
    create = Draft("zpool.create", title, zpool, argvs, undo[-1:], created, written, 3.0 + 0.2 * count)  # fmt: skip
    verify = Draft("zpool.verify", "Read pool and properties back", zpool, seconds=1.0)
    teardown = Draft("zpool.destroy", "Destroy the pool and take its labels and partitions off", zpool, undo,
                     writes_bytes=written, seconds=3.0)  # fmt: skip
    cold = Draft("zpool.cold", "Export and import the pool, which empties the ARC of it", zpool,
                 commands.cold_argvs(zpool, paths), seconds=3.0)  # fmt: skip
    build, teardowns = [create, *_free_space(spec, devices, zpool), *_measured(zpool, created), verify], [teardown]
    if spec.arc_max is not None:
        changed = names.new("arc")
        limit = ArcLimit(spec.arc_max.bytes, changed.uuid)
        title = f"Limit the ARC to {spec.arc_max.text}"
        build.insert(0, Draft("zpool.arc", title, limit, creates=changed, seconds=0.5))
        teardowns.append(Draft("zpool.arc-back", "Give the ARC back its limit", limit, seconds=0.5))
    offers = tuple[Part, ...]()
    if zpool.has_volume:
        rotational = any(part.rotational for part in devices.parts)
        offers = tuple(
            Part(one.ref, target_path(one), one.size_bytes, 512, one.disks, discard=True, rotational=rotational,
                 divided=zpool.volumes > 1)
            for one in zpool.each
        )  # fmt: skip
        target = all_at_once(offers)
    else:
        target = PlannedTarget((zpool.ref,), (target_path(zpool),), zpool.size_bytes)
        # It compresses unless told not to, and it caches: devices' counters say nothing of what a workload does.
        target = target._replace(kind="directory", counted="no")
    before_cell = (cold,) if policy.caches == "cold" else ()
    filled, reset = _reset(zpool, paths, policy)
    renewed = bool(before_cell) or policy.reset == "rewind"
    return Planned(tuple(build), tuple(teardowns), (target,), offers, before_cell=before_cell, filled=filled, reset=reset,
                   renewed=renewed)  # fmt: skip


def _reset(zpool: ZfsPool, paths: Sequence[str], policy: Policy) -> tuple[tuple[Draft, ...], tuple[Draft, ...]]:
    """Return the steps that keep a state once for all cells, and those that bring it back before each of them."""
    if policy.reset == "rewind":
        again = commands.rewind_argvs(zpool, paths)
        kept = Draft("zpool.checkpoint", "Take a checkpoint of the pool", zpool, (commands.checkpoint_argv(zpool.name),))
        return (kept,), (Draft("zpool.rewind", "Rewind the pool to its checkpoint", zpool, again, seconds=4.0),)
    if not zpool.snapshot:
        return (), ()
    what = "volume" if zpool.has_volume else "filesystem"
    kept = Draft("zpool.snapshot", f"Take a snapshot of the {what}", zpool, commands.snapshot_argvs(zpool))
    return (kept,), (Draft("zpool.rollback", f"Roll the {what} back", zpool, commands.rollback_argvs(zpool), seconds=2.0),)


def _free_space(spec: ZpoolSpec, devices: Devices, zpool: ZfsPool) -> list[Draft]:
    """The steps that trim and initialize the new pool. Their commands leave cache devices and spares out."""
    parts = [(devices.parts[at], devices.room[at]) for at in _with_free_space(devices)]
    count = plural(len(parts), "device")
    found = []
    for verb in FREE_SPACE:
        if not getattr(spec, verb):
            continue
        title, written, seconds = f"Discard all free space of {count}", 0, 1.0 + len(parts)
        if verb == "initialize":
            title, written = f"Write over all free space of {count}", sum(room for _, room in parts)
            seconds = 1.0 + max(room / _WRITTEN_PER_S[part.rotational] for part, room in parts)
        argvs = commands.free_space_argvs(zpool.name, verb)
        found.append(Draft(f"zpool.{verb}", title, zpool, argvs, writes_bytes=written, seconds=seconds))
    return found


def _with_free_space(devices: Devices) -> list[int]:
    """Return the positions of the devices that `zpool trim` and `zpool initialize` work on."""
    return [at for group in devices.groups if group.role not in ("cache", "spare") for at in group.devices]


def _measured(zpool: ZfsPool, created: Created) -> list[Draft]:
    """The steps that make what is measured in the pool."""
    undo = undo_argvs(zpool)
    if zpool.has_volume:
        what = "a volume" if zpool.volumes == 1 else f"{zpool.volumes} volumes"
        title, argvs = f"Create {what} of {size_text(zpool.size_bytes)}", commands.volume_argvs(zpool, zpool.size_bytes)
        return [Draft("zpool.volume", title, zpool, argvs, undo[:-1], created, _METADATA_BYTES, 2.0 * zpool.volumes)]
    title = f"Mount it on {target_path(zpool)}"
    return [
        Draft("zpool.dataset", "Create a filesystem in it", zpool, (commands.filesystem_argv(zpool),), undo[1:2], created,
              _METADATA_BYTES, 2.0),
        Draft("zpool.mount", title, zpool, (commands.mount_argv(zpool),), undo[:1], created, seconds=1.0),
    ]  # fmt: skip


def target_path(zpool: ZfsPool) -> str:
    """Return the future path of the measured object."""
    return str(pool.VOLUMES / zpool.dataset) if zpool.has_volume else mounts.point_of(zpool.name)


def size_bytes(spec: ZpoolSpec, devices: Devices) -> int:
    """Return the size of each volume, or of the room for files, in whole blocks. A share refers to the largest size that
    can be written fully.

    Raises ProblemError (`zpool-too-small`).
    """
    block = spec.block_bytes
    what, child = ("dataset", spec.dataset) if spec.dataset is not None else ("volume", spec.volume)
    assert child is not None, "refused when the scenario was read"
    place = f"zpool.{what}.size"
    if min(devices.room) < size.SMALLEST_BYTES:
        raise fail(TOO_SMALL, "a pool takes devices of 64 MiB or more", place="zpool", remedy="Bind larger disks.")
    room = size.volume_room(devices.groups, devices.room, spec.ashift, block, spec.copies, spec.volumes)
    wanted = child.size.of(room) // block * block
    if wanted < block:
        remedy = "Bind larger disks, or ask for a larger share."
        raise fail(TOO_SMALL, f"there is no room for a {what}", place=place, remedy=remedy)
    sparse = spec.volume is not None and spec.volume.sparse
    if wanted > room and not sparse:
        asked, most = size_texts(wanted, room)
        text = f"a {what} of {asked} does not fit: there is room for {most}"
        remedy = "Ask for less." if spec.volume is None else 'Ask for less, or for a sparse one: "sparse": true.'
        raise fail(TOO_SMALL, text, place=place, remedy=remedy)
    return wanted


def refuse_impossible(spec: ZpoolSpec, devices: Devices) -> None:
    """Refuse pools that are impossible on these disks, layers below and this server's ZFS. Raises ProblemError."""
    pool.require_new_enough(pool.module_version())
    sector = max(part.logical_sector_bytes for part in devices.parts)
    if sector > 1 << spec.ashift:
        # Not an error for zpool: it says that it took this ashift, and takes a larger one (vdev_open in vdev.c).
        text = f"with ashift={spec.ashift} ZFS writes less than the disks' sectors of {sector} bytes"
        raise fail(PROPERTY, text, place="zpool.properties.ashift", remedy="Write 12.")
    arc.refuse_more_than_memory(spec)
    if spec.trim:
        refuse_trim([devices.parts[at] for at in _with_free_space(devices)])
    if unmet := list(rules.check_feature_sets(spec, "zpool")):
        raise ProblemError(*unmet)
    own, tuned = spec.measured_properties, spec.tuning.parameters if spec.tuning is not None else {}
    largest = number(tuned.get(LARGEST_BLOCK, ""))
    refuse_unknown(spec.properties, spec.inherited, own, volume=spec.dataset is None, largest=largest)
    # zpool mixes devices of other sizes in one vdev only when forced (zpool_vdev.c, ZPOOL_FUZZ). Those that can have
    # partitions get them as large as the smallest; other devices are taken whole.
    for group in devices.groups:
        of_group = [devices.parts[place] for place in group.devices]
        whole = [part.size_bytes for part in of_group if not part.ref.startswith(PARTITIONED)]
        least, most = devices.room[group.devices[0]], max(whole, default=0)
        if most - least > size.FUZZ_BYTES:
            smallest, largest_text = size_texts(least, most)
            text = f"devices of one {group.kind} have {smallest} and {largest_text}: zpool refuses to mix them"
            raise fail(MIXED, text, place="zpool.vdevs", remedy="Make the layers below alike in size.")


def refuse_trim(parts: Sequence[Part]) -> None:
    """Raise ProblemError (`zpool-trim`) if one of these devices does not accept discards."""
    refusing = [part.ref.partition(":")[2] for part in parts if not (part.discard or part.ref.startswith(_UNSURE))]
    if refusing:
        text = f"{', '.join(refusing[:4])}{', …' if len(refusing) > 4 else ''} cannot be trimmed: no discards there"
        raise fail(NO_TRIM, text, place="zpool.trim", remedy='Remove "trim", or bind disks that accept discards.')


def refuse_rewind(spec: ZpoolSpec, devices: Devices, zpool: ZfsPool, policy: Policy) -> None:
    """Refuse a rewind of a pool that has no checkpoints, or no room for one. Raises ProblemError.

    What a checkpoint holds is not freed when a cell writes over it, so that a filled volume needs its size twice.
    """
    if unmet := rules.check_checkpoint(spec, "zpool"):
        raise ProblemError(*unmet)
    if not (zpool.has_volume and policy.prefill) or zpool.sparse:
        return
    room = size.volume_room(devices.groups, devices.room, spec.ashift, spec.block_bytes, spec.copies, spec.volumes)
    if 2 * zpool.size_bytes > room:
        asked, most = size_texts(zpool.size_bytes, room // 2)
        text = f"a volume of {asked} cannot be rewound: the checkpoint needs as much again, and there is room for {most}"
        raise fail(TOO_SMALL, text, place="zpool.volume.size", remedy='At most half of the pool: "size": "50%".')


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


def pool_of(spec: ZpoolSpec, devices: Devices, name: str, pool_uuid: str) -> ZfsPool:
    """Arguments of every action: the whole pool, so that each can be run, and undone, from its own step alone."""
    roles = {device: group.role for group in devices.groups for device in group.devices}
    namespace = uuid.UUID(pool_uuid)
    volume, block = spec.dataset is None, spec.block_bytes
    # With failmode=wait, every program that uses the volume would hang forever once too many disks are gone.
    of_pool: Values = {"cachefile": "none", "ashift": str(DEFAULT_ASHIFT), "failmode": DEFAULT_FAILMODE, **spec.properties}
    # The root is never mounted, and a `legacy` filesystem only by mount(8).
    of_root: Values = {"mountpoint": "none", "canmount": "off", **spec.inherited}
    first: Values = {"volblocksize": block} if volume else {"mountpoint": "legacy"}
    own: Values = {**first, **spec.measured_properties}
    wanted = size_bytes(spec, devices)
    child = spec.volume or spec.dataset
    is_share = child is not None and child.size.bytes is None
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
                start=gpt.FIRST_BYTE,
                length=devices.room[place],
            )
            for place, part in enumerate(devices.parts)
        ),
        disks=tuple(dict.fromkeys(disk for part in devices.parts for disk in part.disks)),
        groups=tuple(PoolGroup(group.role, group.word, group.devices) for group in devices.groups),
        words=commands.vdev_words(devices.groups),
        properties={name: str(value) for name, value in of_pool.items()},
        inherited={name: str(value) for name, value in of_root.items()},
        child=VOLUME if volume else FILESYSTEM,
        own={name: str(value) for name, value in own.items()},
        size_bytes=wanted,
        least_bytes=max(block, size.least_bytes(wanted) // block * block) if is_share else None,
        sparse=spec.volume is not None and spec.volume.sparse,
        volumes=spec.volumes,
    )
