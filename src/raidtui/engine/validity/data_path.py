"""Bytes on their way to the devices: counted alike on both ends, neither merged nor reduced, and flushed when synced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.evidence import Evidence, caution, invalid
from raidtui.model.mark import Mark
from raidtui.model.units import size_text
from raidtui.watch.series import PROBE_BYTES, counters_agree

COUNT_TOLERANCE: Final = 0.02
DISAGREE = invalid(
    "bytes-disagree",
    "Devices and workload disagree",
    "The kernel's counters of the devices differ from the bytes that the workload reports: it ran on another device, "
    "other programs used the devices too, or a part of the data stayed in memory.",
    "Keep other programs from the devices, use direct I/O, and run the cell again (--layout, --workload).",
)
UNKNOWN = invalid(
    "bytes-unknown",
    "The devices' counters could not be read",
    "Without them there is no evidence that the workload ran on the target.",
    "Look at dmesg: the device probably went away. Then run the cell again (--layout, --workload).",
)


def find_byte_differences(evidence: Evidence) -> Iterator[Mark]:
    summary = evidence.summary
    if summary is None or evidence.cancelled or evidence.lost or evidence.counted == "no":
        return
    read = summary.read.bytes if summary.read else 0
    # What udev reads when a job closes the device is not the workload's; in a ramp the workload keeps no count itself.
    passes = len(evidence.cell.steady.passes) if evidence.cell.steady is not None else 1
    probes = PROBE_BYTES * max(1, summary.jobs) * max(1, passes)
    for verb, said, counted, extra in (
        ("read", read, evidence.target_read_bytes, probes),
        ("written", summary.written_bytes, evidence.target_written_bytes, 0),
    ):
        if (
            verb == "written"
            and counted is not None
            and counted < said <= _written_below_cache(evidence) * (1 + COUNT_TOLERANCE)
        ):
            continue
        if counted is None:
            yield UNKNOWN.mark(f"the target's own count of bytes {verb} could not be read")
        elif evidence.counted == "at least" and counted < said * (1 - COUNT_TOLERANCE):
            yield DISAGREE.mark(
                f"the devices counted {size_text(counted)} {verb}, the workload reports {size_text(said)}: "
                "the rest never left the machine's memory"
            )
        elif evidence.counted == "exactly" and not counters_agree(
            said, counted, extra_bytes=counted if evidence.pattern is not None and evidence.pattern.ramp else extra
        ):
            yield DISAGREE.mark(
                f"the target counted {size_text(counted)} {verb}, the workload reports {size_text(said)}: "
                "it did not run on the target alone"
            )


def _written_below_cache(evidence: Evidence) -> int:
    """Return the bytes written to the devices of a measured bcache; 0 for other targets.

    bcache does not count on its own device what is written past its cache: the request itself is sent on to the backing
    device, and nothing is left of its length when its end is counted (request.c, cached_dev_write and bio_complete).
    """
    devices = evidence.cell.devices
    if not all(name.startswith("bcache") for name, use in devices.items() if use.role == "target"):
        return 0
    return sum(use.written_bytes or 0 for use in devices.values() if use.role in ("backing", "cache"))


MERGED_SHARE: Final = 0.8
FEWEST_RANDOM_IOS: Final = 1000
MERGED = caution(
    "merged",
    "Operations were merged",
    "The kernel merged neighbouring operations before they reached the device: it executed fewer and larger ones than"
    " the workload counts, which is easier.",
    "Use a larger region, so that random blocks are not adjacent, or prevent merges (queue/nomerges, scheduler none).",
)


def find_merges(evidence: Evidence) -> Iterator[Mark]:
    """Check random workloads on block devices; sequential requests are expected to be merged."""
    summary, pattern = evidence.summary, evidence.pattern
    targets = [use for use in evidence.cell.devices.values() if use.role == "target"]
    if summary is None or pattern is None or not pattern.wholly_random or not targets or evidence.counted != "exactly":
        return
    for verb, flow, requests, moved in (
        ("read", summary.read, sum(use.reads for use in targets), sum(use.read_bytes for use in targets)),
        ("write", summary.write, sum(use.writes for use in targets), sum(use.written_bytes for use in targets)),
    ):
        if flow is not None and flow.ios >= FEWEST_RANDOM_IOS and 0 < requests < MERGED_SHARE * flow.ios:
            yield MERGED.mark(
                f"{flow.ios} {verb} operations reached the device as {requests} requests of {size_text(moved // requests)}"
            )


MOST_REDUCED: Final = 0.5
IN_MEMORY: Final = 0.2
"""Share of memory in which written data may wait when a cell ends; ZFS takes a tenth (zfs_dirty_data_max)."""
_DONE: Final = {"compresses": "compressed", "deduplicates": "deduplicated"}
REDUCED = caution(
    "reduced-data",
    "Less was written than the workload reports",
    "The layout compresses or deduplicates, and the workload's data allows it: fewer bytes reached the disks than "
    "were counted. The number is valid only for data that is as compressible as this.",
    "Compare it only with cells of the same data, or remove buffer_compress_percentage and dedupe_percentage, so that"
    " the data is random.",
)


def find_reduced_data(evidence: Evidence) -> Iterator[Mark]:
    summary, pattern = evidence.summary, evidence.pattern
    if summary is None or pattern is None or not evidence.reduces or not summary.written_bytes:
        return
    asked = []
    if "compresses" in evidence.reduces and pattern.compressible_percent:
        asked.append(f"can be compressed by {pattern.compressible_percent} %")
    if "deduplicates" in evidence.reduces and pattern.copies_percent:
        asked.append(f"consists of copies by {pattern.copies_percent} %")
    reached = sum(use.written_bytes for use in evidence.members.values())
    counted = f"the disks were written {size_text(reached)} for {size_text(summary.written_bytes)} of it"
    if asked:
        yield REDUCED.mark(f"what the workload writes {' and '.join(asked)}, and the layout does that: {counted}")
    elif _missing(evidence, summary.written_bytes - reached, summary.written_bytes):
        how = " or ".join(_DONE.get(word, word) for word in evidence.reduces)
        yield REDUCED.mark(f"what the workload wrote was {how}: {counted}")


def _missing(evidence: Evidence, missing: int, written: int) -> bool:
    """Return True if more bytes are missing than can still wait in memory, and more than half of those written.

    False if blocks were overwritten: an overwritten block that waits in memory is written to the disks once.
    """
    region = evidence.region_bytes
    overwritten = region is not None and written > region
    return not overwritten and missing > max(MOST_REDUCED * written, IN_MEMORY * evidence.memory_bytes)


FEWEST_SYNCS: Final = 50
FLUSH_SHARE: Final = 0.5
"""Tolerance for the number and the duration of flushes."""
FASTER = caution(
    "sync-without-flush",
    "Syncs are faster than flushes of the disks",
    "An fsync is durable once every disk with a volatile cache has confirmed a flush. Here the disks received fewer "
    "flushes than there were syncs, or a sync took less time than a flush: the data that was reported durable would "
    "not have survived a power loss (sync=disabled, nobarrier, a cache that swallows flushes).",
    "Find the layer that keeps flushes from the disks. If the disks have power-loss protection, set their write cache"
    " to write through (tuning of disks, write_cache), so that the kernel knows.",
)


def find_missing_flushes(evidence: Evidence) -> Iterator[Mark]:
    """Check cells whose disks all have a volatile write cache: the kernel sends flushes to no other disks."""
    sync = evidence.summary.sync if evidence.summary is not None else None
    members = evidence.members
    if evidence.summary is None or sync is None or sync.ios < FEWEST_SYNCS or not members:
        return
    if any(evidence.disks[use.disk].write_cache != "write back" or use.flushes is None for use in members.values()):
        return
    flushes = sum(use.flushes or 0 for use in members.values())
    # Syncs that wait at the same time may share one flush.
    least = FLUSH_SHARE * sync.ios / max(1, evidence.summary.jobs)
    # What flushes with each write (md's journal) has nothing left to do at a sync: both together are what takes a flush.
    write_us = evidence.summary.write.latency.mean_us if evidence.summary.write is not None else None
    mean_us = None if sync.latency.mean_us is None else sync.latency.mean_us + (write_us or 0.0)
    takes_ms = [use.mean_flush_await_ms for use in members.values() if use.flushes and use.mean_flush_await_ms]
    if flushes < least:
        yield FASTER.mark(f"{sync.ios} syncs, and only {flushes} flushes reached the disks")
    elif takes_ms and mean_us is not None and mean_us < FLUSH_SHARE * 1000 * min(takes_ms):
        took = f"a write and its sync took {mean_us / 1000:.2f} ms"
        yield FASTER.mark(f"{took}, and a flush of the disks takes {min(takes_ms):.2f} ms")
