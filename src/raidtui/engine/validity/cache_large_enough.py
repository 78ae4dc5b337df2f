"""A cache of flash was not all that was measured, where the layout is of a cache and disks behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.frame import CacheState
from raidtui.model.mark import Mark
from raidtui.model.units import size_text

MEMORY: Final = ("arc", "l2arc")
CACHE: Final = "cache"
"""The role of disks that are a cache of the layout."""
MOST_PERCENT: Final = 95.0
FEWEST: Final = 100

FITS = Meaning(
    "fits-cache",
    "caution",
    "The whole data set fits into the cache",
    "The cache device answered nearly everything: the number is that of the cache alone, and the disks behind it could be "
    "any.",
    'Use a region several times the size of the cache; or say "caches": "warm" in the policy where the cache alone is what '
    "is to be measured.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    if evidence.caches == "warm" or not evidence.region_bytes:
        return
    told = {name: (cache, room) for name, cache in evidence.cell.caches.items()
            if name not in MEMORY and name in evidence.cell.devices and (room := cache.room_bytes) is not None}  # fmt: skip
    for name, (cache, room_bytes) in told.items():
        hits, misses = _answered(cache)
        if evidence.region_bytes >= room_bytes or hits + misses < FEWEST:
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
    fronts = [use for use in members if use.role == CACHE]
    behind = [use for use in members if use.role != CACHE]
    flows = summary.moved if summary is not None else ()
    if not fronts or not behind or sum(flow.ios for flow in flows) < FEWEST:
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


CHECK = Check(find, (FITS,))
