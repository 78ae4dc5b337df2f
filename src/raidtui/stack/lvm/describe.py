"""What the options of a volume come to, in words: what it is, what is taken where nothing is said, what may fail."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from raidtui.stack.layer import WritePath
from raidtui.stack.lvm.spec import (
    DEFAULT_STRIPE_BYTES,
    MIRRORED,
    PARITY,
    REDUNDANT,
    STRIPED,
    LvmSpec,
    geometry,
    stripe_size_bytes,
)

_LVM: Final = "LVM's default"


def describe(spec: LvmSpec, counts: Mapping[str, int]) -> str:
    """`raid5 of 4, stripe 64KiB`."""
    devices = counts.get("on", 0)
    found = [f"{spec.type} of {devices}"]
    shape = geometry(spec, devices)
    if spec.type in STRIPED and shape.areas != devices:
        found.append(f"{shape.stripes} stripes")
    if spec.mirrors is not None and shape.areas != devices:
        found.append(f"{spec.mirrors} mirrors")
    if (size := stripe_size_bytes(spec)) is not None:
        found.append(f"stripe {spec.stripe_size.text if spec.stripe_size else f'{size >> 10}KiB'}")
    if spec.size.text != "100%":
        found.append(spec.size.text)
    if spec.allocation != "normal":
        found.append(f"allocation {spec.allocation}")
    if spec.integrity is not None:
        found.append(f"checksums by {spec.integrity.mode}")
    if spec.cache is not None:
        found.append(f"{spec.cache.mode} {'cache pool' if spec.cache.kind == 'pool' else 'cachevol'}")
    if spec.writecache is not None:
        found.append("writecache")
    if spec.vdo is not None:
        parts = [name for name in ("compression", "deduplication") if getattr(spec.vdo, name)]
        found.append(f"VDO with {' and '.join(parts) or 'neither compression nor deduplication'}")
    if spec.thin is not None:
        found.append("thin")
    return ", ".join(found)


def defaults(spec: LvmSpec, counts: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    """By optional field: what it comes to where it is left out, and why."""
    shape = geometry(msgspec.structs.replace(spec, stripes=None, mirrors=None), counts.get("on", 0))
    stripes, mirrors = ("none", f"{spec.type} does not stripe"), ("none", f"{spec.type} keeps no copies")
    stripe_size, region = stripes, ("none", f"{spec.type} has nothing to resync")
    if spec.type in STRIPED:
        stripes = (str(shape.stripes), "over all devices of the role")
        stripe_size = (f"{DEFAULT_STRIPE_BYTES >> 10}KiB", _LVM)
    if spec.type in MIRRORED:
        why = "one copy beside the original" if spec.type == "raid10" else "a copy on every device of the role"
        mirrors = (str(shape.copies - 1), why)
    if spec.type in REDUNDANT:
        region = ("2MiB", f"{_LVM}; more where the volume has too many regions")
    return {
        "type": ("linear", _LVM),
        "stripes": stripes,
        "mirrors": mirrors,
        "stripe_size": stripe_size,
        "size": ("100%", "all that the devices have room for"),
        "allocation": ("normal", _LVM),
        "extent_size": ("4MiB", _LVM),
        "region_size": region,
        "mirror_log": ("disk", _LVM) if spec.type == "mirror" else ("none", f"{spec.type} keeps no mirror log"),
        "integrity": ("none", "no checksums unless they are asked for"),
        "cache": ("none", "no cache unless devices are given for it"),
        "writecache": ("none", "no cache unless devices are given for it"),
        "vdo": ("none", "neither compression nor deduplication unless asked for"),
        "thin": ("none", "all blocks have their place from the start"),
        "tuning": ("none", "kernel settings stay as they are found"),
    }


def may_fail(spec: LvmSpec, devices: int) -> int:
    """How many devices may fail, whichever they are."""
    if spec.allocation == "anywhere" or spec.type not in REDUNDANT:
        return 0
    return PARITY.get(spec.type, 0) or geometry(spec, devices).copies - 1


def tolerates_failures(spec: LvmSpec, counts: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """By input: how many of its devices may fail without loss, whichever they are, and in words which and what then."""
    return _on(spec, counts.get("on", 0)) | _caches(spec, counts)


def _caches(spec: LvmSpec, counts: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """What is lost with a device of a cache."""
    if spec.writecache is not None:
        return {"writecache.on": (0, "no device: what was not written back is lost")}
    if spec.cache is None:
        return {}
    if spec.cache.mode == "writeback":
        return {"cache.on": (0, "no device: what was not written back is lost")}
    return {"cache.on": (counts.get("cache.on", 0), "the cache: the volume stops until it is taken off, nothing is lost")}


def write_path(spec: LvmSpec) -> tuple[WritePath, ...]:
    """What is written through the fast devices (drivers/md: dm-writecache.c, dm-cache-target.c).

    dm-cache takes a block in when it is worth it, not when it is written: other writes go past it, in every mode. In
    passthrough what it holds of a block that is written is only dropped. A full writecache lets writes past.
    """
    if spec.writecache is not None:
        return (WritePath("writecache.on", ("on",), "every write while it has room", large=True),)
    if spec.cache is not None and spec.cache.mode != "passthrough":
        return (WritePath("cache.on", ("on",), "every write to a block that it holds", large=False),)
    return ()


def _on(spec: LvmSpec, devices: int) -> dict[str, tuple[int, str]]:
    count = may_fail(spec, devices)
    if count == 0:
        why = "no device"
        if spec.type in REDUNDANT:
            why += ": with allocation anywhere, two images may be on one"
        return {"on": (0, why)}
    which = f"any {count} of the {devices} devices"
    if spec.type == "raid10":
        which += ", and more while every block keeps a copy"
    return {"on": (count, which)}


def cautions(spec: LvmSpec, below: Collection[str]) -> tuple[str, ...]:
    """Of volumes that show more than there is (lvmvdo(7), lvmthin(7))."""
    shown = (("VDO", spec.vdo), ("thin", spec.thin))
    return tuple(
        f"The {kind} volume shows {pool.virtual_size.text} of the space below it: writes that find no room there fail."
        for kind, pool in shown
        if pool is not None and (pool.virtual_size.percent or 0) > 100
    )
