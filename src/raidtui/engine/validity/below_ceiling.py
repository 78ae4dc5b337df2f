"""Check that no cell is faster than the disks' PCIe links or the bare disks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.base.text import plural
from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.links import link_bytes_per_s
from raidtui.model.mark import Mark
from raidtui.model.measure import Direction, Summary, in_bulk

LINK_SLACK: Final = 1.02
BASELINE_SLACK: Final = 1.15
"""Disks of their own vary by this much from one cell to the next."""

LINK = Meaning(
    "above-link",
    "caution",
    "Faster than the disks' links",
    "More bytes were moved than the PCIe links of all the disks carry together: part of it never reached a disk.",
    "Look for a cache in front of the disks: memory (buffered I/O, the ARC), or data that becomes less on its way.",
)
BASELINE = Meaning(
    "above-disks",
    "caution",
    "Faster than its disks together",
    "The same disks, measured by themselves in this run, are slower than this together: either something answered in their "
    "place (memory, a cache, data that becomes less), or they were slower than they can be when they were alone.",
    "Look for a cache in front of the disks, and measure the disks again by themselves.",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    """Find rates above a bound, by direction. Other checks look for answers from memory."""
    summary, members = evidence.summary, evidence.members
    if summary is None or not members:
        return
    disks = [evidence.disks[use.disk] for use in members.values()]
    carried = link_bytes_per_s(disks)
    for word, flow in (("read", summary.read), ("written", summary.write)):
        if flow is None or not flow.ios:
            continue
        rate = flow.bytes_per_s
        if carried is not None and rate > LINK_SLACK * carried and _is_wire(evidence):
            yield LINK.mark(f"{rate / 1e9:.2f} GB/s were {word}, and the links of {plural(len(disks), 'disk')} "
                            f"carry {carried / 1e9:.2f} GB/s")  # fmt: skip
            continue
        alone = _alone(evidence, word)
        if alone is not None and rate > BASELINE_SLACK * alone:
            yield BASELINE.mark(f"{rate / 1e6:.0f} MB/s were {word}, and the same {plural(len(disks), 'disk')}, each by "
                                f"itself, come to {alone / 1e6:.0f} MB/s")  # fmt: skip


def _is_wire(evidence: Evidence) -> bool:
    """Return True if the links are plausible: no disk ever counted more than its link carries.

    One of a virtual machine need not be.
    """
    such = [evidence.disks[use.disk].link for use in evidence.members.values()]
    links = {name: link_bytes_per_s((disk,)) for name, disk in evidence.disks.items() if disk.link in such}
    for cell in (evidence.cell, *evidence.earlier):
        if cell.summary is None:
            continue
        # A ramp makes the counters cover more than the runtime.
        seconds = max(cell.seconds, cell.summary.runtime_s)
        for use in cell.devices.values():
            carries = links.get(use.disk)
            if carries is not None and max(use.read_bytes, use.written_bytes) > LINK_SLACK * carries * seconds:
                return False
    return True


def _alone(evidence: Evidence, word: str) -> float | None:
    """Return the best rate of these bare disks together in bytes per second; None if one of them was not measured.

    At their best in large blocks: small ones may be gathered on their way. A mix of reads and writes is nobody's best in
    either; under the same workload a disk may be faster still.
    """
    if evidence.on_disks:
        return None
    best: dict[str, float] = {}
    alike: dict[str, float] = {}
    for cell in evidence.earlier:
        found = _direction(cell.summary, word) if cell.valid and cell.summary is not None else None
        users = [use for use in cell.devices.values() if use.disk]
        if found is None or len(users) != 1 or users[0].role != "target":
            continue
        disk = users[0].disk
        if cell.workload == evidence.cell.workload:
            alike[disk] = max(found.bytes_per_s, alike.get(disk, 0.0))
        if in_bulk(found.ios, found.bytes) and cell.summary is not None and len(cell.summary.moved) == 1:
            best[disk] = max(found.bytes_per_s, best.get(disk, 0.0))
    wanted = {use.disk for use in evidence.members.values()}
    if not wanted <= best.keys():
        return None
    return sum(max(best[disk], alike.get(disk, 0.0)) for disk in wanted)


def _direction(summary: Summary, word: str) -> Direction | None:
    found = summary.read if word == "read" else summary.write
    return found if found is not None and found.ios else None


CHECK = Check(find, (LINK, BASELINE))
