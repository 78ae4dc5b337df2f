"""Rules of LVM and Linux that are checked when a scenario is read.

Sources: lvcreate(8), lvmraid(7), lvmcache(7), lvmvdo(7), lvmthin(7), tools/lvcreate.c; tried with lvcreate and lvconvert
2.03.31.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from raidtui.model.problem import Problem, Refusal
from raidtui.model.units import Size
from raidtui.stack.layer import layers_below
from raidtui.stack.lvm.cache import CACHE, WRITECACHE
from raidtui.stack.lvm.pool import LARGEST_BYTES, THIN_CHUNK, VDO
from raidtui.stack.lvm.size import EXTENT_SIZE, REGION_SIZE
from raidtui.stack.lvm.spec import (
    IMAGED,
    KIB,
    MIB,
    MIRRORED,
    PARITY,
    REDUNDANT,
    STRIPED,
    LvmSpec,
    extent_bytes,
    geometry,
    stripe_size_bytes,
)

LEAST_STRIPES: Final = {"striped": 2, "raid0": 2, "raid4": 2, "raid5": 2, "raid6": 3, "raid10": 2}
"""LVM makes a linear volume of a stripe over one device, and refuses the others."""
MOST_IMAGES: Final = 64
"""allocation/raid_max_images, where lvm.conf does not say otherwise."""
MOST_MIRROR_IMAGES: Final = 8
SMALLEST_STRIPE: Final = 4 * KIB
LARGEST_EXTENT: Final = 1 << 30
ODD_EXTENT: Final = 128 * KIB
"""Unit of extents that are no power of two (vgcreate(8); MIN_NON_POWER2_EXTENT_SIZE in lib/metadata). The kernel refuses
stripes that do not divide them (drivers/md/dm-stripe.c).
"""

TOO_MANY: Final = Refusal(
    "lvm-too-many",
    "Too many devices",
    "A volume with redundancy has at most 64 images, an old mirror at most 8.",
    "Lower the count of the role, or ask for fewer stripes or mirrors.",
)
STRIPES: Final = Refusal(
    "lvm-stripes",
    "Wrong number of stripes",
    "linear, raid1 and mirror do not stripe; raid6 needs at least 3 stripes beside its parity, the others 2.",
    "Leave stripes out: the volume then has as many as the devices allow.",
)
STRIPE_SIZE: Final = Refusal(
    "lvm-stripe-size",
    "Wrong stripe size",
    "A stripe size is a power of two from 4KiB up to the size of an extent.",
    'Write something like "64KiB", or leave stripe_size out.',
)
_GIB: Final = 1 << 30
LARGEST_INDEX_BYTES: Final = 1 << 40
LARGEST_MAP_CACHE_BYTES: Final = 16 << 40
MAP_CACHE_OF_A_THREAD: Final = 16 * MIB
"""2 × MAXIMUM_VDO_USER_VIOS blocks of 4 KiB (drivers/md/dm-vdo/dm-vdo-target.c)."""
DEFAULT_MAP_CACHE: Final = 128 * MIB
"""allocation/vdo_block_map_cache_size_mb of lvm.conf, and the least that it takes."""
_ON_TOP: Final = ("integrity", "cache", "writecache", "vdo", "thin")
_NOT_TOGETHER: Final = {
    ("cache", "writecache"): "LVM puts no second cache on a volume that has one",
    ("writecache", "vdo"): "LVM makes no VDO pool of a volume with a writecache",
    ("integrity", "vdo"): "LVM makes no VDO pool of a volume with checksums",
    ("integrity", "thin"): "LVM makes no thin pool of a volume with checksums",
}
_ZONES: Final = ("hash_zone_threads", "logical_threads", "physical_threads")

MIRRORS: Final = Refusal(
    "lvm-mirrors",
    "Wrong number of mirrors",
    "Only raid1, raid10 and mirror keep copies, and raid10 exactly one beside the original.",
    "Leave mirrors out, or choose one of these types.",
)
TOO_FEW: Final = Refusal(
    "lvm-too-few",
    "Too few devices",
    "Stripes, copies and parity of one row each need a separate device. LVM needs at least 2 devices for striped, "
    "raid0, raid1 and mirror, 3 for raid4 and raid5, 5 for raid6, 4 for raid10.",
    "Raise the count of the role, ask for fewer stripes or mirrors, or choose another type.",
)
TOGETHER: Final = Refusal(
    "lvm-together",
    "Options exclude each other",
    "LVM puts only one cache on a volume, makes no VDO pool of a volume with a writecache and no pool of a volume "
    "with checksums. An old mirror supports none of them. VDO does not support VDO, thin volumes or snapshots below "
    "it.",
    "Remove one of them, or put it into an lvm layer above.",
)
VOLUMES: Final = Refusal(
    "lvm-volumes",
    "Several volumes with what only one can have",
    "A group can be divided into several plain volumes. Caches, pools and checksums are built for one volume.",
    'Remove "volumes", or the option that the message names.',
)
INTEGRITY: Final = Refusal(
    "lvm-integrity",
    "Checksums are not possible",
    "dm-integrity finds wrong blocks; only raid1, raid4, raid5, raid6 and raid10 can repair them. A checksum covers "
    "512B, 1KiB, 2KiB or 4KiB.",
    "Choose one of these types, or remove integrity.",
)


def check(spec: LvmSpec, counts: Mapping[str, int], place: str) -> list[Problem]:
    """Return the problems of this volume, given the number of devices of each input."""
    found = (
        _devices(spec, counts.get("on", 0)), _stripes(spec), _mirrors(spec), _extents(spec), _regions(spec),
        _together(spec), _integrity(spec), _cache(spec, counts), _writecache(spec, counts), _vdo(spec), _vdo_threads(spec),
        _thin(spec), _volumes(spec),
    )  # fmt: skip
    return [
        refusal.problem(message, place=f"{place}.{option}", remedy=remedy)
        for refusal, message, option, remedy in chain.from_iterable(found)
    ]


Found = Iterator[tuple[Refusal, str, str, str]]
"""Refusal, message, option and remedy of each problem."""


def _devices(spec: LvmSpec, count: int) -> Found:
    shape = geometry(spec, count)
    copies = max(2, 1 + (spec.mirrors or 1)) if spec.type in MIRRORED else 1
    needed = max(shape.areas, LEAST_STRIPES.get(spec.type, 1) * copies + PARITY.get(spec.type, 0))
    if count < needed:
        asked = [f"{value} {name}" for name in ("stripes", "mirrors") if (value := getattr(spec, name)) is not None]
        options = f" with {' and '.join(asked)}" if asked else ""
        text = f"{spec.type}{options} needs at least {needed} devices; there are {count}"
        yield TOO_FEW, text, "on", "Give its role more disks, or choose another type."
    most = MOST_MIRROR_IMAGES if spec.type == "mirror" else MOST_IMAGES
    if spec.type in IMAGED and shape.areas > most:
        text = f"{spec.type} takes at most {most} devices; this one would take {shape.areas}"
        yield TOO_MANY, text, "on", "Give its role fewer disks, or ask for fewer stripes or mirrors."


def _volumes(spec: LvmSpec) -> Found:
    if spec.volumes > 1 and (found := [name for name in _ON_TOP if getattr(spec, name) is not None]):
        text = f"{spec.volumes} volumes cannot have {found[0]}"
        yield VOLUMES, text, "volumes", f"Remove volumes or {found[0]}."


def _stripes(spec: LvmSpec) -> Found:
    if spec.type not in STRIPED:
        for name in ("stripes", "stripe_size"):
            if getattr(spec, name) is not None:
                text = f"{spec.type} does not stripe and has no {name}"
                yield STRIPES, text, name, f"Remove {name}, or choose a type that stripes."
        return
    if spec.stripes is not None and spec.stripes < (least := LEAST_STRIPES[spec.type]):
        text = f"{spec.type} needs at least {least} stripes, not {spec.stripes}"
        yield STRIPES, text, "stripes", "Use linear or raid1 where there is nothing to stripe over."
    if (size := spec.stripe_size) is None:
        return
    if size.bytes < SMALLEST_STRIPE or size.bytes & (size.bytes - 1):
        text = f"a stripe size of {size.text} is not a power of two from 4KiB on"
        yield STRIPE_SIZE, text, "stripe_size", "Such as 64KiB or 256KiB."
    elif size.bytes > extent_bytes(spec):
        text = f"a stripe size of {size.text} is larger than an extent"
        yield STRIPE_SIZE, text, "stripe_size", "Choose a smaller one, or a larger extent_size."


def _mirrors(spec: LvmSpec) -> Found:
    if spec.mirrors is not None and spec.type not in MIRRORED:
        text = f"{spec.type} keeps no copies and has no mirrors"
        yield MIRRORS, text, "mirrors", "Remove mirrors, or choose raid1, raid10 or mirror."
    if spec.type == "raid10" and spec.mirrors not in (None, 1):
        text = f"LVM's raid10 keeps one copy beside the original, not {spec.mirrors}"
        yield MIRRORS, text, "mirrors", "Remove mirrors; raid1 takes more, and md raid10 too."
    if spec.mirror_log is not None and spec.type != "mirror":
        text = f"{spec.type} keeps no mirror log"
        yield MIRRORS, text, "mirror_log", "Remove mirror_log: only the old mirror has one."


def _extents(spec: LvmSpec) -> Found:
    extent, stripe = extent_bytes(spec), stripe_size_bytes(spec) or 1
    odd = extent & (extent - 1) != 0
    if not MIB <= extent <= LARGEST_EXTENT or (odd and extent % ODD_EXTENT):
        text = f"an extent of {extent >> 10} KiB is neither a power of two nor a multiple of 128KiB, from 1MiB to 1GiB"
        yield EXTENT_SIZE, text, "extent_size", "Such as 4MiB."
    elif odd and spec.type == "mirror":
        text = "regions of an old mirror do not fill extents that are no power of two"
        yield EXTENT_SIZE, text, "extent_size", "Use raid1, or such as 4MiB."
    elif odd and not stripe & (stripe - 1) and extent % stripe:
        text = f"an extent of {extent >> 10} KiB is no whole number of stripes of {stripe >> 10} KiB"
        yield EXTENT_SIZE, text, "extent_size", "Choose a smaller stripe_size, or another extent_size."


def _regions(spec: LvmSpec) -> Found:
    if (region := spec.region_size) is None:
        return
    text = f"a region size of {region.text} is"
    if spec.type not in REDUNDANT:
        yield REGION_SIZE, f"{spec.type} has nothing to resync and no regions", "region_size", "Remove region_size."
    elif not _power_of_two(region, 4 * KIB, LARGEST_EXTENT):
        yield REGION_SIZE, f"{text} not a power of two from 4KiB to 1GiB", "region_size", "Such as 2MiB."
    elif region.bytes < (stripe_size_bytes(spec) or 0):
        yield REGION_SIZE, f"{text} smaller than a stripe", "region_size", "At least the stripe size."


def _power_of_two(size: Size, least: int, most: int) -> bool:
    return least <= size.bytes <= most and not size.bytes & (size.bytes - 1)


def _together(spec: LvmSpec) -> Found:
    """Check which features LVM allows on one volume: each pair was tried in both orders; tools/command-lines.in of LVM."""
    asked = [name for name in _ON_TOP if getattr(spec, name) is not None]
    for (first, second), reason in _NOT_TOGETHER.items():
        if first in asked and second in asked:
            yield TOGETHER, reason, second, f"Remove one of them, or put {second} into an lvm layer above."
    for name in asked if spec.type == "mirror" else ():
        if name != "integrity":  # refused by its own rule
            yield TOGETHER, f"an old mirror takes no {name}", name, "Use raid1, which does."
    # lvmvdo(7) supports no VDO over VDO, thin volumes or snapshots, wherever in the stack they are.
    volumes = [options for kind, options in layers_below(spec.on.raw) if kind == "lvm"] if spec.vdo is not None else []
    for name, words in (("vdo", "another VDO volume"), ("thin", "a thin volume")):
        if any(volume.get(name) is not None for volume in volumes):
            text = f"VDO over {words} is not supported: the space of both would have to be watched at once"
            yield TOGETHER, text, "vdo", f"Remove vdo here, or {name} below."


def _integrity(spec: LvmSpec) -> Found:
    if spec.integrity is None:
        return
    if spec.type not in REDUNDANT or spec.type == "mirror":
        text = f"checksums need another copy or parity to mend from; {spec.type} is not raid1, 4, 5, 6 or 10"
        yield INTEGRITY, text, "integrity", "Choose one of these types, or remove integrity."
    size = spec.integrity.block_size
    if size is not None and not _power_of_two(size, 512, 4 * KIB):
        text = f"checksums are of 512B, 1KiB, 2KiB or 4KiB, not of {size.text}"
        yield INTEGRITY, text, "integrity.block_size", 'Such as "4KiB".'


def _cache(spec: LvmSpec, counts: Mapping[str, int]) -> Found:
    if (cache := spec.cache) is None:
        return
    if counts.get("cache.on", 0) < 1:
        yield TOO_FEW, "a cache needs at least one device", "cache.on", "Name a role."
    size, threshold = cache.chunk, cache.migration_threshold
    if size is not None and (size.bytes < 32 * KIB or size.bytes % (32 * KIB) or size.bytes > _GIB):
        text = f"a cache chunk of {size.text} is not a multiple of 32KiB up to 1GiB"
        yield CACHE, text, "cache.chunk", "Such as 64KiB or 256KiB."
    if cache.policy == "cleaner" and cache.mode == "writeback":
        text = "the policy cleaner writes everything back and keeps nothing for writeback"
        yield CACHE, text, "cache.policy", "Use smq, or another mode."
    elif cache.policy == "cleaner" and cache.kind == "cachevol":
        # With LVM 2.03.31 the kernel always gets mq, which is smq, for a cachevol.
        text = "LVM gives a cachevol the policy smq, whatever is asked for"
        yield CACHE, text, "cache.policy", 'Use "kind": "pool", or smq.'
    if threshold is not None and threshold.bytes % 512:
        text = f"a migration threshold of {threshold.text} is no whole number of sectors"
        yield CACHE, text, "cache.migration_threshold", "Such as 8MiB."
    if threshold is not None and size is not None and threshold.bytes < 8 * size.bytes:
        text = f"a migration threshold of {threshold.text} is less than the 8 chunks that LVM asks for"
        yield CACHE, text, "cache.migration_threshold", "At least 8 times the chunk."


def _writecache(spec: LvmSpec, counts: Mapping[str, int]) -> Found:
    if (cache := spec.writecache) is None:
        return
    if counts.get("writecache.on", 0) < 1:
        yield TOO_FEW, "a cache needs at least one device", "writecache.on", "Name a role."
    if cache.block_size is not None and cache.block_size.bytes not in (512, 4 * KIB):
        text = f"a writecache has blocks of 512B or 4KiB, not of {cache.block_size.text}"
        yield WRITECACHE, text, "writecache.block_size", 'Such as "4KiB".'
    high = cache.high_watermark if cache.high_watermark is not None else 50
    low = cache.low_watermark if cache.low_watermark is not None else 45
    if low > high:
        text = f"the low watermark of {low} % is above the high one of {high} %"
        name = "low_watermark" if cache.low_watermark is not None else "high_watermark"
        yield WRITECACHE, text, f"writecache.{name}", "Make low_watermark the smaller one."


def _vdo(spec: LvmSpec) -> Found:
    if (vdo := spec.vdo) is None:
        return
    if vdo.slab_size is not None and not _power_of_two(vdo.slab_size, 128 * MIB, 32 * _GIB):
        text = f"a slab of {vdo.slab_size.text} is not a power of two from 128MiB to 32GiB"
        yield VDO, text, "vdo.slab_size", "Such as 2GiB."
    if (memory := vdo.index_memory) is not None:
        in_gib = memory.bytes % _GIB == 0 and _GIB <= memory.bytes <= LARGEST_INDEX_BYTES
        if not in_gib and memory.bytes not in (256 * MIB, 512 * MIB, 768 * MIB):
            text = f"an index memory of {memory.text} is not 256MiB, 512MiB, 768MiB or 1GiB to 1TiB in whole GiB"
            yield VDO, text, "vdo.index_memory", "Such as 256MiB."
    if vdo.virtual_size.bytes is not None and vdo.virtual_size.bytes > LARGEST_BYTES:
        yield VDO, "a VDO volume is at most 4PiB", "vdo.virtual_size", "Ask for less."


def _vdo_threads(spec: LvmSpec) -> Found:
    """Repeat the checks that LVM makes before the kernel does (device_mapper/vdo/vdo_target.c, vdo_limits.h)."""
    if (vdo := spec.vdo) is None:
        return
    zones = {name: 1 if (value := getattr(vdo, name)) is None else value for name in _ZONES}
    if 0 in zones.values() and any(zones.values()):
        name = next(name for name, value in zones.items() if value == 0)
        text = f"{name} is 0, and the others are not: VDO has threads of all three kinds, or one for all"
        yield VDO, text, f"vdo.{name}", f"Set all of them to 0, or none: {', '.join(_ZONES)}."
    least = max(DEFAULT_MAP_CACHE, (vdo.logical_threads or 1) * MAP_CACHE_OF_A_THREAD)
    cache = vdo.block_map_cache
    if cache is None and least > DEFAULT_MAP_CACHE:
        text = f"{vdo.logical_threads} logical threads need {least // MIB}MiB of cache for the map of blocks"
        remedy = f'Add "block_map_cache": "{least // MIB}MiB", or ask for at most 8 threads.'
        yield VDO, text, "vdo.logical_threads", remedy
    if cache is not None and (cache.bytes % MIB or not least <= cache.bytes < LARGEST_MAP_CACHE_BYTES):
        text = f"a cache of {cache.text} for the map of blocks is not whole MiB from {least // MIB}MiB to below 16TiB"
        yield VDO, text, "vdo.block_map_cache", "At least 128MiB, and 16MiB per logical thread."


def _thin(spec: LvmSpec) -> Found:
    size = spec.thin.chunk if spec.thin is not None else None
    if size is not None and (size.bytes < 64 * KIB or size.bytes % (64 * KIB) or size.bytes > _GIB):
        text = f"a thin chunk of {size.text} is not a multiple of 64KiB up to 1GiB"
        yield THIN_CHUNK, text, "thin.chunk", "Such as 64KiB or 1MiB."
