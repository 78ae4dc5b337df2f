"""What a byte that is written to an LVM volume comes to on its devices, and in a cache in front of it.

Sources: lvmraid(7), lvmcache(7), lvmvdo(7), lvmthin(7); the kernel's Documentation/admin-guide/device-mapper/: dm-raid.rst,
dm-integrity.rst, cache.rst, writecache.rst, thin-provisioning.rst, vdo-design.rst. dm-raid is md.
"""

from __future__ import annotations

from collections.abc import Mapping

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
from raidtui.stack.lvm.spec import KIB, PARITY, STRIPED, LvmSpec, geometry, stripe_size_bytes

_THIN_CHUNK_BYTES = 64 * KIB
"""lvmthin(7): where nothing is said, on a pool that is not very large."""


def amplifies(spec: LvmSpec, counts: Mapping[str, int], writes: Writes) -> Spread:
    """LVM's own metadata, and bits of bitmaps and mirror logs, are not counted: they are few."""
    share, why = _volume(spec, counts.get("on", 0), writes)
    if spec.integrity is not None:
        share, why = _checked(spec, share, writes), f"{why}, with checksums by {spec.integrity.mode}"
    if spec.thin is not None:
        share, why = _thin(spec, share, writes), f"{why}, chunks of a thin pool zeroed once"
    if spec.vdo is not None:
        return _vdo(spec, share, why, writes)
    if spec.writecache is not None:
        return _written_back("writecache.on", share, why, writes)
    if spec.cache is not None:
        return _cached(spec, share, why, writes)
    return Spread({"on": share}, why)


def _volume(spec: LvmSpec, devices: int, writes: Writes) -> tuple[Share, str]:
    shape, stripe = geometry(spec, devices), stripe_size_bytes(spec)
    if spec.type in PARITY:
        share = parity_share(writes, stripe or PAGE_BYTES, shape.stripes, shape.parity)
        return share, parity_words(share, shape.stripes, shape.parity)
    below = pieces(writes, stripe or writes.block_bytes, shape.stripes) if spec.type in STRIPED else writes
    words = f"{shape.copies} copies" if shape.copies > 1 else "striped, 1" if shape.stripes > 1 else "one by one, 1"
    return copies(shape.copies, below), words


def _checked(spec: LvmSpec, share: Share, writes: Writes) -> Share:
    """dm-integrity: a journal takes everything once more; checksums are a page for each write at most."""
    assert spec.integrity is not None
    low, high = bounds(share)
    times = 2.0 if spec.integrity.mode == "journal" else 1.0
    tags = PAGE_BYTES / writes.block_bytes
    return share._replace(low=low * times, high=high * times * (1 + tags))


def _thin(spec: LvmSpec, share: Share, writes: Writes) -> Share:
    """A chunk that is not written whole is zeroed before it is given, once. Each flush writes metadata of the pool."""
    assert spec.thin is not None
    low, high = bounds(share)
    if writes.syncs:
        return share._replace(high=None)
    chunk = spec.thin.chunk.bytes if spec.thin.chunk is not None else _THIN_CHUNK_BYTES
    if not spec.thin.zero or writes.block_bytes >= chunk:
        return share
    return share._replace(low=low, high=high * (1 + chunk / writes.block_bytes))


def _vdo(spec: LvmSpec, share: Share, why: str, writes: Writes) -> Spread:
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


def _cached(spec: LvmSpec, share: Share, why: str, writes: Writes) -> Spread:
    """dm-cache: only blocks that it holds go into it. Blocks that it takes in, a chunk each, are not counted."""
    assert spec.cache is not None
    if spec.cache.mode == "passthrough":
        return Spread({"on": share, "cache.on": Share(0.0, 0.0, writes, keeps=False)}, f"past the cache: {why}")
    if spec.cache.mode == "writethrough":
        front = Share(0.0, None if writes.syncs else 1.0, writes, keeps=False)
        return Spread({"on": share, "cache.on": front}, f"{why}, and once into the cache where it holds the block")
    # The least is a hit that is never written back, the most one that is. A miss lies between: it goes by.
    return _written_back("cache.on", share, why, writes)
