"""Hand-made records of a run whose layout is loaded by other hosts."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

from made import MACHINE, plan, print_of

from raidtui.model.event import AnyEvent, CellStarted, FrameTaken, HostSampled, Record, RunStarted, StepStarted
from raidtui.model.frame import Frame
from raidtui.model.hosts import HostLoad
from raidtui.model.plan import CellPlan, Host, Plan, Step

RUN = "20261125-120000-hostviews"
CELL = "nvme-tcp/read#1"


def hosts(count: int) -> tuple[Host, ...]:
    return tuple(
        Host(f"clients-{n}", f"root@10.10.{n}.2", f"c{n}", f"m{n}", f"b{n}", "6.12", f"10.10.{n}.2", f"10.10.{n}.1")
        for n in range(1, count + 1)
    )


def plan_of(count: int = 2) -> Plan:
    step = Step("s1", "measure", f"{CELL}: measure", "measure", "nvme-tcp#1", cell=CELL, seconds=60)
    return plan(steps=(step,), cells=(CellPlan(CELL, "nvme-tcp", "read", 1),), seconds=60.0,
                hosts={"clients": hosts(count)}, binding={"data": (print_of(1), print_of(2))})  # fmt: skip


def load(number: int, second: int) -> HostLoad:
    iops = 20_000.0 * number + 500 * (second % 7)
    return HostLoad(1.0, ("nvme1n1",), iops, 0.0, iops * 4096, 0.0, 60.0 + 20 * number, 1.5 * number, 4,
                    {"eth1": (iops * 4200, iops * 90)})  # fmt: skip


def frame(second: int) -> Frame:
    ios, ticks = 30_000 * second, 100 * second
    line = f"{ios} 0 {ios * 8} {ticks * 3} 0 0 0 0 4 {ticks * 9} {ticks * 20} 0 0 0 0 0 0"
    cores = {f"cpu{n}": f"{ticks // (n + 2)} 0 0 {ticks - ticks // (n + 2)} 0 0 0 0" for n in range(4)}
    sent = 250_000_000 * second
    return Frame(float(second), float(second), 1.0 if second else None, second == 0, {"nvme1n1": line, "nvme2n1": line},
                 cpus=cores, networks={"to-c1": f"{sent // 50} 9 0 0 {sent} 99 0 0"})  # fmt: skip


def records(count: int = 2, seconds: int = 30) -> list[Record]:
    """A cell that two (or more) clients have loaded for so many seconds."""
    found: list[tuple[float, AnyEvent]] = [
        (0.0, RunStarted(RUN, plan_of(count), MACHINE, 1, "0")),
        (0.1, StepStarted("s1", f"{CELL}: measure", "measure", "nvme-tcp#1", CELL)),
        (0.1, CellStarted(CELL, 1, 1, {"nvme1n1": "member", "nvme2n1": "member"})),
    ]
    for second in range(seconds + 1):
        found.append((1.0 + second, FrameTaken(frame(second))))
        found += [(1.1 + second, HostSampled(f"clients-{n}", load(n, second))) for n in range(1, count + 1)]
    return [Record(number, at_s, "", event) for number, (at_s, event) in enumerate(found, 1)]
