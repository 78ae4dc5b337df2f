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
    CacheSpec,
    LvmSpec,
    ThinSpec,
    geometry,
    stripe_size_bytes,
)

_LVM: Final = "LVM's default"


def describe(spec: LvmSpec, counts: Mapping[str, int]) -> str:
    """Return a short description: `raid5 of 4, stripe 64KiB`."""
    devices = counts.get("on", 0)
    shape = geometry(spec, devices)
    parts: list[tuple[object, str]] = [
        (True, f"{spec.type} of {devices}"),
        (spec.type in STRIPED and shape.areas != devices, f"{shape.stripes} stripes"),
        (spec.mirrors is not None and shape.areas != devices, f"{spec.mirrors} mirrors"),
    ]
    if (size := stripe_size_bytes(spec)) is not None:
        parts.append((True, f"stripe {spec.stripe_size.text if spec.stripe_size else f'{size >> 10}KiB'}"))
    parts.append((spec.volumes > 1, f"{spec.volumes} volumes"))
    parts.append((spec.size.text != "100%", spec.size.text))
    parts.append((spec.allocation != "normal", f"allocation {spec.allocation}"))
    if spec.integrity is not None:
        parts.append((True, f"checksums by {spec.integrity.mode}"))
    if spec.cache is not None:
        parts.append((True, f"{spec.cache.mode} {'cache pool' if spec.cache.kind == 'pool' else 'cachevol'}"))
    parts.append((spec.writecache, "writecache"))
    if spec.vdo is not None:
        does = [name for name in ("compression", "deduplication") if getattr(spec.vdo, name)]
        parts.append((True, f"VDO with {' and '.join(does) or 'neither compression nor deduplication'}"))
    parts.append((spec.thin, "thin"))
    return ", ".join(text for present, text in parts if present)


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
        "volumes": ("1", "the whole group is one volume"),
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
    count, devices = may_fail(spec, counts.get("on", 0)), counts.get("on", 0)
    which = f"any {count} of the {devices} devices"
    if spec.type == "raid10":
        which += ", and more while every block keeps a copy"
    if count == 0:
        which = "no device"
        if spec.type in REDUNDANT:
            which += ": with allocation anywhere, two images may be on one"
    found = {"on": (count, which)}
    lost = 0, "no device: what was not written back is lost"
    if spec.writecache is not None:
        found["writecache.on"] = lost
    elif spec.cache is not None and spec.cache.mode == "writeback":
        found["cache.on"] = lost
    elif spec.cache is not None:
        kept = "the cache: the volume stops until it is taken off, nothing is lost"
        found["cache.on"] = counts.get("cache.on", 0), kept
    return found


def write_path(spec: LvmSpec) -> tuple[WritePath, ...]:
    """Return the writes that pass the fast devices (drivers/md: dm-writecache.c, dm-cache-target.c).

    dm-cache decides by use, not by writes, which blocks it holds: writes to other blocks go past it, in every mode. In
    passthrough a write only drops the block from the cache. A full writecache lets writes past.
    """
    if spec.writecache is not None:
        return (WritePath("writecache.on", ("on",), "every write while it has room", large=True),)
    if spec.cache is not None and spec.cache.mode != "passthrough":
        return (WritePath("cache.on", ("on",), "every write to a block that it holds", large=False),)
    return ()


def cautions(spec: LvmSpec, below: Collection[str]) -> tuple[str, ...]:
    """Warn of volumes whose virtual size exceeds their space (lvmvdo(7), lvmthin(7))."""
    shown = (("VDO", spec.vdo), ("thin", spec.thin))
    return tuple(
        f"The {kind} volume shows {pool.virtual_size.text} of the space below it: writes that find no room there fail."
        for kind, pool in shown
        if pool is not None and (pool.virtual_size.percent or 0) > 100
    )


_THIN_CHUNK_BYTES: Final = 64 * KIB
"""Default chunk of a pool that is not very large (lvmthin(7))."""


def amplifies(spec: LvmSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
    """Return the write amplification by input. LVM's own metadata and bits of bitmaps and mirror logs are not counted."""
    share, why = _volume_share(spec, counts.get("on", 0), writes)
    if spec.integrity is not None:
        # A journal takes everything once more; checksums are a page for each write at most (dm-integrity).
        low, high = bounds(share)
        times = 2.0 if spec.integrity.mode == "journal" else 1.0
        share = share._replace(low=low * times, high=high * times * (1 + PAGE_BYTES / writes.block_bytes))
        why += f", with checksums by {spec.integrity.mode}"
    if spec.thin is not None:
        share, why = _thin_share(spec.thin, share, writes), f"{why}, chunks of a thin pool zeroed once"
    if spec.vdo is not None:
        if writes.reducible and (spec.vdo.compression or spec.vdo.deduplication):
            unknown = share._replace(low=None, high=None)
            return Spread({"on": unknown}, "VDO makes less of what is written, by how much only the data tells")
        return Spread({"on": share._replace(high=None)}, f"{why}, and what VDO keeps of each block beside it")
    if spec.writecache is not None:
        return _written_back("writecache.on", share, why, writes)
    return Spread({"on": share}, why) if spec.cache is None else _cached(spec.cache, share, why, writes)


def _volume_share(spec: LvmSpec, devices: int, writes: Writes) -> tuple[Share, str]:
    shape, stripe = geometry(spec, devices), stripe_size_bytes(spec)
    if spec.type in PARITY:
        share = parity_share(writes, stripe or PAGE_BYTES, shape.stripes, shape.parity)
        return share, parity_words(share, shape.stripes, shape.parity)
    below = pieces(writes, stripe or writes.block_bytes, shape.stripes) if spec.type in STRIPED else writes
    words = f"{shape.copies} copies" if shape.copies > 1 else "striped, 1" if shape.stripes > 1 else "one by one, 1"
    return copies(shape.copies, below), words


def _thin_share(thin: ThinSpec, share: Share, writes: Writes) -> Share:
    """Return the share below a thin pool: a chunk that is not written whole is zeroed once, before it is allocated.

    Each flush writes metadata of the pool.
    """
    _, high = bounds(share)
    if writes.syncs:
        return share._replace(high=None)
    chunk = thin.chunk.bytes if thin.chunk is not None else _THIN_CHUNK_BYTES
    if not thin.zero or writes.block_bytes >= chunk:
        return share
    return share._replace(high=high * (1 + chunk / writes.block_bytes))


def _written_back(cache: str, share: Share, why: str, writes: Writes) -> Spread:
    """Return the shares with a cache that takes writes first: blocks that are overwritten there are not written back.

    Each flush writes metadata of the cache as well.
    """
    front = Share(1.0, None if writes.syncs else 1.0, writes, keeps=False)
    later = share._replace(low=0.0, reads_low=0.0)
    return Spread({"on": later, cache: front}, f"into the cache, then as it is below: {why}")


def _cached(cache: CacheSpec, share: Share, why: str, writes: Writes) -> Spread:
    """Return the shares with dm-cache, which takes writes only to blocks that it holds; loading a chunk is not counted."""
    if cache.mode == "passthrough":
        return Spread({"on": share, "cache.on": Share(0.0, 0.0, writes, keeps=False)}, f"past the cache: {why}")
    if cache.mode == "writethrough":
        front = Share(0.0, None if writes.syncs else 1.0, writes, keeps=False)
        return Spread({"on": share, "cache.on": front}, f"{why}, and once into the cache where it holds the block")
    # The least is a hit that is never written back, the most one that is; a miss, which goes past the cache, is between.
    return _written_back("cache.on", share, why, writes)
