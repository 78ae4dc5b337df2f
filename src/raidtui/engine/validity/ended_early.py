"""The cell ran to its end, and left numbers."""

from __future__ import annotations

from collections.abc import Iterator

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark

CANCELLED = Meaning(
    "cancelled",
    "invalid",
    "Cancelled",
    "The operator ended the run while the cell was measured.",
    "Start it again.",
)
NOTHING = Meaning(
    "nothing-measured",
    "invalid",
    "Nothing was measured",
    "The workload left no numbers, and nothing says why.",
    "Run the cell again (--layout, --workload); if it happens again, it is a bug: report it with the result file.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    if evidence.cancelled:
        yield CANCELLED.mark("the run was cancelled")
    elif evidence.summary is None and not evidence.said and not evidence.lost:
        yield NOTHING.mark("nothing was measured")


CHECK = Check(find, (CANCELLED, NOTHING), rank=3)
