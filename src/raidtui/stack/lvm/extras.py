"""Rules for checksums, caches and pools: combinations and values that Linux and LVM refuse.

Sources: lvmraid(7), lvmcache(7), lvmvdo(7), lvmthin(7); tried with lvcreate and lvconvert 2.03.31.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from raidtui.model.problem import Problem, Refusal
from raidtui.model.units import Size
from raidtui.stack.layer import layers_below
from raidtui.stack.lvm.cache import CACHE, WRITECACHE
from raidtui.stack.lvm.pool import LARGEST_BYTES, THIN_CHUNK, VDO
from raidtui.stack.lvm.spec import KIB, MIB, REDUNDANT, CacheSpec, LvmSpec, ThinSpec, VdoSpec, WritecacheSpec

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
INTEGRITY: Final = Refusal(
    "lvm-integrity",
    "Checksums are not possible",
    "dm-integrity finds wrong blocks; only raid1, raid4, raid5, raid6 and raid10 can repair them. A checksum covers "
    "512B, 1KiB, 2KiB or 4KiB.",
    "Choose one of these types, or remove integrity.",
)


def check(spec: LvmSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    """Yield the problems of checksums, caches and pools of this volume."""
    yield from _together(spec, place)
    yield from _integrity(spec, place)
    if spec.cache is not None:
        yield from _cache(spec.cache, counts, f"{place}.cache")
    if spec.writecache is not None:
        yield from _writecache(spec.writecache, counts, f"{place}.writecache")
    if spec.vdo is not None:
        yield from _vdo(spec.vdo, f"{place}.vdo")
        yield from _vdo_threads(spec.vdo, f"{place}.vdo")
        yield from _vdo_below(spec, place)
    if spec.thin is not None:
        yield from _thin(spec.thin, f"{place}.thin")
    if spec.mirror_log is not None and spec.type != "mirror":
        text = f"{spec.type} keeps no mirror log"
        yield MIRRORS.problem(text, place=f"{place}.mirror_log", remedy="Remove mirror_log: only the old mirror has one.")


def _together(spec: LvmSpec, place: str) -> Iterator[Problem]:
    """Check which features LVM allows on one volume: each pair was tried in both orders; tools/command-lines.in of LVM."""
    asked = [name for name in _ON_TOP if getattr(spec, name) is not None]
    for (first, second), reason in _NOT_TOGETHER.items():
        if first in asked and second in asked:
            remedy = f"Remove one of them, or put {second} into an lvm layer above."
            yield TOGETHER.problem(reason, place=f"{place}.{second}", remedy=remedy)
    for name in asked if spec.type == "mirror" else ():
        if name != "integrity":  # which says so itself
            text = f"an old mirror takes no {name}"
            yield TOGETHER.problem(text, place=f"{place}.{name}", remedy="Use raid1, which does.")


def _integrity(spec: LvmSpec, place: str) -> Iterator[Problem]:
    if spec.integrity is None:
        return
    at = f"{place}.integrity"
    if spec.type not in REDUNDANT or spec.type == "mirror":
        text = f"checksums need another copy or parity to mend from; {spec.type} is not raid1, 4, 5, 6 or 10"
        yield INTEGRITY.problem(text, place=at, remedy="Choose one of these types, or remove integrity.")
    size = spec.integrity.block_size
    if size is not None and size.bytes not in (512, 1 * KIB, 2 * KIB, 4 * KIB):
        text = f"checksums are of 512B, 1KiB, 2KiB or 4KiB, not of {size.text}"
        yield INTEGRITY.problem(text, place=f"{at}.block_size", remedy='Such as "4KiB".')


def _devices(counts: Mapping[str, int], name: str, place: str) -> Iterator[Problem]:
    if counts.get(f"{name}.on", 0) < 1:
        yield TOO_FEW.problem("a cache needs at least one device", place=f"{place}.on", remedy="Name a role.")


def _cache(cache: CacheSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    yield from _devices(counts, "cache", place)
    size = cache.chunk
    if size is not None and (size.bytes < 32 * KIB or size.bytes % (32 * KIB) or size.bytes > _GIB):
        text = f"a cache chunk of {size.text} is not a multiple of 32KiB up to 1GiB"
        yield CACHE.problem(text, place=f"{place}.chunk", remedy="Such as 64KiB or 256KiB.")
    if cache.policy == "cleaner" and cache.mode == "writeback":
        text = "the policy cleaner writes everything back and keeps nothing for writeback"
        yield CACHE.problem(text, place=f"{place}.policy", remedy="Use smq, or another mode.")
    elif cache.policy == "cleaner" and cache.kind == "cachevol":
        # Seen with LVM 2.03.31: what the kernel gets for a cachevol is always mq, which is smq.
        text = "LVM gives a cachevol the policy smq, whatever is asked for"
        yield CACHE.problem(text, place=f"{place}.policy", remedy='Use "kind": "pool", or smq.')
    threshold = cache.migration_threshold
    if threshold is not None and threshold.bytes % 512:
        text = f"a migration threshold of {threshold.text} is no whole number of sectors"
        yield CACHE.problem(text, place=f"{place}.migration_threshold", remedy="Such as 8MiB.")
    if threshold is not None and size is not None and threshold.bytes < 8 * size.bytes:
        text = f"a migration threshold of {threshold.text} is less than the 8 chunks that LVM asks for"
        yield CACHE.problem(text, place=f"{place}.migration_threshold", remedy="At least 8 times the chunk.")


def _writecache(cache: WritecacheSpec, counts: Mapping[str, int], place: str) -> Iterator[Problem]:
    yield from _devices(counts, "writecache", place)
    if cache.block_size is not None and cache.block_size.bytes not in (512, 4 * KIB):
        text = f"a writecache has blocks of 512B or 4KiB, not of {cache.block_size.text}"
        yield WRITECACHE.problem(text, place=f"{place}.block_size", remedy='Such as "4KiB".')
    high = cache.high_watermark if cache.high_watermark is not None else 50
    low = cache.low_watermark if cache.low_watermark is not None else 45
    if low > high:
        text = f"the low watermark of {low} % is above the high one of {high} %"
        at = "low_watermark" if cache.low_watermark is not None else "high_watermark"
        yield WRITECACHE.problem(text, place=f"{place}.{at}", remedy="Make low_watermark the smaller one.")


def _power_of_two(size: Size, least: int, most: int) -> bool:
    return least <= size.bytes <= most and not size.bytes & (size.bytes - 1)


def _vdo(vdo: VdoSpec, place: str) -> Iterator[Problem]:
    if vdo.slab_size is not None and not _power_of_two(vdo.slab_size, 128 * MIB, 32 * _GIB):
        text = f"a slab of {vdo.slab_size.text} is not a power of two from 128MiB to 32GiB"
        yield VDO.problem(text, place=f"{place}.slab_size", remedy="Such as 2GiB.")
    if vdo.index_memory is not None and not _index_memory(vdo.index_memory.bytes):
        text = f"an index memory of {vdo.index_memory.text} is not 256MiB, 512MiB, 768MiB or 1GiB to 1TiB in whole GiB"
        yield VDO.problem(text, place=f"{place}.index_memory", remedy="Such as 256MiB.")
    if vdo.virtual_size.bytes is not None and vdo.virtual_size.bytes > LARGEST_BYTES:
        yield VDO.problem("a VDO volume is at most 4PiB", place=f"{place}.virtual_size", remedy="Ask for less.")


def _vdo_threads(vdo: VdoSpec, place: str) -> Iterator[Problem]:
    """Repeat the checks that LVM makes before the kernel does (device_mapper/vdo/vdo_target.c, vdo_limits.h)."""
    zones = {name: 1 if (value := getattr(vdo, name)) is None else value for name in _ZONES}
    if 0 in zones.values() and any(zones.values()):
        name = next(name for name, value in zones.items() if value == 0)
        text = f"{name} is 0, and the others are not: VDO has threads of all three kinds, or one for all"
        yield VDO.problem(text, place=f"{place}.{name}", remedy=f"Set all of them to 0, or none: {', '.join(_ZONES)}.")
    least = max(DEFAULT_MAP_CACHE, (vdo.logical_threads or 1) * MAP_CACHE_OF_A_THREAD)
    if (cache := vdo.block_map_cache) is None:
        if least > DEFAULT_MAP_CACHE:
            text = f"{vdo.logical_threads} logical threads need {least // MIB}MiB of cache for the map of blocks"
            remedy = f'Add "block_map_cache": "{least // MIB}MiB", or ask for at most 8 threads.'
            yield VDO.problem(text, place=f"{place}.logical_threads", remedy=remedy)
        return
    if cache.bytes % MIB or not least <= cache.bytes < LARGEST_MAP_CACHE_BYTES:
        text = f"a cache of {cache.text} for the map of blocks is not whole MiB from {least // MIB}MiB to below 16TiB"
        yield VDO.problem(text, place=f"{place}.block_map_cache", remedy="At least 128MiB, and 16MiB per logical thread.")


def _vdo_below(spec: LvmSpec, place: str) -> Iterator[Problem]:
    """lvmvdo(7) supports no VDO over VDO, thin volumes or snapshots, wherever in the stack they are."""
    volumes = [options for kind, options in layers_below(spec.on.raw) if kind == "lvm"]
    for name, words in (("vdo", "another VDO volume"), ("thin", "a thin volume")):
        if any(volume.get(name) is not None for volume in volumes):
            text = f"VDO over {words} is not supported: the space of both would have to be watched at once"
            yield TOGETHER.problem(text, place=f"{place}.vdo", remedy=f"Remove vdo here, or {name} below.")


def _index_memory(size: int) -> bool:
    return size in (256 * MIB, 512 * MIB, 768 * MIB) or (size % _GIB == 0 and _GIB <= size <= LARGEST_INDEX_BYTES)


def _thin(thin: ThinSpec, place: str) -> Iterator[Problem]:
    size = thin.chunk
    if size is not None and (size.bytes < 64 * KIB or size.bytes % (64 * KIB) or size.bytes > _GIB):
        text = f"a thin chunk of {size.text} is not a multiple of 64KiB up to 1GiB"
        yield THIN_CHUNK.problem(text, place=f"{place}.chunk", remedy="Such as 64KiB or 1MiB.")
