"""Plan of an LVM volume: its volume group, the steps that build it, and the target that it offers."""

from __future__ import annotations

from typing import Final, Literal

from raidtui.model.plan import Names
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.model.scenario import Policy
from raidtui.stack import sync
from raidtui.stack.layer import Draft, Part, Parts, Planned, Shape, all_at_once
from raidtui.stack.lvm import commands, describe, pool, size
from raidtui.stack.lvm.cache import WRITECACHE, cache_argvs, cache_of
from raidtui.stack.lvm.commands import POOL, VOLUME, lvm_uuid
from raidtui.stack.lvm.group import Integrity, LvmGroup, PhysicalVolume, Volume
from raidtui.stack.lvm.rules import INTEGRITY
from raidtui.stack.lvm.spec import IMAGED, INPUTS, PARITY, REDUNDANT, LvmSpec, extent_bytes, geometry, stripe_size_bytes

_SYNC_BYTES_S: Final = {True: 120e6, False: 200e6}
"""Estimated speed of an initial sync in bytes per second, by rotational; the kernel limits it to 200 MB/s."""
_METADATA_BYTES: Final = 4 << 20
"""Upper limit of label, metadata and bitmaps on one physical volume."""
_CACHE_METADATA_BYTES: Final = 64 << 20
_POOL_METADATA_BYTES: Final = 512 << 20
_VDO_BLOCK: Final = 4096

SECTORS: Final = Refusal(
    "lvm-sectors",
    "Sectors of different sizes",
    "LVM makes no volume group of devices whose logical sectors differ in size.",
    "Bind disks with equal sectors; `raidtui disks` shows them.",
)


def shape(spec: LvmSpec, parts: Parts) -> Shape:
    """Return the shape. Raises ProblemError (`lvm-too-small`)."""
    vg = group_of(spec, parts, "rtshape", Names("shape"), nosync=False)
    devices = len(parts["on"])
    only_in_cache = spec.writecache is not None or (spec.cache is not None and spec.cache.mode == "writeback")
    may_fail = 0 if only_in_cache else describe.may_fail(spec, devices)
    penalty = size.write_penalty(spec, devices)
    return Shape(vg.target_bytes * vg.volumes, may_fail, penalty, *size.stripes(spec, parts["on"]), spec.type in PARITY)


def reduces(spec: LvmSpec) -> tuple[str, ...]:
    if (vdo := spec.vdo) is None:
        return ()
    return ("compresses",) * vdo.compression + ("deduplicates",) * vdo.deduplication


def plan(spec: LvmSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Return steps and target. Raises ProblemError (`lvm-too-small`, `lvm-sectors`) if the disks do not allow it."""
    created = names.new("lvm")
    skip = _can_skip_sync(spec, parts, policy)
    vg = group_of(spec, parts, created.name, names, nosync=skip)
    everything = _in_order(parts)
    paths = [part.path for part in everything]
    on = [part.path for part in parts["on"]]
    undo = commands.teardown_argvs(created.name, paths)
    written = _METADATA_BYTES * len(everything)
    pvcreates = [commands.pvcreate_argv(pv, path, paths) for pv, path in zip(vg.pvs, paths, strict=True)]
    title = f"Make {len(everything)} physical volumes and a volume group"
    seconds = 1.0 + 0.2 * len(everything)
    argvs = (*pvcreates, commands.vgcreate_argv(vg, paths))
    drafts = [Draft("lvm.group", title, vg, argvs, undo, created, written, seconds)]
    what = "a volume" if vg.volumes == 1 else "volumes"
    title = f"Create {what}, {describe.describe(spec, {'on': len(on)})}"
    argvs = commands.volume_argvs(vg, on, paths)
    drafts.append(Draft("lvm.volume", title, vg, argvs, undo, writes_bytes=written * vg.volumes, seconds=3.0 * vg.volumes))
    if spec.type in REDUNDANT and not skip:
        sync_bytes, seconds = _sync_cost(vg, everything)
        title = sync.wait_title(parts["on"], policy)
        drafts.append(Draft("lvm.sync", title, vg, writes_bytes=sync_bytes, seconds=seconds))
    if (cache := vg.cache) is not None:
        fast = [part.path for name, role in INPUTS.items() if role == "cache" for part in parts.get(name, ())]
        title = f"Attach a {'writecache' if cache.kind == 'writecache' else f'{cache.mode} cache'} to the volume"
        sizes = _CACHE_METADATA_BYTES + cache.metadata_bytes
        argvs = cache_argvs(vg, cache, fast, paths)
        drafts.append(Draft("lvm.cache", title, vg, argvs, undo, writes_bytes=sizes, seconds=4.0))
    if vg.has_pool:
        kind = " and a ".join(word for word, built in (("VDO", vg.vdo), ("thin", vg.thin)) if built is not None)
        title, argvs = f"Make it the pool of a {kind} volume", pool.pool_argvs(vg, on, paths)
        drafts.append(Draft("lvm.pool", title, vg, argvs, undo, writes_bytes=_POOL_METADATA_BYTES, seconds=8.0))
    drafts.append(Draft("lvm.verify", "Read the volume back", vg, seconds=1.0))
    remove = Draft("lvm.remove", "Remove volume, group and labels", vg, undo, writes_bytes=written, seconds=4.0)
    offers = _offers(spec, parts, vg)
    target = all_at_once(offers)._replace(counted=_counted(spec))
    return Planned(tuple(drafts), (remove,), (target,), offers, needs_zero=skip)


def _counted(spec: LvmSpec) -> Literal["exactly", "at least"]:
    """Return the relation of the target's counters to its I/O.

    A dm-raid device counts most requests twice: device-mapper does, and md again on the same device (md.c,
    md_account_bio). Devices above it count once.
    """
    on_top = (spec.cache, spec.writecache, spec.vdo, spec.thin)
    return "at least" if spec.type in IMAGED - {"mirror"} and not any(on_top) else "exactly"


def _can_skip_sync(spec: LvmSpec, parts: Parts, policy: Policy) -> bool:
    """Return True if the sync may be skipped; LVM always syncs a raid6."""
    possible = spec.type in REDUNDANT - {"raid6"} and spec.integrity is None
    return policy.initial_sync == "skip-if-zeroed" and possible and sync.are_disks(parts["on"])


def _in_order(parts: Parts) -> tuple[Part, ...]:
    """Return all devices, in the order of `vg.pvs`."""
    return tuple(part for name in INPUTS for part in parts.get(name, ()))


def _sync_cost(vg: LvmGroup, parts: tuple[Part, ...]) -> tuple[int, float]:
    """Return the most bytes written and the estimated seconds: images are read and written in parallel."""
    each = vg.volume.size_bytes * vg.volumes // vg.volume.stripes
    seconds = each / _SYNC_BYTES_S[any(part.rotational for part in parts)]
    return each * (vg.volume.areas - vg.volume.stripes), seconds


def _offers(spec: LvmSpec, parts: Parts, vg: LvmGroup) -> tuple[Part, ...]:
    everything = _in_order(parts)
    plain = vg.cache is None and not vg.has_pool and vg.integrity is None
    blocks = [layer.block_bytes for layer in (vg.cache, vg.integrity) if layer is not None]
    blocks.append(_VDO_BLOCK if spec.vdo is not None else 0)
    chunk, stripe = size.stripes(spec, parts["on"])
    first = Part(
        vg.ref,
        commands.volume_path(vg.name),
        vg.target_bytes,
        max(*(part.logical_sector_bytes for part in everything), *blocks),
        vg.disks,
        discard=plain and spec.type not in PARITY and all(part.discard for part in parts["on"]),
        rotational=any(part.rotational for part in parts["on"]),
        stripe_bytes=stripe,
        chunk_bytes=chunk,
        divided=vg.volumes > 1,
    )
    if not first.divided:
        return (first,)
    return tuple(
        first._replace(ref=ref, path=commands.volume_path(vg.name, name))
        for ref, name in zip(vg.refs, vg.names, strict=True)
    )


def group_of(spec: LvmSpec, parts: Parts, name: str, names: Names, *, nosync: bool) -> LvmGroup:
    """Return the group as planned.

    Raises ProblemError: `lvm-too-small`, `lvm-sectors`, `lvm-integrity`, `lvm-writecache`.
    """
    everything = [part for group in parts.values() for part in group]
    _refuse_mixed_sectors(everything)
    sector = max(part.logical_sector_bytes for part in everything)
    _refuse_under_sector(spec, sector)
    pvs = tuple(_pv(part, role, names, spec) for input_, role in INPUTS.items() for part in parts.get(input_, ()))
    free = {role: [pv.extents for pv in pvs if pv.role == role] for role in ("member", "cache")}
    volume = _volume(spec, free["member"], nosync=nosync)
    vdo = pool.vdo_of(spec, volume.size_bytes)
    checksums = spec.integrity
    return LvmGroup(
        name=name,
        ref=f"lvm:{name}",
        pvs=pvs,
        disks=tuple(dict.fromkeys(disk for part in everything for disk in part.disks)),
        paths={part.ref: part.path for part in everything if not part.ref.startswith("disk:")},
        extent_bytes=extent_bytes(spec),
        volume=volume,
        integrity=None if checksums is None else Integrity(
            checksums.mode, checksums.block_size.bytes if checksums.block_size is not None else sector
        ),
        cache=cache_of(spec, free["cache"]),
        vdo=vdo,
        thin=pool.thin_of(spec, volume.size_bytes if vdo is None else vdo.virtual_bytes, free["member"]),
        volumes=spec.volumes,
    )  # fmt: skip


def _pv(part: Part, role: Literal["member", "cache"], names: Names, spec: LvmSpec) -> PhysicalVolume:
    start, align = size.data_start(part.stripe_bytes)
    extents = max(0, part.size_bytes - start) // extent_bytes(spec)
    return PhysicalVolume(part.ref, lvm_uuid(names.new("lvm-pv").uuid), role, start, align, extents)


def _volume(spec: LvmSpec, free: list[int], *, nosync: bool) -> Volume:
    extents = size.volume_extents(spec, free, pool.thin_metadata_extents(spec, free))
    size_bytes = extents * extent_bytes(spec)
    shape = geometry(spec, len(free))
    return Volume(
        name=POOL if spec.vdo or spec.thin else VOLUME,
        type=spec.type,
        size_bytes=size_bytes,
        extents=extents,
        stripes=shape.stripes,
        copies=shape.copies,
        areas=shape.areas,
        stripe_bytes=stripe_size_bytes(spec),
        region_bytes=size.region_bytes(spec, size_bytes),
        allocation=spec.allocation,
        redundant=spec.type in REDUNDANT,
        nosync=nosync,
        mirror_log=(spec.mirror_log or "disk") if spec.type == "mirror" else None,
    )


def _refuse_mixed_sectors(parts: list[Part]) -> None:
    """Refuse devices with different sectors (devices/allow_mixed_block_sizes)."""
    found = {part.logical_sector_bytes for part in parts}
    if len(found) > 1:
        text = f"LVM makes no group of disks with sectors of {' and '.join(map(str, sorted(found)))} bytes"
        raise fail(SECTORS, text, place="lvm.on", remedy="Bind disks with equal sectors.", exit=Exit.USAGE)


def _refuse_under_sector(spec: LvmSpec, sector: int) -> None:
    """Refuse blocks of dm-integrity and dm-writecache that are smaller than the devices' logical sectors."""
    for kind, name, what, asked in (
        (INTEGRITY, "integrity", "checksums", spec.integrity),
        (WRITECACHE, "writecache", "a writecache", spec.writecache),
    ):
        block = asked.block_size if asked is not None else None
        if block is not None and block.bytes < sector:
            text = f"{what} in blocks of {block.text} cannot be on devices with sectors of {sector} bytes"
            raise fail(kind, text, place=f"lvm.{name}.block_size", remedy="Leave it out, or bind other disks.")
