"""Answers that did not come from the disks: from memory, from a cache device, from blocks that were never written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.base.text import plural
from raidtui.engine.validity.evidence import Evidence, caution, invalid
from raidtui.model.disk import link_bytes_per_s
from raidtui.model.frame import CacheState
from raidtui.model.mark import Mark
from raidtui.model.measure import Direction, Summary, in_bulk
from raidtui.model.units import size_text

MOST_MISSING: Final = 0.5
"""Share of the reads that may have been answered without a disk before the number is about something else."""
FEWEST_READS: Final = 100
SMALL_SHARE: Final = 1 / 8
"""Share of the ARC that ZFS keeps as buffers in addition (1/32, dbuf_cache_shift)."""
UNWRITTEN = invalid(
    "unwritten-read",
    "Unwritten blocks were read",
    "A thin or virtual volume (ZFS, LVM thin, VDO) knows which blocks were never written, and returns zeroes for them"
    " without reading a disk: the measurement covers only its metadata.",
    'Leave "prefill" in the policy at true, so that the region is written before it is read.',
)
NOT_FILLED = caution(
    "not-prefilled",
    "The region may never have been written",
    'The policy has "prefill": false, and no cell wrote the region before. Blank flash answers reads of unwritten '
    "blocks faster, because it has no data to fetch.",
    'Leave "prefill" in the policy at true.',
)
CACHED = caution(
    "cached-reads",
    "Memory answered most of the reads",
    "The data fits into the ARC, so the disks were hardly read: the number describes memory. That may be intended, "
    'but a policy without "caches" does not say so.',
    'Write "caches": "warm" in the policy to measure memory. To measure disks, read a region several times the size '
    'of the ARC, limit the ARC (arc_max, or primarycache=metadata), or write "caches": "cold".',
)


def find_reads_without_disk(evidence: Evidence) -> Iterator[Mark]:
    """Reads that the devices below never saw were answered by memory or by bookkeeping."""
    summary, pattern = evidence.summary, evidence.pattern
    read = summary.read if summary is not None else None
    if read is None or pattern is None or not pattern.whole_sectors or read.ios < FEWEST_READS or not evidence.members:
        return
    if not evidence.prefilled and not _written_before(evidence):
        yield NOT_FILLED.mark("the region was not written before it was read")
    reached_bytes = sum(use.read_bytes for use in evidence.members.values())
    reached = reached_bytes / read.bytes / _left(evidence)
    if pattern.random:
        # A cache of large blocks fetches more than was asked for, and a block that lies on several disks takes several
        # requests: what is less of the two cannot have been more often than that.
        reached = min(reached, sum(use.reads for use in evidence.members.values()) / read.ios)
    if evidence.on_disks or reached >= 1 - MOST_MISSING:
        return
    if _from_memory(evidence):
        if evidence.caches != "warm":
            yield CACHED.mark(_in_memory(evidence, reached))
    elif not evidence.prefilled:
        yield UNWRITTEN.mark(
            f"the workload read {size_text(read.bytes)}, the disks only {size_text(reached_bytes)}: "
            "most of it was never written"
        )


def _left(evidence: Evidence) -> float:
    """Return the share that compression leaves of a byte to read."""
    percent = evidence.pattern.compressible_percent if evidence.pattern and "compresses" in evidence.reduces else 0
    return max(0.01, 1 - percent / 100)


def _from_memory(evidence: Evidence) -> bool:
    """Small sets stay in ZFS's cache of buffers, which counts no hits: that the blocks were written is enough there."""
    arc, region = evidence.cell.caches.get(evidence.memory_cache), evidence.region_bytes
    if not evidence.memory_cache:
        return False
    if evidence.prefilled or (arc and (arc.hit_percent or 0) >= 100 * MOST_MISSING and arc.hits >= FEWEST_READS):
        return True
    small = arc is not None and arc.size_bytes and region is not None and region <= SMALL_SHARE * arc.size_bytes
    return bool(small) and _written_before(evidence)


def _in_memory(evidence: Evidence, reached: float) -> str:
    arc = evidence.cell.caches.get(evidence.memory_cache)
    size = f" of {size_text(arc.size_bytes)}" if arc is not None and arc.size_bytes else ""
    region = f", which reach over {size_text(evidence.region_bytes)}" if evidence.region_bytes else ""
    return f"the ARC{size} answered {100 * (1 - reached):.0f} % of the reads{region}"


def _written_before(evidence: Evidence) -> bool:
    """Return True if any earlier cell wrote to this layout; also if the layout was rebuilt in between."""
    own = evidence.cell
    of_layout = (cell for cell in evidence.earlier if (cell.layout, cell.part) == (own.layout, own.part))
    return any(cell.summary is not None and cell.summary.written_bytes for cell in of_layout)


MEMORY_CACHES: Final = ("arc", "l2arc")
CACHE_ROLE: Final = "cache"
"""The role of disks that are a cache of the layout."""
MOST_PERCENT: Final = 95.0
FEWEST_CACHED: Final = 100
FITS = caution(
    "fits-cache",
    "The whole data set fits into the cache",
    "The cache device answered nearly all operations: the number describes the cache alone, whatever disks are behind it.",
    'Use a region several times the size of the cache, or write "caches": "warm" in the policy to measure the cache alone.',
)


def find_small_data_set(evidence: Evidence) -> Iterator[Mark]:
    if evidence.caches == "warm" or not evidence.region_bytes:
        return
    devices = {
        name: cache
        for name, cache in evidence.cell.caches.items()
        if name not in MEMORY_CACHES and name in evidence.cell.devices
    }
    told = {name: (cache, room) for name, cache in devices.items() if (room := cache.room_bytes) is not None}
    for name, (cache, room_bytes) in told.items():
        hits, misses = _answered(cache)
        if evidence.region_bytes >= room_bytes or hits + misses < FEWEST_CACHED:
            continue
        if (percent := 100 * hits / (hits + misses)) >= MOST_PERCENT:
            fits = _fits(evidence.region_bytes, room_bytes)
            yield FITS.mark(f"the cache answered {percent:.0f} % of the operations: {fits}", about=name)
    if not told:
        yield from _by_traffic(evidence, evidence.region_bytes)


def _answered(cache: CacheState) -> tuple[int, int]:
    return cache.hits + (cache.write_hits or 0), cache.misses + (cache.write_misses or 0)


def _by_traffic(evidence: Evidence, region_bytes: int) -> Iterator[Mark]:
    """bcache and dm-writecache do not say how large they are, nor bcache how much it took: the disks' counters do."""
    summary, members = evidence.summary, evidence.members.values()
    fronts = [use for use in members if use.role == CACHE_ROLE]
    behind = [use for use in members if use.role != CACHE_ROLE]
    flows = summary.moved if summary is not None else ()
    if not fronts or not behind or sum(flow.ios for flow in flows) < FEWEST_CACHED:
        return
    room_bytes = sum(evidence.disks[use.disk].size_bytes for use in fronts)
    in_front, past = (sum(use.read_bytes + use.written_bytes for use in uses) for uses in (fronts, behind))
    # Memory in front of it all (the ARC) leaves little for either: that is another check's.
    asked = in_front >= sum(flow.bytes for flow in flows) / 2 and in_front > 0
    if region_bytes < room_bytes and asked and (percent := 100 * in_front / (in_front + past)) >= MOST_PERCENT:
        yield FITS.mark(f"{percent:.0f} % of what the disks moved was on the cache: {_fits(region_bytes, room_bytes)}",
                        about=fronts[0].disk)  # fmt: skip


def _fits(region_bytes: int, room_bytes: int) -> str:
    return f"the region of {size_text(region_bytes)} fits into its {size_text(room_bytes)}"


LINK_SLACK: Final = 1.02
BASELINE_SLACK: Final = 1.15
"""Disks of their own vary by this much from one cell to the next."""
LINK = caution(
    "above-link",
    "Faster than the links of the disks",
    "More bytes were moved than the PCIe links of all disks can carry: a part of them never reached a disk.",
    "Look for a cache in front of the disks: memory (buffered I/O, the ARC), or data that is reduced on the way.",
)
BASELINE = caution(
    "above-disks",
    "Faster than the sum of its disks",
    "The bare disks, measured in this run, are slower together than this cell: either the answers came from elsewhere"
    " (memory, a cache, reduced data), or the disks were slower than usual when they were measured alone.",
    "Look for a cache in front of the disks, and measure the bare disks again.",
)


def find_impossible_rates(evidence: Evidence) -> Iterator[Mark]:
    """Find rates above a bound, by direction. Other checks look for answers from memory."""
    summary, members = evidence.summary, evidence.members
    if summary is None or not members:
        return
    disks = [evidence.disks[use.disk] for use in members.values()]
    carried = link_bytes_per_s(disks)
    for word, flow in (("read", summary.read), ("written", summary.write)):
        if flow is None or not flow.ios:
            continue
        rate = flow.bytes_per_s
        if carried is not None and rate > LINK_SLACK * carried and _is_wire(evidence):
            yield LINK.mark(f"{rate / 1e9:.2f} GB/s were {word}, and the links of {plural(len(disks), 'disk')} "
                            f"carry {carried / 1e9:.2f} GB/s")  # fmt: skip
            continue
        alone = _alone(evidence, word)
        if alone is not None and rate > BASELINE_SLACK * alone:
            yield BASELINE.mark(f"{rate / 1e6:.0f} MB/s were {word}, and the same {plural(len(disks), 'disk')}, each by "
                                f"itself, come to {alone / 1e6:.0f} MB/s")  # fmt: skip


def _is_wire(evidence: Evidence) -> bool:
    """Return True if the links are plausible: no disk ever counted more than its link carries.

    One of a virtual machine need not be.
    """
    such = [evidence.disks[use.disk].link for use in evidence.members.values()]
    links = {name: link_bytes_per_s((disk,)) for name, disk in evidence.disks.items() if disk.link in such}
    for cell in (evidence.cell, *evidence.earlier):
        if cell.summary is None:
            continue
        # A ramp makes the counters cover more than the runtime.
        seconds = max(cell.seconds, cell.summary.runtime_s)
        for use in cell.devices.values():
            carries = links.get(use.disk)
            if carries is not None and max(use.read_bytes, use.written_bytes) > LINK_SLACK * carries * seconds:
                return False
    return True


def _alone(evidence: Evidence, word: str) -> float | None:
    """Return the best rate of these bare disks together in bytes per second; None if one of them was not measured.

    At their best in large blocks: small ones may be gathered on their way. A mix of reads and writes is not the best in
    either; under the same workload a disk may be faster still.
    """
    if evidence.on_disks:
        return None
    best: dict[str, float] = {}
    alike: dict[str, float] = {}
    for cell in evidence.earlier:
        found = _direction(cell.summary, word) if cell.valid and cell.summary is not None else None
        users = [use for use in cell.devices.values() if use.disk]
        if found is None or len(users) != 1 or users[0].role != "target":
            continue
        disk = users[0].disk
        if cell.workload == evidence.cell.workload:
            alike[disk] = max(found.bytes_per_s, alike.get(disk, 0.0))
        if in_bulk(found.ios, found.bytes) and cell.summary is not None and len(cell.summary.moved) == 1:
            best[disk] = max(found.bytes_per_s, best.get(disk, 0.0))
    wanted = {use.disk for use in evidence.members.values()}
    if not wanted <= best.keys():
        return None
    return sum(max(best[disk], alike.get(disk, 0.0)) for disk in wanted)


def _direction(summary: Summary, word: str) -> Direction | None:
    found = summary.read if word == "read" else summary.write
    return found if found is not None and found.ios else None
