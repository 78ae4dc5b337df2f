"""Random operations reached the device as they were asked for, and not as fewer, larger ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark
from raidtui.model.units import size_text

LEAST_SHARE: Final = 0.8
FEWEST: Final = 1000

MERGED = Meaning(
    "merged",
    "caution",
    "Operations were merged on their way",
    "The kernel put neighbouring operations together before the device saw them: it did fewer and larger ones than the "
    "workload counts, which is easier for it.",
    "Use a larger region, so that random blocks are no neighbours, or a scheduler that does not merge (none; nomerges).",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    """Check random workloads on block devices; sequential requests are expected to be merged."""
    summary, pattern = evidence.summary, evidence.pattern
    targets = [use for use in evidence.cell.devices.values() if use.role == "target"]
    if summary is None or pattern is None or not pattern.wholly_random or not targets or evidence.counted != "exactly":
        return
    for verb, flow, requests, moved in (
        ("read", summary.read, sum(use.reads for use in targets), sum(use.read_bytes for use in targets)),
        ("write", summary.write, sum(use.writes for use in targets), sum(use.written_bytes for use in targets)),
    ):
        if flow is not None and flow.ios >= FEWEST and 0 < requests < LEAST_SHARE * flow.ios:
            yield MERGED.mark(
                f"{flow.ios} {verb} operations reached the device as {requests} requests of {size_text(moved // requests)}"
            )


CHECK = Check(find, (MERGED,))
