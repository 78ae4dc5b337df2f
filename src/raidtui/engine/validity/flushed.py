"""Check that durable writes were flushed: no sync is faster than the flush it waits for, and none lacks one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark

FEWEST: Final = 50
LEAST_SHARE: Final = 0.5
"""Tolerance for the number and the duration of flushes."""

FASTER = Meaning(
    "sync-without-flush",
    "caution",
    "Syncs are faster than the disks can flush",
    "An fsync is durable when every disk with a volatile cache was told to write it out, and said that it did. Here fewer "
    "flushes reached the disks than there were syncs, or a sync took less time than a flush: what was reported durable "
    "would not have survived a power cut (sync=disabled, nobarrier, a cache that keeps flushes back).",
    "Look for what keeps flushes from the disks. Where disks have power-loss protection, set their write cache to write "
    "through (tuning of disks, write_cache), so that the kernel knows.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    """Check cells whose disks all have a volatile write cache: the kernel sends flushes to no other disks."""
    sync = evidence.summary.sync if evidence.summary is not None else None
    members = evidence.members
    if evidence.summary is None or sync is None or sync.ios < FEWEST or not members:
        return
    if any(evidence.disks[use.disk].write_cache != "write back" or use.flushes is None for use in members.values()):
        return
    flushes = sum(use.flushes or 0 for use in members.values())
    # Syncs that wait at the same time may share one flush.
    least = LEAST_SHARE * sync.ios / max(1, evidence.summary.jobs)
    # What flushes with each write (md's journal) has nothing left to do at a sync: both together are what takes a flush.
    write_us = evidence.summary.write.latency.mean_us if evidence.summary.write is not None else None
    mean_us = None if sync.latency.mean_us is None else sync.latency.mean_us + (write_us or 0.0)
    takes_ms = [use.mean_flush_await_ms for use in members.values() if use.flushes and use.mean_flush_await_ms]
    if flushes < least:
        yield FASTER.mark(f"{sync.ios} syncs, and only {flushes} flushes reached the disks")
    elif takes_ms and mean_us is not None and mean_us < LEAST_SHARE * 1000 * min(takes_ms):
        took = f"a write and its sync took {mean_us / 1000:.2f} ms"
        yield FASTER.mark(f"{took}, and a flush of the disks takes {min(takes_ms):.2f} ms")


CHECK = Check(find, (FASTER,))
