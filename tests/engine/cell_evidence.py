"""A cell of an array of four, as clean runs leave it; tests change one fact of it at a time."""

from __future__ import annotations

from typing import Any

import msgspec

from raidtui.engine.validity import marks
from raidtui.engine.validity.evidence import Evidence
from raidtui.load.engine import Pattern
from raidtui.model.disk import Disk, Link
from raidtui.model.measure import Direction, Latency, Sample, Summary
from raidtui.model.result import Cell, DeviceUse

MIB = 1 << 20
SECONDS = 20
IOPS = 10_000.0
NAMES = ("nvme1n1", "nvme2n1", "nvme3n1", "nvme4n1")
LINK = Link(8.0, 4, 8.0, 4)
DISKS = {
    f"S{number}": Disk(f"S{number}", name, 1 << 40, f"S{number}", f"eui.{number}", "NVMe", transport="nvme", link=LINK,
                       write_cache="write back")
    for number, name in enumerate(NAMES, 1)
}  # fmt: skip
READS = Pattern((4096,), writes=False, random=True, in_flight_bytes=16384, whole_sectors=True, wholly_random=True)
WRITES = Pattern((4096,), writes=True, random=True, in_flight_bytes=16384, whole_sectors=True, wholly_random=True)


def direction(ios: int = int(IOPS * SECONDS), block: int = 4096, mean_us: float = 400.0) -> Direction:
    return Direction(ios, ios * block, ios / SECONDS, ios * block / SECONDS, float(SECONDS), Latency(mean_us=mean_us))


def samples(*rates: float) -> tuple[Sample, ...]:
    """One a second."""
    return tuple(
        Sample(at, 1.0, read=Direction(int(rate), int(rate) * 4096, rate, rate * 4096, 1.0))
        for at, rate in enumerate(rates, 1)
    )


def use(role: str, disk: str = "", share: float = 1.0, **changes: Any) -> DeviceUse:
    """A device that did this share of the reads of `cell()`."""
    done = int(IOPS * SECONDS * share)
    facts: dict[str, Any] = {"reads": done, "read_bytes": done * 4096, "mean_read_await_ms": 0.30,
                             "mean_utilisation_percent": 80.0, "flushes": 0}  # fmt: skip
    facts["series"] = {"read_await_ms": [changes.get("mean_read_await_ms", 0.30)] * SECONDS}
    return DeviceUse(role, disk, **(facts | changes))


def cell(**changes: Any) -> Cell:
    """Random reads of 4 KiB on raid0, 20 s."""
    awaits = (0.30, 0.31, 0.29, 0.30)
    devices = {
        name: use("member", f"S{number}", 0.25, mean_read_await_ms=awaits[number - 1])
        for number, name in enumerate(NAMES, 1)
    }
    facts: dict[str, Any] = {
        "summary": Summary(read=direction(), runtime_s=SECONDS, jobs=1), "samples": samples(*[IOPS] * SECONDS),
        "devices": {"md127": use("target"), **devices}, "threads": {"md127_raid0": 12.0},
    }  # fmt: skip
    return Cell("raid0/read/1", "raid0", "read", 1, False, **(facts | changes))


def evidence(of: Cell | None = None, **changes: Any) -> Evidence:
    summary = (of or cell()).summary
    read = summary.read.bytes if summary and summary.read else 0
    facts: dict[str, Any] = {
        "target_read_bytes": read, "target_written_bytes": summary.written_bytes if summary else 0,
        "monotonic_s": 21.0, "boottime_s": 21.0, "wall_s": 21.0, "pattern": READS, "region_bytes": 100 << 30,
        "disks": DISKS, "memory_bytes": 64 << 30,
    }  # fmt: skip
    return Evidence(of or cell(), **(facts | changes))


def with_devices(of: Cell, changes: dict[str, dict[str, Any]]) -> Cell:
    """The cell, with facts of these devices changed."""
    replaced = {name: msgspec.structs.replace(of.devices[name], **change) for name, change in changes.items()}
    return msgspec.structs.replace(of, devices={**of.devices, **replaced})


def codes(seen: Evidence) -> list[str]:
    return [mark.code for mark in marks(seen)]
