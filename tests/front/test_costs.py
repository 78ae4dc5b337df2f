"""The bytes that a plan writes are a bound, or unknown with the workloads that are the reason."""

from __future__ import annotations

import sys
from pathlib import Path

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

import made

from raidtui.front.plan import writes_text
from raidtui.model.plan import CellPlan

PLAN = made.plan()


def test_known_bytes_are_a_bound() -> None:
    assert writes_text(replace(PLAN, writes_bytes=3 << 30)) == "at most 3.0 GiB"


def test_workloads_bounded_by_time_are_named_with_their_time_and_what_the_rest_writes() -> None:
    fill, first, second = PLAN.steps[1], PLAN.steps[2], PLAN.steps[3]
    known = replace(fill, writes_bytes=5 << 30, seconds=1e5), replace(second, writes_bytes=1 << 30)
    assert writes_text(replace(PLAN, steps=(first, *known))) == (
        "not known: workload sync-4k is bounded by time alone (about 10 s in all); the rest at most 6.0 GiB"
    )
    steps = tuple(replace(first, cell=f"c{number}") for number in range(6))
    cells = tuple(CellPlan(f"c{number}", "raid1", f"w{number}", 1) for number in range(6))
    assert writes_text(replace(PLAN, steps=steps, cells=cells)) == (
        "not known: workloads w0, w1, w2, w3 and 2 more are bounded by time alone (about 1 min 00 s in all)"
    )
