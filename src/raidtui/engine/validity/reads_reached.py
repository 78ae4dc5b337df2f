"""Check that reads reached the disks, not unwritten blocks and not memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark
from raidtui.model.units import size_text

MOST_MISSING: Final = 0.5
"""Share of the reads that may have been answered without a disk before the number is about something else."""
FEWEST: Final = 100
SMALL: Final = 1 / 8
"""Share of the ARC that ZFS keeps as buffers in addition (1/32, dbuf_cache_shift)."""
MEMORY: Final = "arc"

UNWRITTEN = Meaning(
    "unwritten-read",
    "invalid",
    "Blocks were read that were never written",
    "A thin or virtual volume (ZFS, LVM thin, VDO) knows which blocks were never written, and answers with zeroes without "
    "asking a disk: what was measured is its bookkeeping.",
    'Leave "prefill" in the policy at true, so that the region is written before it is read.',
)
NOT_FILLED = Meaning(
    "not-prefilled",
    "caution",
    "What was read may never have been written",
    'The policy says "prefill": false, and nothing wrote the region before. Blank flash answers reads of such blocks '
    'faster '
    "than reads of data, because it has nothing to fetch.",
    'Leave "prefill" in the policy at true.',
)
CACHED = Meaning(
    "cached-reads",
    "caution",
    "The machine's memory answered most of the reads",
    "What was read fits into the ARC, so the disks were hardly asked: the number says what memory gives. That may be what "
    'is wanted, but the scenario does not say so: a policy without "caches" leaves them as they are.',
    'Say "caches": "warm" in the policy where memory is meant to be measured. Where disks are: read a region several times '
    'the size of the ARC, give the ARC less (arc_max, or primarycache=metadata), or say "caches": "cold".',
)


def find(evidence: Evidence) -> Iterator[Mark]:
    """Reads that the devices below never saw were answered by memory or by bookkeeping."""
    summary, pattern = evidence.summary, evidence.pattern
    read = summary.read if summary is not None else None
    if read is None or pattern is None or not pattern.whole_sectors or read.ios < FEWEST or not evidence.members:
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
    arc, region = evidence.cell.caches.get(MEMORY), evidence.region_bytes
    if "zpool" not in evidence.layers:
        return False
    if evidence.prefilled or (arc and (arc.hit_percent or 0) >= 100 * MOST_MISSING and arc.hits >= FEWEST):
        return True
    small = arc is not None and arc.size_bytes and region is not None and region <= SMALL * arc.size_bytes
    return bool(small) and _written_before(evidence)


def _in_memory(evidence: Evidence, reached: float) -> str:
    arc = evidence.cell.caches.get(MEMORY)
    size = f" of {size_text(arc.size_bytes)}" if arc is not None and arc.size_bytes else ""
    region = f", which reach over {size_text(evidence.region_bytes)}" if evidence.region_bytes else ""
    return f"the ARC{size} answered {100 * (1 - reached):.0f} % of the reads{region}"


def _written_before(evidence: Evidence) -> bool:
    """Return the largest amount written by any cell of the layout; generous if the layout was rebuilt in between."""
    own = evidence.cell
    of_layout = (cell for cell in evidence.earlier if (cell.layout, cell.part) == (own.layout, own.part))
    return any(cell.summary is not None and cell.summary.written_bytes for cell in of_layout)


CHECK = Check(find, (UNWRITTEN, NOT_FILLED, CACHED))
