"""Reports of the layers and tools themselves, each with its own code."""

from __future__ import annotations

from collections.abc import Iterator

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark

UNHEALTHY = Meaning(
    "unhealthy",
    "invalid",
    "A layer is not well",
    "What was measured was not what was built: a layer of the layout said before or after that something is wrong with it.",
    "Solve what the sentence names, and run the cell again (--layout, --workload).",
)
DEGRADED = Meaning(
    "degraded",
    "invalid",
    "An array or pool lacks members",
    "With members missing it reads more and writes less than when it is whole, and data is computed from parity.",
    "Look at the disk that is missing (`raidtui disks`, dmesg), and run the cell again (--layout, --workload).",
)
TOOL = Meaning(
    "tool-problem",
    "invalid",
    "The measuring tool met a problem",
    "The workload's tool (fio, dd, iozone, pg_test_fsync) failed, or its own report contradicts what it was asked to do: "
    "its numbers are of something else. The sentence names the tool, its version where it tells it, and what it reported.",
    "Solve what the sentence names, and run the cell again (--layout, --workload). Where dmesg shows no error of a device, "
    "try another version of the tool, or another ioengine.",
)
REMARK = Meaning(
    "tool-remark",
    "caution",
    "The measuring tool did otherwise than elsewhere",
    "A part of its report is not there or is not to be used, or it did more than it was asked to. The other numbers were "
    "measured as always.",
    "The sentence names what it is, and what would have to be different.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    yield from evidence.said


CHECK = Check(find, (UNHEALTHY, DEGRADED, TOOL, REMARK), rank=2)
