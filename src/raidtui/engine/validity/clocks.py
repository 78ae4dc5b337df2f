"""The clocks agree on how long the cell took."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark

TOLERANCE: Final = 0.02
LEAST_S: Final = 0.5

SUSPENDED = Meaning(
    "suspended",
    "invalid",
    "The machine was suspended",
    "It slept, or its virtual machine stood still, while it was measured: rates are of a time in which nothing ran.",
    "Keep the machine awake (systemd-inhibit), and run the cell again (--layout, --workload).",
)
JUMPED = Meaning(
    "clock-jumped",
    "invalid",
    "A clock jumped",
    "The clock was set while it was measured, and rates are divided by time.",
    "Let the clock be synchronised before measuring, and run the cell again (--layout, --workload).",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    if evidence.summary is None or evidence.monotonic_s <= 0:
        return
    limit_s = max(LEAST_S, evidence.monotonic_s * TOLERANCE)
    slept_s, set_s = evidence.boottime_s - evidence.monotonic_s, evidence.wall_s - evidence.boottime_s
    if abs(slept_s) > limit_s:
        yield SUSPENDED.mark(f"the machine was suspended for {slept_s:.0f} s")
    elif abs(set_s) > limit_s:
        yield JUMPED.mark(f"the clock was set by {set_s:+.0f} s while measuring")


CHECK = Check(find, (SUSPENDED, JUMPED), rank=10)
