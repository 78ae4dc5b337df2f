"""Runs in the guest: kills a runner before or after a chosen journal record, recovers, and says what was left.

    python3 -I kill_driver.py SCENARIO BINDING.json POINTS

POINTS: `count`, or `3:before,3:after,…`, or `all`. One JSON line per point on stdout.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, "/opt/raidtui")

from raidtui import inventory
from raidtui.engine import runs
from raidtui.engine.journal import Journal
from raidtui.engine.methods import _plan
from raidtui.engine.recover import recover
from raidtui.engine.runner import Runner
from raidtui.model.event import LIVE
from raidtui.model.plan import Options
from raidtui.model.protocol import PlanRequest


def arm(number: int, when: str) -> None:
    """Have this process killed by SIGKILL before or after it journals record `number` (live numbers do not count)."""
    original = Journal.append
    seen = 0

    def append(self, event):
        nonlocal seen
        if isinstance(event, LIVE):
            return original(self, event)
        seen += 1
        if seen == number and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        record = original(self, event)
        if seen == number and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return record

    Journal.append = append


def start(request: PlanRequest) -> os.PathLike:
    plan, _ = _plan(request, "")
    return runs.create(plan)[1]


def child(work) -> int:
    """Run `work` in a process of its own; its wait status."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = int(work() or 0)
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def records(folder) -> int:
    from raidtui.engine.journal import read_journal

    return sum(not isinstance(record.event, LIVE) for record in read_journal(folder))


def arrays() -> list[str]:
    """Arrays, LVM volumes, and ZFS pools and volumes."""
    pools = [path.name for path in Path("/proc/spl/kstat/zfs").glob("*/") if path.is_dir()]
    return pools + [name for name in os.listdir("/sys/block") if name.startswith(("md", "dm-", "zd"))]


def main() -> None:
    scenario, binding, points = sys.argv[1:4]
    bind = {role: tuple(ids) for role, ids in json.loads(binding).items()}
    request = PlanRequest(Path(scenario).read_text(), bind, Options(quick=True))
    if points in ("count", "all"):
        folder = start(request)
        status = child(lambda: Runner(folder).run())
        total = records(folder)
        print(json.dumps({"records": total, "exit": os.waitstatus_to_exitcode(status)}), flush=True)
        if points == "count":
            return
        wanted = [(n, when) for n in range(1, total + 1) for when in ("before", "after")]
    else:
        wanted = [(int(n), when) for n, _, when in (point.partition(":") for point in points.split(","))]
    for number, when in wanted:
        folder = start(request)

        def work(folder=folder, number=number, when=when):
            arm(number, when)
            return Runner(folder).run()

        status = child(work)
        began = time.monotonic()
        first = next(iter(recover(folder.name)))
        seconds = time.monotonic() - began
        size = (folder / "journal.jsonl").stat().st_size if (folder / "journal.jsonl").exists() else 0
        again = next(iter(recover(folder.name)))
        size_again = (folder / "journal.jsonl").stat().st_size if size else 0
        wanted_ids = {disk for ids in bind.values() for disk in ids}
        busy = {
            disk.id: [reason.message for reason in disk.reasons]
            for disk in inventory.scan(held=runs.held_disks())
            if disk.id in wanted_ids and not disk.free
        }
        print(
            json.dumps(
                {
                    "point": f"{number}:{when}",
                    "killed": os.waitstatus_to_exitcode(status) == -signal.SIGKILL,
                    "recover_exit": first.exit,
                    "problems": [p.message for p in first.problems],
                    "actions": list(first.actions),
                    "seconds": round(seconds, 1),
                    "again": [again.exit, list(again.actions), size == size_again],
                    "busy": busy,
                    "arrays": arrays(),
                    "state": runs.info(folder).state,
                }
            ),
            flush=True,
        )


main()
