"""Description of a volume in words: its options, its defaults, the failures that it tolerates, its write amplification.

Sources of the amplification: lvmraid(7), lvmcache(7), lvmvdo(7), lvmthin(7); the kernel's
Documentation/admin-guide/device-mapper/: dm-raid.rst, dm-integrity.rst, cache.rst, writecache.rst, thin-provisioning.rst,
vdo-design.rst. dm-raid is md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from raidtui.stack.amplification import (
    PAGE_BYTES,
    Share,
    Spread,
    Writes,
    bounds,
    copies,
    parity_share,
    parity_words,
    pieces,
)
from raidtui.stack.layer import WritePath
from raidtui.stack.lvm.spec import (
    DEFAULT_STRIPE_BYTES,
    KIB,
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
    """Return the default of each optional field, with the reason."""
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
    """Return the number of arbitrary devices that may fail without data loss."""
    if spec.allocation == "anywhere" or spec.type not in REDUNDANT:
        return 0
    return PARITY.get(spec.type, 0) or geometry(spec, devices).copies - 1


def tolerates_failures(spec: LvmSpec, counts: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """Return for each input the number of devices that may fail without data loss, and a sentence about it."""
    return _on(spec, counts.get("on", 0)) | _caches(spec, counts)


def _caches(spec: LvmSpec, counts: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """Return the same for the devices of a cache."""
    if spec.writecache is not None:
        return {"writecache.on": (0, "no device: what was not written back is lost")}
    if spec.cache is None:
        return {}
    if spec.cache.mode == "writeback":
        return {"cache.on": (0, "no device: what was not written back is lost")}
    return {"cache.on": (counts.get("cache.on", 0), "the cache: the volume stops until it is taken off, nothing is lost")}


def write_path(spec: LvmSpec) -> tuple[WritePath, ...]:
    """Return the writes that pass the fast devices (drivers/md: dm-writecache.c, dm-cache-target.c).

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
    """Warn of volumes whose virtual size exceeds their space (lvmvdo(7), lvmthin(7))."""
    shown = (("VDO", spec.vdo), ("thin", spec.thin))
    return tuple(
        f"The {kind} volume shows {pool.virtual_size.text} of the space below it: writes that find no room there fail."
        for kind, pool in shown
        if pool is not None and (pool.virtual_size.percent or 0) > 100
    )


_THIN_CHUNK_BYTES = 64 * KIB
"""lvmthin(7): where nothing is said, on a pool that is not very large."""


def amplifies(spec: LvmSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
    """LVM's own metadata, and bits of bitmaps and mirror logs, are not counted: they are few."""
    share, why = _volume_share(spec, counts.get("on", 0), writes)
    if spec.integrity is not None:
        share, why = _integrity_share(spec, share, writes), f"{why}, with checksums by {spec.integrity.mode}"
    if spec.thin is not None:
        share, why = _thin_share(spec, share, writes), f"{why}, chunks of a thin pool zeroed once"
    if spec.vdo is not None:
        return _vdo_share(spec, share, why, writes)
    if spec.writecache is not None:
        return _written_back("writecache.on", share, why, writes)
    if spec.cache is not None:
        return _cache_share(spec, share, why, writes)
    return Spread({"on": share}, why)


def _volume_share(spec: LvmSpec, devices: int, writes: Writes) -> tuple[Share, str]:
    shape, stripe = geometry(spec, devices), stripe_size_bytes(spec)
    if spec.type in PARITY:
        share = parity_share(writes, stripe or PAGE_BYTES, shape.stripes, shape.parity)
        return share, parity_words(share, shape.stripes, shape.parity)
    below = pieces(writes, stripe or writes.block_bytes, shape.stripes) if spec.type in STRIPED else writes
    words = f"{shape.copies} copies" if shape.copies > 1 else "striped, 1" if shape.stripes > 1 else "one by one, 1"
    return copies(shape.copies, below), words


def _integrity_share(spec: LvmSpec, share: Share, writes: Writes) -> Share:
    """dm-integrity: a journal takes everything once more; checksums are a page for each write at most."""
    assert spec.integrity is not None
    low, high = bounds(share)
    times = 2.0 if spec.integrity.mode == "journal" else 1.0
    tags = PAGE_BYTES / writes.block_bytes
    return share._replace(low=low * times, high=high * times * (1 + tags))


def _thin_share(spec: LvmSpec, share: Share, writes: Writes) -> Share:
    """A chunk that is not written whole is zeroed before it is given, once. Each flush writes metadata of the pool."""
    assert spec.thin is not None
    low, high = bounds(share)
    if writes.syncs:
        return share._replace(high=None)
    chunk = spec.thin.chunk.bytes if spec.thin.chunk is not None else _THIN_CHUNK_BYTES
    if not spec.thin.zero or writes.block_bytes >= chunk:
        return share
    return share._replace(low=low, high=high * (1 + chunk / writes.block_bytes))


def _vdo_share(spec: LvmSpec, share: Share, why: str, writes: Writes) -> Spread:
    assert spec.vdo is not None
    if writes.reducible and (spec.vdo.compression or spec.vdo.deduplication):
        unknown = share._replace(low=None, high=None)
        return Spread({"on": unknown}, "VDO makes less of what is written, by how much only the data tells")
    return Spread({"on": share._replace(high=None)}, f"{why}, and what VDO keeps of each block beside it")


def _written_back(cache: str, share: Share, why: str, writes: Writes) -> Spread:
    """Into the cache first; what is there long enough is written back, what is overwritten before is not. Each flush
    writes metadata of the cache, too."""
    front = Share(1.0, None if writes.syncs else 1.0, writes, keeps=False)
    later = share._replace(low=0.0, reads_low=0.0)
    return Spread({"on": later, cache: front}, f"into the cache, then as it is below: {why}")


def _cache_share(spec: LvmSpec, share: Share, why: str, writes: Writes) -> Spread:
    """dm-cache: only blocks that it holds go into it. Blocks that it takes in, a chunk each, are not counted."""
    assert spec.cache is not None
    if spec.cache.mode == "passthrough":
        return Spread({"on": share, "cache.on": Share(0.0, 0.0, writes, keeps=False)}, f"past the cache: {why}")
    if spec.cache.mode == "writethrough":
        front = Share(0.0, None if writes.syncs else 1.0, writes, keeps=False)
        return Spread({"on": share, "cache.on": front}, f"{why}, and once into the cache where it holds the block")
    # The least is a hit that is never written back, the most one that is. A miss lies between: it goes by.
    return _written_back("cache.on", share, why, writes)
