"""No array synchronised, checked or rebuilt itself while it was measured."""

from __future__ import annotations

from collections.abc import Iterator

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark
from raidtui.watch.series import FULL

RESYNC = Meaning(
    "resyncing",
    "invalid",
    "An array was busy with itself",
    "While it synchronises, checks or rebuilds, an array reads and writes for itself: workload and array share the disks.",
    "Wait until it is done (`cat /proc/mdstat`), or run the cell again (--layout, --workload). Monthly checks are started "
    "by a timer of mdadm.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    for busy in evidence.busy:
        if busy.action != FULL and busy.device in evidence.cell.devices:
            at = f"from second {busy.at_s:.0f} on" if busy.at_s >= 1 else "from its beginning"
            yield RESYNC.mark(f"the array was busy with {busy.action}, {at}", about=busy.device, at_s=busy.at_s)


CHECK = Check(find, (RESYNC,), rank=5)
