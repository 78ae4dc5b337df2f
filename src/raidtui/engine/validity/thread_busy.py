"""One thread of the kernel had a core to itself: it, not the disks, sets the pace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark

LEAST_PERCENT: Final = 95.0
MOST_BESIDE: Final = 0.1
"""Share of a cell in which the workload does not run as yet or any more, and a thread of the kernel may rest: a tool that
starts and ends takes longer than a twentieth of a short cell."""

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
    spread = _spread(evidence)
    for name, of_cell in evidence.cell.threads.items():
        if (percent := spread * of_cell) >= LEAST_PERCENT:
            yield BOUND.mark(f"the kernel's thread {name} used {min(percent, 100):.0f} % of a core", about=name)


def _spread(evidence: Evidence) -> float:
    """Ratio of the cell's time to the workload's: kernel threads did their work during the workload."""
    cell_s, ran_s = evidence.cell.seconds, evidence.summary.runtime_s if evidence.summary is not None else 0.0
    return cell_s / max(ran_s, (1 - MOST_BESIDE) * cell_s) if 0 < ran_s < cell_s else 1.0


CHECK = Check(find, (BOUND,))
