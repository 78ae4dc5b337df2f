"""Caches on faster devices: dm-cache (cachevol or pool) and dm-writecache, in the group of the volume that they serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.model.units import size_text
from raidtui.stack.lvm.commands import UNSEEN, flat, limits, lvcreate_argv
from raidtui.stack.lvm.group import Cache, LvmGroup
from raidtui.stack.lvm.read_back import Row, compare, kernel_options, size_differences
from raidtui.stack.lvm.size import TOO_SMALL
from raidtui.stack.lvm.spec import KIB, MIB, CacheSpec, LvmSpec, extent_bytes
from raidtui.stack.read_back import Difference

FAST: Final = "fast"
MOST_CHUNKS: Final = 1_000_000
"""allocation/cache_pool_max_chunks."""
DEFAULT_CHUNK_BYTES: Final = 64 * KIB
DEFAULT_BLOCK_BYTES: Final = 4 * KIB
_METADATA_BYTES: Final = 8 * MIB
_SECTOR: Final = 512
_WRITECACHE_NUMBERS: Final = ("high_watermark", "low_watermark", "writeback_jobs", "autocommit_blocks")
_ALIASES: Final = {"mq": "smq"}
"""One policy under two names (cache-policies.rst); LVM tells the kernel now one, now the other."""

CACHE: Final = Refusal(
    "lvm-cache",
    "Wrong option of a cache",
    "A chunk is a multiple of 32KiB up to 1GiB, the migration threshold at least 8 chunks. The policy cleaner needs a"
    " pool, and a mode other than writeback.",
    "Leave the options out: LVM's defaults are a good start.",
)
WRITECACHE: Final = Refusal(
    "lvm-writecache",
    "Wrong option of a writecache",
    "A block has 512B or 4KiB, and the low watermark is below the high one.",
    "Leave the options out: the kernel's defaults are a good start.",
)


def cache_of(spec: LvmSpec, free: Sequence[int]) -> Cache | None:
    """Return the cache of this volume on fast devices with so many free extents; None if the scenario has none.

    Raises ProblemError (`lvm-too-small`, `lvm-cache`).
    """
    wanted = spec.cache or spec.writecache
    if wanted is None:
        return None
    extent = extent_bytes(spec)
    most = sum(free)
    extents = -(-wanted.size.bytes // extent) if wanted.size.bytes is not None else wanted.size.of(most)
    chunk = chunk_bytes(spec.cache, extents * extent) if spec.cache is not None else None
    metadata = 0
    if spec.cache is not None and spec.cache.kind == "pool":
        metadata = -(-(_METADATA_BYTES + 32 * (extents * extent // (chunk or 1))) // extent)
        extents -= metadata if wanted.size.bytes is None else 0
    asked = spec.cache is not None and spec.cache.chunk is not None
    least = 2 * _METADATA_BYTES + (0 if asked else chunk or 0)
    if extents < 1 or extents + metadata > most or extents * extent < least:
        raise fail(TOO_SMALL, f"there is room for {most} extents of {extent >> 10} KiB on the fast devices, which is "
                   f"not enough for the cache", place="lvm.cache" if spec.cache else "lvm.writecache",
                   remedy="Bind larger disks, or ask for a smaller cache.", exit=Exit.USAGE)  # fmt: skip
    if chunk is not None and chunk + 2 * _METADATA_BYTES > extents * extent:
        text = f"a cache of {size_text(extents * extent)} has no room for metadata and one chunk of {size_text(chunk)}"
        raise fail(CACHE, text, place="lvm.cache.chunk", remedy="Ask for a smaller chunk.", exit=Exit.USAGE)
    if chunk is not None and extents * extent > chunk * MOST_CHUNKS:
        text = f"a cache of {size_text(extents * extent)} in chunks of {size_text(chunk)} is more than {MOST_CHUNKS}"
        raise fail(CACHE, text, place="lvm.cache.chunk", exit=Exit.USAGE,
                   remedy="Ask for a larger chunk or a smaller cache, or leave chunk out.")  # fmt: skip
    size_bytes, metadata_bytes = extents * extent, metadata * extent
    if isinstance(wanted, CacheSpec):
        threshold = wanted.migration_threshold
        settings = {} if threshold is None else {"migration_threshold": threshold.bytes // _SECTOR}
        return Cache(size_bytes, metadata_bytes, chunk, wanted.kind, settings, wanted.mode, wanted.policy)
    settings = {name: value for name in _WRITECACHE_NUMBERS if (value := getattr(wanted, name)) is not None}
    block = wanted.block_size.bytes if wanted.block_size is not None else DEFAULT_BLOCK_BYTES
    return Cache(size_bytes, metadata_bytes, None, "writecache", settings, block_bytes=block)


def chunk_bytes(cache: CacheSpec, size_bytes: int) -> int:
    """Return the requested chunk, or the smallest one with at most `MOST_CHUNKS` chunks."""
    if cache.chunk is not None:
        return cache.chunk.bytes
    chunk = DEFAULT_CHUNK_BYTES
    while size_bytes > chunk * MOST_CHUNKS:
        chunk *= 2
    return chunk


def cache_answers(cache: Cache) -> str:
    """Return the answers to the questions of the conversion.

    LVM asks if the new cache may be erased; then if writeback, or a writecache's block size and use of memory, are meant.
    """
    count = {"writecache": 3, "pool": 1}.get(cache.kind, 2 if cache.mode == "writeback" else 1)
    return "\n".join("y" * count)


def cache_argvs(vg: LvmGroup, cache: Cache, on: Sequence[str], paths: Sequence[str]) -> tuple[Argv, Argv]:
    """Return the commands that create the fast volume and attach it to the volume with the data."""
    common = limits(paths)
    extra = {"--type": "linear", "--alloc": "normal", **UNSEEN}
    convert = {"--cachevol": f"{vg.name}/{FAST}"}
    if cache.kind == "pool":
        extra = {"--type": "cache-pool", "--poolmetadatasize": f"{cache.metadata_bytes >> 10}K",
                 "--poolmetadataspare": "n", "--chunksize": f"{(cache.chunk_bytes or 0) >> 10}K",
                 "--cachemode": cache.mode}  # fmt: skip
        convert = {"--cachepool": f"{vg.name}/{FAST}"}
    options = {"--type": "writecache" if cache.kind == "writecache" else "cache", **convert}
    if cache.kind != "writecache":
        options |= {"--cachemode": cache.mode, "--cachepolicy": cache.policy}
    if cache.kind == "cachevol":
        options["--chunksize"] = f"{(cache.chunk_bytes or 0) >> 10}K"
    attach = ("lvm", "lvconvert", *flat(options), *_cache_settings(cache), f"{vg.name}/{vg.volume.name}", *flat(common))
    return lvcreate_argv(FAST, cache.size_bytes, vg.name, on, {**extra, **common}), attach


def _cache_settings(cache: Cache) -> tuple[str, ...]:
    settings = cache.settings
    if cache.kind == "writecache":
        settings = {"block_size": cache.block_bytes, **settings}
    return tuple(word for name, value in settings.items() for word in ("--cachesettings", f"{name}={value}"))


def cache_differences(vg: LvmGroup, cache: Cache, volumes: dict[str, Row], top: str, missing: int) -> list[Difference]:
    """Return the differences of the cache of volume `top` from the plan, by LVM's report and by the kernel's table."""
    volume = volumes.get(top, {})
    known = kernel_options(vg.name, top)
    if cache.kind == "writecache":
        wrong = compare({"segtype": "writecache", "writecache_block_size": str(cache.block_bytes)}, volume, top)
        holder = f"{FAST}_cvol"
    else:
        asked = {"segtype": "cache", "cache_mode": cache.mode, "cache_policy": cache.policy,
                 "chunk_size": str(cache.chunk_bytes)}  # fmt: skip
        wrong = compare(asked, volume, top)
        policy = volume.get("kernel_cache_policy")
        if _ALIASES.get(cache.policy, cache.policy) != _ALIASES.get(policy or "", policy):
            wrong.append(Difference(f"{top} kernel_cache_policy", cache.policy, policy))
        holder = f"{FAST}_cvol" if cache.kind == "cachevol" else f"{FAST}_cpool_cdata"
        if cache.mode not in known:
            wrong.append(Difference(f"{top} mode in the kernel", cache.mode, " ".join(known)))
    fast = volumes.get(holder, {})
    wrong += compare({"segtype": "linear"}, fast, holder)
    wrong += size_differences(vg, f"{holder} lv_size", cache.size_bytes, fast.get("lv_size"), missing)
    for name, value in cache.settings.items():
        if f"{name} {value}" not in " ".join(known):
            wrong.append(Difference(f"{top} {name}", value, " ".join(known)))
    return wrong
