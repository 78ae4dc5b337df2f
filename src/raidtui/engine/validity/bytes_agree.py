"""The devices' own counters agree with the bytes that the workload says it moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark
from raidtui.model.units import size_text
from raidtui.watch.series import PROBE_BYTES, counters_agree

TOLERANCE: Final = 0.02

DISAGREE = Meaning(
    "bytes-disagree",
    "invalid",
    "Devices and workload disagree",
    "What the kernel counted on the devices is not what the workload says it moved: it ran on something else, something "
    "else ran on the devices too, or part of it never left the machine's memory.",
    "Let nothing else use the devices; use direct I/O; then run the cell again (--layout, --workload).",
)
UNKNOWN = Meaning(
    "bytes-unknown",
    "invalid",
    "The devices' counters could not be read",
    "Without them nobody can say that the workload ran on the target.",
    "Look at dmesg: the device probably went away. Then run the cell again (--layout, --workload).",
)


def find(evidence: Evidence) -> Iterator[Mark]:
    summary = evidence.summary
    if summary is None or evidence.cancelled or evidence.lost or evidence.counted == "no":
        return
    read = summary.read.bytes if summary.read else 0
    # What udev reads when a job closes the device is not the workload's; in a ramp the workload keeps no count itself.
    passes = len(evidence.cell.steady.passes) if evidence.cell.steady is not None else 1
    probes = PROBE_BYTES * max(1, summary.jobs) * max(1, passes)
    for verb, said, counted, extra in (
        ("read", read, evidence.target_read_bytes, probes),
        ("written", summary.written_bytes, evidence.target_written_bytes, 0),
    ):
        if verb == "written" and counted is not None and counted < said <= _written_below_cache(evidence) * (1 + TOLERANCE):
            continue
        if counted is None:
            yield UNKNOWN.mark(f"the target's own count of bytes {verb} could not be read")
        elif evidence.counted == "at least" and counted < said * (1 - TOLERANCE):
            yield DISAGREE.mark(
                f"the devices counted {size_text(counted)} {verb}, the workload reports {size_text(said)}: "
                "the rest never left the machine's memory"
            )
        elif evidence.counted == "exactly" and not counters_agree(
            said, counted, extra_bytes=counted if evidence.has_ramp else extra
        ):
            yield DISAGREE.mark(
                f"the target counted {size_text(counted)} {verb}, the workload reports {size_text(said)}: "
                "it did not run on the target alone"
            )


def _written_below_cache(evidence: Evidence) -> int:
    """Bytes written to the devices of bcache, where it is what is measured; 0 where it is not.

    bcache does not count on its own device what is written past its cache: the request itself is sent on to the backing
    device, and nothing is left of its length when its end is counted (request.c, cached_dev_write and bio_complete).
    """
    devices = evidence.cell.devices
    if not all(name.startswith("bcache") for name, use in devices.items() if use.role == "target"):
        return 0
    return sum(use.written_bytes or 0 for use in devices.values() if use.role in ("backing", "cache"))


CHECK = Check(find, (DISAGREE, UNKNOWN), rank=10)
