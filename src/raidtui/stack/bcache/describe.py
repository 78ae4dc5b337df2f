"""Descriptions of a bcache device: text, defaults, tolerated failures, write amplification and write path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.model.units import Size
from raidtui.stack.amplification import Share, Spread, Writes
from raidtui.stack.bcache.spec import DEFAULT_BUCKET_BYTES, KIB, BcacheSpec
from raidtui.stack.layer import EVERY_WRITE, WritePath

_KERNEL: Final = "the kernel's default"
DEFAULT_CUTOFF: Final = Size("4MiB")
"""bcache.rst, sequential_cutoff."""


def describe(spec: BcacheSpec, counts: Mapping[str, int]) -> str:
    """`writeback, bucket 512KiB, no sequential cutoff`."""
    found = [spec.mode, f"bucket {spec.bucket.text if spec.bucket else f'{DEFAULT_BUCKET_BYTES // KIB}KiB'}"]
    if spec.block is not None:
        found.append(f"block {spec.block.text}")
    if spec.data_offset is not None:
        found.append(f"data at {spec.data_offset.text}")
    if spec.replacement != "lru":
        found.append(spec.replacement)
    if spec.sequential_cutoff is not None:
        text = spec.sequential_cutoff.text
        found.append(f"sequential cutoff {text}" if spec.sequential_cutoff.bytes else "no sequential cutoff")
    if spec.congestion == "off":
        found.append("never past a slow cache")
    if spec.writeback_percent is not None:
        found.append(f"{spec.writeback_percent} % may stay dirty")
    if spec.writeback_delay is not None:
        found.append(f"written back after {spec.writeback_delay.text}")
    if spec.discard:
        found.append("discard")
    return ", ".join(found)


def defaults(spec: BcacheSpec, counts: Mapping[str, int]) -> dict[str, tuple[str, str]]:
    """Return the default of each optional field, with the reason."""
    nothing = ("none", f"in mode {spec.mode} nothing has to be written back")
    dirty = spec.mode == "writeback"
    return {
        "mode": ("writethrough", _KERNEL),
        "bucket": (f"{DEFAULT_BUCKET_BYTES // KIB}KiB", "make-bcache's default"),
        "block": ("as the devices", "the larger logical sector of both devices"),
        "data_offset": ("8KiB", "right behind the superblock"),
        "replacement": ("lru", _KERNEL),
        "sequential_cutoff": (DEFAULT_CUTOFF.text, _KERNEL),
        "congestion": ("default", "the kernel lets requests past a cache that answers slowly"),
        "writeback_percent": ("10", _KERNEL) if dirty else nothing,
        "writeback_delay": ("30s", _KERNEL) if dirty else nothing,
        "discard": ("false", "make-bcache's default: discards are slow on many devices"),
    }


def tolerates_failures(spec: BcacheSpec, counts: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """Return for each input the number of devices that may fail without data loss, and a sentence about it."""
    if spec.mode == "writeback":
        cache = (0, "no device: what was not written back is lost")
    else:
        cache = (counts.get("cache", 0), "the cache: the device goes on without it, nothing is lost")
    return {"on": (0, "no device: it holds the data"), "cache": cache}


def write_path(spec: BcacheSpec) -> tuple[WritePath, ...]:
    """Return the writes that pass the cache (drivers/md/bcache/request.c, check_should_bypass)."""
    if spec.mode not in ("writethrough", "writeback"):
        return ()
    cutoff = spec.sequential_cutoff or DEFAULT_CUTOFF
    writes = EVERY_WRITE
    if cutoff.bytes:
        writes = f"every write that does not follow others for more than {cutoff.text}"
    elif spec.congestion == "default":
        writes = "every write that does not go past a slow cache"
    return (WritePath("cache", ("on",), writes, large=not cutoff.bytes),)


def write_penalty(spec: BcacheSpec) -> float:
    """Device writes for one small random write, the one that writes it back later among them."""
    return 2.0 if spec.mode in ("writethrough", "writeback") else 1.0


def amplifies(spec: BcacheSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
    """Return the amplification without bcache's journal and its tree of keys: keys of many writes share a block."""
    cutoff = (spec.sequential_cutoff or DEFAULT_CUTOFF).bytes
    if spec.mode in ("writearound", "none"):
        return _spread((1, 1), (0, 0), writes, "to the backing device alone, 1")
    if cutoff and (not writes.random or writes.block_bytes >= cutoff):
        # A stream goes past the cache once it is longer than the cutoff.
        return _spread((1, 1), (0, 0), writes, "past the cache, since it is sequential, 1")
    if spec.mode == "writethrough":
        least = 1 if spec.congestion == "off" else 0
        return _spread((1, 1), (least, 1), writes, "to both, 2" if least else "to both, 2, unless the cache is slow")
    return _spread((0, 1), (1, 1), writes, "into the cache, and written back later")


def _spread(on: tuple[int, int], cache: tuple[int, int], writes: Writes, why: str) -> Spread:
    # A flush writes a block of its journal.
    open_end = {"cache"} if writes.syncs and cache[1] else set()
    shares = {name: Share(float(low), None if name in open_end else float(high), writes, keeps=name == "on")
              for name, (low, high) in (("on", on), ("cache", cache))}  # fmt: skip
    return Spread(shares, why)
