"""Check that every sample was written to the journal."""

from __future__ import annotations

from collections.abc import Iterator

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark

MISSING = Meaning(
    "samples-missing",
    "invalid",
    "Samples may be missing",
    "The file system that the run's journal is on ran out of space while it was measured.",
    "Make space (`df /var/lib/raidtui`), and run the cell again (--layout, --workload).",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    if evidence.out_of_space and evidence.summary is not None:
        yield MISSING.mark("the file system of the journal ran out of space: samples may be missing")


CHECK = Check(find, (MISSING,), rank=90)
