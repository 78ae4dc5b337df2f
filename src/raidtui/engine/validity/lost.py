"""No disk was lost while it was measured."""

from __future__ import annotations

from collections.abc import Iterator

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark

LOST = Meaning(
    "disk-lost",
    "invalid",
    "A disk was lost",
    "The disk went away while it was measured: from then on there was one less, or nothing at all.",
    "Look at the disk, its slot and its cable, and at dmesg. When it is back, `raidtui recover` makes it blank.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    return (LOST.mark(f"disk {disk} was lost", about=disk) for disk in evidence.lost)


CHECK = Check(find, (LOST,), rank=1)
