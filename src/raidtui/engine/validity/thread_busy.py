"""One thread of the kernel had a core to itself: it, not the disks, sets the pace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark

LEAST_PERCENT: Final = 95.0

BOUND = Meaning(
    "cpu-bound",
    "limit",
    "One thread of the kernel was the limit",
    "A thread runs on one core at a time, and this one was busy all the while: faster disks would change nothing. md has "
    "one thread an array unless it is given more, ZFS some for writing and for checksums.",
    "For md raid5 and raid6: group_thread_cnt (tuning of the layer). For ZFS: less work a block (compression, checksum, "
    "larger volblocksize), or more pools. Otherwise a faster core.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    for name, percent in evidence.cell.threads.items():
        if percent >= LEAST_PERCENT:
            yield BOUND.mark(f"the kernel's thread {name} used {min(percent, 100):.0f} % of a core", about=name)


CHECK = Check(find, (BOUND,))
