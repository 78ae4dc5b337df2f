"""What the options of a bcache device come to, in words: what it is, what is taken where nothing is said, what may fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from raidtui.model.units import Size
from raidtui.stack.bcache.spec import DEFAULT_BUCKET_BYTES, KIB, BcacheSpec
from raidtui.stack.layer import EVERY_WRITE, WritePath

_KERNEL: Final = "the kernel's default"
DEFAULT_CUTOFF: Final = Size("4MiB")


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
    """By optional field: what it comes to where it is left out, and why."""
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
    """By input: how many of its devices may fail without loss, and what then."""
    if spec.mode == "writeback":
        cache = (0, "no device: what was not written back is lost")
    else:
        cache = (counts.get("cache", 0), "the cache: the device goes on without it, nothing is lost")
    return {"on": (0, "no device: it holds the data"), "cache": cache}


def write_path(spec: BcacheSpec) -> tuple[WritePath, ...]:
    """What is written through the cache (drivers/md/bcache/request.c, check_should_bypass)."""
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
