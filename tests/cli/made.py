"""Hand-made model objects: a plan over three disks, and the records of a run of it. Used where no real run is needed."""

from __future__ import annotations

import json
from typing import Any

from raidtui.model.convert import encode
from raidtui.model.disk import Disk, Fingerprint, Link, Reason
from raidtui.model.event import (
    AnyEvent,
    CellDone,
    CellStarted,
    DisksAdmitted,
    FrameTaken,
    Noted,
    Record,
    RunFinished,
    RunStarted,
    StepDone,
    StepProgressed,
    StepStarted,
    WorkloadSampled,
)
from raidtui.model.frame import Frame
from raidtui.model.measure import Direction, Latency, Sample, Summary
from raidtui.model.plan import CellPlan, Created, Options, Plan, Step
from raidtui.model.problem import Problem
from raidtui.model.protocol import DiskList
from raidtui.model.result import Built, Cell, Machine, Result

RUN = "20260131-120000-abcd1234"
HOSTILE = "EVIL\x1b[31m\u202e[/dev/sda][red]"
MACHINE = Machine(
    "stor1", "6.12.0-1-amd64", "Debian GNU/Linux 13", "AMD EPYC 7302", 32, 256 << 30, 1, "performance",
    tools={"fio": "3.39", "mdadm": "4.4"},
)  # fmt: skip
SCENARIO = {
    "schema": "raidtui.scenario/1",
    "name": "tiny",
    "title": "One disk against a mirror",
    "roles": {"data": {"count": 2, "where": {}}},
    "layouts": {"disk": {"disk": {"on": "@data", "mode": "each"}}, "raid1": {"md": {"level": "raid1", "on": "@data"}}},
    "workloads": {
        "sync-4k": {"fio": {"rw": "randwrite", "bs": "4KiB", "fsync": 1, "runtime": "10s"}},
        "seq-1m": {"fio": {"rw": "write", "bs": "1MiB", "iodepth": 8, "runtime": "10s"}},
    },
}


def plain(value: object) -> Any:
    """Any model value as what a JSON reader would find."""
    return json.loads(encode(value))


def disk(number: int, **changes: object) -> Disk:
    facts: dict[str, object] = {
        "id": f"S64GNE0R10000{number}",
        "name": f"nvme{number}n1",
        "size_bytes": 1_920_383_410_176,
        "serial": f"S64GNE0R10000{number}",
        "wwid": f"eui.36344730521000{number}",
        "model": "SAMSUNG MZQL21T9HCJR-00A07",
        "firmware": "GDC5602Q",
        "transport": "nvme",
        "rotational": False,
        "link": Link(16.0, 4, 16.0, 4),
        "temperature_c": 38.0,
    }
    return Disk(**(facts | changes))  # type: ignore[arg-type]


def print_of(number: int, **changes: object) -> Fingerprint:
    d = disk(number, **changes)
    return Fingerprint(d.id, d.serial, d.wwid, d.model, d.size_bytes, d.logical_sector_bytes, number, "boot")


def disk_list() -> DiskList:
    mounted = Reason("mounted", "mounted on /srv (ext4, nvme2n1p1)", "Unmount it, if nothing needs it any more.")
    root = Reason("system-disk", "the running system stands on it", system=True)
    odd = disk(4, id=HOSTILE, serial=HOSTILE, model="[bold]\x9b2J\x7f", link=None, temperature_c=None)
    return DiskList(
        "raidtui.disks/1", "stor1", "boot",
        (
            disk(1),
            disk(2, link=Link(8.0, 4, 16.0, 4), reasons=(mounted, Reason("open", "open by postgres (pid 812)"))),
            disk(3, transport="sata", rotational=True, link=None, reasons=(root,)),
            odd,
        ),
        at="2026-01-31T12:00:00.123+00:00",
    )  # fmt: skip


def plan(**changes: object) -> Plan:
    prints = (print_of(1), print_of(2))
    create = ("mdadm", "--create", "/dev/md/rtabcd1234a", "--level=raid1", "--raid-devices=2", "disk:1", "disk:2")
    facts: dict[str, object] = {
        "digest": "1f3a" * 16,
        "token": "abcd1234",
        "scenario": SCENARIO,
        "options": Options(),
        "binding": {"data": prints},
        "steps": (
            Step("s1", "gate", "check both disks again, under lock", "prepare", seconds=2),
            Step("s2", "md.create", "create raid1 over 2 disks", "build", "raid1#1", commands=(create,),
                 undo=(("mdadm", "--stop", "/dev/md/rtabcd1234a"),), creates=Created("md", "rtabcd1234a", "u-1"),
                 erases=("S64GNE0R100001", "S64GNE0R100002"), seconds=3),
            Step("s3", "measure", "raid1/sync-4k#1: measure", "measure", "raid1#1", cell="raid1/sync-4k#1",
                 commands=(("fio", "--rw=randwrite"),), writes_bytes=None, seconds=10),
            Step("s4", "measure", "raid1/seq-1m#1: measure", "measure", "raid1#1", cell="raid1/seq-1m#1",
                 commands=(("fio", "--rw=write"),), writes_bytes=None, seconds=10),
            Step("s5", "md.remove", "stop raid1 and blank its disks", "teardown", "raid1#1", seconds=5),
        ),
        "cells": (CellPlan("raid1/sync-4k#1", "raid1", "sync-4k", 1), CellPlan("raid1/seq-1m#1", "raid1", "seq-1m", 1)),
        "erases": ("S64GNE0R100001", "S64GNE0R100002"),
        "seconds": 30.0,
        "writes_bytes": None,
        "warnings": ("the disks have a write cache that is on",),
    }  # fmt: skip
    return Plan(**(facts | changes))  # type: ignore[arg-type]


def summary(iops: float, block: int, mean_us: float) -> Summary:
    write = Direction(int(iops * 10), int(iops * 10 * block), iops, iops * block, 10.0,
                      Latency(mean_us, mean_us, mean_us * 3, mean_us * 4, mean_us * 9))  # fmt: skip
    return Summary(write=write, runtime_s=10.0, jobs=1)


def cell(layout: str, workload: str, iops: float, *, reasons: tuple[str, ...] = (), part: str = "", round: int = 1) -> Cell:
    block = 4096 if workload == "sync-4k" else 1 << 20
    return Cell(f"{layout}/{workload}#{round}", layout, workload, round, not reasons, reasons, part,
                summary(iops, block, 1e6 / iops), write_amplification=2.0, cpu_cores_used=0.41, seconds=10.2)  # fmt: skip


def sample(iops: float = 6000.0, at_s: float = 1.0) -> Sample:
    return Sample(
        at_s, 1.0, write=Direction(int(iops), int(iops * 4096), iops, iops * 4096, 1.0, Latency(160.0, p99_us=480.0))
    )


def events(*, exit: int = 0, outcome: str = "done") -> list[tuple[float, AnyEvent]]:
    """The run of `plan()`: second of the run, event."""
    bad = ("the array resynced while it was measured",) if exit == 5 else ()
    devices = {"md127": "target", "nvme1n1": "member", "nvme2n1": "member"}
    problems = (Problem("invalid-cells", "1 cell is not valid", exit=5),) if exit == 5 else ()
    return [
        (0.0, RunStarted(RUN, plan(), MACHINE, 4711, "0.1.0")),
        (0.1, StepStarted("s1", "check both disks again, under lock", "gate")),
        (1.0, DisksAdmitted(("S64GNE0R100001", "S64GNE0R100002"), {})),
        (1.1, StepDone("s1", "done", 1.0)),
        (1.2, StepStarted("s2", "create raid1 over 2 disks", "md.create", "raid1#1")),
        (2.0, StepProgressed("s2", "waiting for udev", 0.5)),
        (4.0, StepDone("s2", "created", 2.8)),
        (4.0, Noted("no initial sync: all members were proven zero")),
        (4.1, StepStarted("s3", "raid1/sync-4k#1: measure", "measure", "raid1#1", "raid1/sync-4k#1")),
        (4.1, CellStarted("raid1/sync-4k#1", 1, 2, devices)),
        (5.1, WorkloadSampled("raid1/sync-4k#1", sample(6000.0, 1.0))),
        (5.2, FrameTaken(Frame(at_s=5.2, unix_s=5.2))),
        (14.2, WorkloadSampled("raid1/sync-4k#1", sample(6100.0, 10.0))),
        (14.5, CellDone(cell("raid1", "sync-4k", 6050.0))),
        (14.5, StepDone("s3", "done", 10.4)),
        (14.6, StepStarted("s4", "raid1/seq-1m#1: measure", "measure", "raid1#1", "raid1/seq-1m#1")),
        (14.6, CellStarted("raid1/seq-1m#1", 2, 2, devices)),
        (25.0, CellDone(cell("raid1", "seq-1m", 2600.0, reasons=bad))),
        (25.0, StepDone("s4", "done", 10.4)),
        (25.1, StepStarted("s5", "stop raid1 and blank its disks", "md.remove", "raid1#1")),
        (28.0, StepDone("s5", "undone", 2.9)),
        (28.1, RunFinished(exit, outcome, problems)),
    ]


def records(*, exit: int = 0, outcome: str = "done") -> list[Record]:
    return [
        Record(number, at_s, f"2026-01-31T12:00:{int(at_s):02d}.000Z", event)
        for number, (at_s, event) in enumerate(events(exit=exit, outcome=outcome), 1)
    ]


def result(*cells: Cell, layouts: tuple[Built, ...] | None = None, **changes: object) -> Result:
    one, two = "S64GNE0R100001", "S64GNE0R100002"
    measured = cells or (
        cell("disk", "sync-4k", 9000.0, part=one), cell("disk", "seq-1m", 2700.0, part=one),
        cell("disk", "sync-4k", 9100.0, part=two), cell("disk", "seq-1m", 2710.0, part=two),
        cell("raid1", "sync-4k", 6050.0), cell("raid1", "sync-4k", 6250.0, round=2),
        cell("raid1", "seq-1m", 2600.0, reasons=("the array resynced while it was measured",)),
        cell("raid1", "seq-1m", 2650.0, round=2),
    )  # fmt: skip
    built = Built("raid1", 1, "built", {"level": "raid1"}, {"rtabcdefgha": {"level": "raid1", "raid_disks": 2}},
                  "skipped: all members were proven zero (discard)", 1 << 40, seconds=2.8, taken_down=True)  # fmt: skip
    broken = Built("raid5", 1, "failed", seconds=0.4,
                   problem=Problem("tool-failed", "mdadm refused: device busy", exit=4))  # fmt: skip
    facts: dict[str, object] = {
        "schema": "raidtui.result/1", "version": "0.1.0", "run": RUN, "plan_digest": "1f3a" * 16, "rehearsal": False,
        "complete": True, "started": "2026-01-31T12:00:00Z", "finished": "2026-01-31T12:01:00Z", "exit": 0,
        "outcome": "done", "scenario": SCENARIO, "options": Options(), "binding": {"data": (print_of(1), print_of(2))},
        "machine": MACHINE, "disks": (disk(1), disk(2)), "layouts": (built, broken) if layouts is None else layouts,
        "cells": measured,
    }  # fmt: skip
    return Result(**(facts | changes))  # type: ignore[arg-type]
