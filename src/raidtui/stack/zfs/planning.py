"""Arithmetic of a pool's plan: its devices in order, what fits into it, and the arguments that every action gets."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final

from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.model.units import size_texts
from raidtui.stack import mounts
from raidtui.stack.layer import Part
from raidtui.stack.zfs import arc, needs, pool, size
from raidtui.stack.zfs import spec as options
from raidtui.stack.zfs.command import part_path, vdev_words
from raidtui.stack.zfs.properties import LARGEST_BLOCK, check_known
from raidtui.stack.zfs.spec import FILESYSTEM, VOLUME, Group, PoolDevice, PoolGroup, ZfsPool, ZpoolSpec
from raidtui.stack.zfs.version import insist_new_enough, module_version

PARTITIONED: Final = ("disk:", "md:")
"""Devices that can have partitions; the pool takes others as they are."""
Parts = Mapping[str, tuple[Part, ...]]
Values = Mapping[str, str | int]


def counts_of(spec: ZpoolSpec, parts: Parts) -> dict[str, int]:
    """How many devices go into each input."""
    return {name: len(parts.get(name, ())) for name in options.operands(spec)}


def groups_of(spec: ZpoolSpec, parts: Parts) -> list[Group]:
    return options.groups(spec, counts_of(spec, parts))


def devices_of(spec: ZpoolSpec, parts: Parts) -> list[Part]:
    """In the order that groups count them."""
    return [part for name in options.operands(spec) for part in parts.get(name, ())]


def _leaf_bytes(found: list[Group], devices: list[Part]) -> list[int]:
    """What the pool gets of every device: within a vdev the same of each, because zpool refuses unequal ones."""
    room = [size.part_bytes(part.size_bytes) if part.ref.startswith(PARTITIONED) else part.size_bytes for part in devices]
    for group in found:
        least = min(room[device] for device in group.devices)
        for device in group.devices:
            room[device] = least
    return room


def size_bytes(spec: ZpoolSpec, parts: Parts) -> int:
    """Of the volume, or what files may fill: whole blocks. A share is of what fits when every block is written.

    Raises ProblemError (`zpool-too-small`).
    """
    found, block = groups_of(spec, parts), options.block_bytes(spec)
    leaves = _leaf_bytes(found, devices_of(spec, parts))
    what, child = ("dataset", spec.dataset) if spec.dataset is not None else ("volume", spec.volume)
    assert child is not None, "refused when the scenario was read"
    place = f"zpool.{what}.size"
    if min(leaves) < size.SMALLEST_BYTES:
        raise fail("zpool-too-small", "a pool takes devices of 64 MiB or more", place="zpool",
                   remedy="Bind larger disks.", exit=Exit.USAGE)  # fmt: skip
    room = size.volume_room(found, leaves, options.ashift(spec), block, options.copies(spec))
    wanted = child.size.of(room) // block * block
    if wanted < block:
        raise fail("zpool-too-small", f"there is no room for a {what}", place=place,
                   remedy="Bind larger disks, or ask for a larger share.", exit=Exit.USAGE)  # fmt: skip
    sparse = spec.volume is not None and spec.volume.sparse
    if wanted > room and not sparse:
        asked, most = size_texts(wanted, room)
        text = f"a {what} of {asked} does not fit: there is room for {most}"
        remedy = "Ask for less." if spec.volume is None else 'Ask for less, or for a sparse one: "sparse": true.'
        raise fail("zpool-too-small", text, place=place, remedy=remedy, exit=Exit.USAGE)
    return wanted


def refuse(spec: ZpoolSpec, devices: list[Part]) -> None:
    """What only shows once disks, layers below and the server's ZFS are known. Raises ProblemError."""
    insist_new_enough(module_version())
    sector = max(part.logical_sector_bytes for part in devices)
    if sector > 1 << options.ashift(spec):
        # Not an error for zpool: it says that it took this ashift, and takes a larger one (vdev_open in vdev.c).
        text = f"with ashift={options.ashift(spec)} ZFS writes less than the disks' sectors of {sector} bytes"
        raise fail("zpool-property", text, place="zpool.properties.ashift", remedy="Write 12.", exit=Exit.USAGE)
    arc.refuse_more_than_memory(spec)
    if unmet := list(needs.check_sets(spec, "zpool")):
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
            raise fail("zpool-mixed", text, place="zpool.vdevs", remedy=remedy, exit=Exit.USAGE)


def refuse_unknown(
    of_pool: Values, of_root: Values, own: Values, *, volume: bool, largest: int | None = None
) -> None:
    """Raise ProblemError for each property that this server's ZFS does not have, or not with this value."""
    where = "volume" if volume else "dataset"
    problems = [
        *check_known(of_pool, "pool", "zpool.properties"),
        *check_known(of_root, "filesystem", "zpool.inherited", largest),
        *check_known(own, "volume" if volume else "filesystem", f"zpool.{where}.properties", largest),
    ]
    if problems:
        raise ProblemError(*problems)


def arguments(spec: ZpoolSpec, parts: Parts, name: str, pool_uuid: str) -> ZfsPool:
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
    """What `zpool` is told of each device, as it will be called."""
    return [part_path(entry.path) if entry.disk_guid else entry.path for entry in zpool.devices]


def target_path(zpool: ZfsPool) -> str:
    """Where what is measured will be."""
    name = zpool.name
    return str(pool.link_path(f"{name}/{VOLUME}")) if zpool.child == VOLUME else mounts.point_of(name)
