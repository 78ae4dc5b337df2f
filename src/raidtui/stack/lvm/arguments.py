"""Arguments of every LVM action: the whole group, so that each can be run, and undone, from its own step alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from raidtui.model.plan import Names
from raidtui.model.problem import Exit, fail
from raidtui.stack.layer import Part
from raidtui.stack.lvm import size
from raidtui.stack.lvm.command import lvm_uuid
from raidtui.stack.lvm.spec import REDUNDANT, LvmSpec, extent_bytes, geometry, stripe_size_bytes

ROLES: Final = {"on": "member"}
"""What a device is, by the input that it goes into."""


def arguments(
    spec: LvmSpec, parts: Mapping[str, tuple[Part, ...]], name: str, names: Names, *, nosync: bool
) -> dict[str, Any]:
    """Raises ProblemError (`lvm-too-small`, `lvm-sectors`)."""
    everything = [part for group in parts.values() for part in group]
    _refuse_mixed_sectors(everything)
    pvs = [_pv(part, role, names, spec) for input_, role in ROLES.items() for part in parts.get(input_, ())]
    return {
        "name": name,
        "ref": f"lvm:{name}",
        "pvs": pvs,
        "disks": list(dict.fromkeys(disk for part in everything for disk in part.disks)),
        "paths": {part.ref: part.path for part in everything if not part.ref.startswith("disk:")},
        "extent_bytes": extent_bytes(spec),
        "volume": _volume(spec, [pv["extents"] for pv in pvs if pv["role"] == "member"], nosync=nosync),
    }


def _pv(part: Part, role: str, names: Names, spec: LvmSpec) -> dict[str, Any]:
    start, align = size.data_start(part.stripe_bytes)
    return {
        "ref": part.ref,
        "uuid": lvm_uuid(names.new("lvm-pv").uuid),
        "role": role,
        "start_bytes": start,
        "align_bytes": align,
        "extents": size.extents_of(part.size_bytes, part.stripe_bytes, extent_bytes(spec)),
    }


def _volume(spec: LvmSpec, free: list[int], *, nosync: bool) -> dict[str, Any]:
    found = size.volume(spec, free, "lvm.size")
    shape = geometry(spec, len(free))
    return {
        "type": spec.type,
        "size_bytes": found.size_bytes,
        "extents": found.extents,
        "stripes": shape.stripes,
        "copies": shape.copies,
        "areas": shape.areas,
        "stripe_bytes": stripe_size_bytes(spec),
        "region_bytes": size.region_bytes(spec, found.size_bytes),
        "allocation": spec.allocation,
        "redundant": spec.type in REDUNDANT,
        "nosync": nosync,
    }


def _refuse_mixed_sectors(parts: list[Part]) -> None:
    """LVM makes no group of devices with different sectors (devices/allow_mixed_block_sizes)."""
    found = {part.logical_sector_bytes for part in parts}
    if len(found) > 1:
        text = f"LVM makes no group of disks with sectors of {' and '.join(map(str, sorted(found)))} bytes"
        raise fail("lvm-sectors", text, place="lvm.on", remedy="Bind disks with equal sectors.", exit=Exit.USAGE)
