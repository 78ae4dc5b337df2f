"""A layout that compresses or deduplicates was given data of which nothing becomes less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark
from raidtui.model.units import size_text

MOST_MISSING: Final = 0.5
IN_MEMORY: Final = 0.2
"""Share of memory in which written data may wait when a cell ends; ZFS takes a tenth (zfs_dirty_data_max)."""

_DONE: Final = {"compresses": "compressed", "deduplicates": "deduplicated"}

REDUCED = Meaning(
    "reduced-data",
    "caution",
    "Less was written than the workload says",
    "The layout compresses or deduplicates, and the workload's data becomes less that way: fewer bytes reach the disks "
    "than were counted, and the number holds for data that is as compressible as this was.",
    "Compare it only with cells of the same data; or leave out buffer_compress_percentage and dedupe_percentage, so that "
    "the data is random.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
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
    """Return an upper bound of the bytes that may still be in memory; overwritten blocks are counted as well."""
    region = evidence.region_bytes
    overwritten = region is not None and written > region
    return not overwritten and missing > max(MOST_MISSING * written, IN_MEMORY * evidence.memory_bytes)


CHECK = Check(find, (REDUCED,))
