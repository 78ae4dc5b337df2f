"""Arguments of every LVM action: the whole group, so that each can be run, and undone, from its own step alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from raidtui.model.plan import Names
from raidtui.model.problem import Exit, fail
from raidtui.stack.layer import Part
from raidtui.stack.lvm import fast, size, thin, vdo
from raidtui.stack.lvm.command import POOL, VOLUME, lvm_uuid
from raidtui.stack.lvm.group import Integrity, LvmGroup, PhysicalVolume, Volume
from raidtui.stack.lvm.spec import INPUTS, REDUNDANT, LvmSpec, extent_bytes, geometry, stripe_size_bytes


def arguments(
    spec: LvmSpec, parts: Mapping[str, tuple[Part, ...]], name: str, names: Names, *, nosync: bool
) -> LvmGroup:
    """Return the group as planned.

    Raises ProblemError: `lvm-too-small`, `lvm-sectors`, `lvm-integrity`, `lvm-writecache`.
    """
    everything = [part for group in parts.values() for part in group]
    _refuse_mixed_sectors(everything)
    _refuse_under_sector(spec, max(part.logical_sector_bytes for part in everything))
    pvs = tuple(_pv(part, role, names, spec) for input_, role in INPUTS.items() for part in parts.get(input_, ()))
    free = {role: [pv.extents for pv in pvs if pv.role == role] for role in ("member", "cache")}
    volume = _volume(spec, free["member"], nosync=nosync)
    dense = vdo.arguments(spec, volume.size_bytes)
    pool_bytes = volume.size_bytes if dense is None else dense.virtual_bytes
    return LvmGroup(
        name,
        f"lvm:{name}",
        pvs,
        tuple(dict.fromkeys(disk for part in everything for disk in part.disks)),
        {part.ref: part.path for part in everything if not part.ref.startswith("disk:")},
        extent_bytes(spec),
        volume,
        _integrity(spec, everything),
        fast.arguments(spec, free["cache"]),
        dense,
        thin.arguments(spec, pool_bytes, free["member"]),
    )


def _pv(part: Part, role: Literal["member", "cache"], names: Names, spec: LvmSpec) -> PhysicalVolume:
    start, align = size.data_start(part.stripe_bytes)
    extents = size.extents_of(part.size_bytes, part.stripe_bytes, extent_bytes(spec))
    return PhysicalVolume(part.ref, lvm_uuid(names.new("lvm-pv").uuid), role, start, align, extents)


def _volume(spec: LvmSpec, free: list[int], *, nosync: bool) -> Volume:
    found = size.volume(spec, free, "lvm.size", thin.metadata_extents(spec, free))
    shape = geometry(spec, len(free))
    return Volume(
        name=POOL if spec.vdo or spec.thin else VOLUME,
        type=spec.type,
        size_bytes=found.size_bytes,
        extents=found.extents,
        stripes=shape.stripes,
        copies=shape.copies,
        areas=shape.areas,
        stripe_bytes=stripe_size_bytes(spec),
        region_bytes=size.region_bytes(spec, found.size_bytes),
        allocation=spec.allocation,
        redundant=spec.type in REDUNDANT,
        nosync=nosync,
        mirror_log=(spec.mirror_log or "disk") if spec.type == "mirror" else None,
    )


def _integrity(spec: LvmSpec, parts: list[Part]) -> Integrity | None:
    if spec.integrity is None:
        return None
    sector = max(part.logical_sector_bytes for part in parts)
    block = spec.integrity.block_size.bytes if spec.integrity.block_size is not None else sector
    return Integrity(spec.integrity.mode, block)


def _refuse_mixed_sectors(parts: list[Part]) -> None:
    """LVM makes no group of devices with different sectors (devices/allow_mixed_block_sizes)."""
    found = {part.logical_sector_bytes for part in parts}
    if len(found) > 1:
        text = f"LVM makes no group of disks with sectors of {' and '.join(map(str, sorted(found)))} bytes"
        raise fail("lvm-sectors", text, place="lvm.on", remedy="Bind disks with equal sectors.", exit=Exit.USAGE)


def _refuse_under_sector(spec: LvmSpec, sector: int) -> None:
    """dm-integrity and dm-writecache have no blocks smaller than the devices' logical sectors."""
    blocky = (("lvm-integrity", "checksums", spec.integrity), ("lvm-writecache", "a writecache", spec.writecache))
    for code, what, asked in blocky:
        block = asked.block_size if asked is not None else None
        if block is not None and block.bytes < sector:
            name = code.removeprefix("lvm-")
            text = f"{what} in blocks of {block.text} cannot be on devices with sectors of {sector} bytes"
            raise fail(code, text, place=f"lvm.{name}.block_size", remedy="Leave it out, or bind other disks.",
                       exit=Exit.USAGE)  # fmt: skip
