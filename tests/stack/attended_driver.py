"""Runs in the lab's guest, as root: builds LVM volumes on slow and on hung disks, and says what it saw as JSON.

Arguments: which of the functions below.

The host slows the disks down: this asks for it by a line in `/run/attended-ask`, and goes on when `/run/attended-done` has
the same line.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from driver_bench import ACTIONS, problem_of
from lvm_driver import LvmBench, undone

from raidtui.base.attention import Attention
from raidtui.stack import context
from raidtui.stack.action import Outcome
from raidtui.stack.blank import DisksToBlank
from raidtui.stack.layer import Draft
from raidtui.stack.lvm import devices

LIMIT_S = 4.0
CHECKSUMS = {"on": 2, "sync": "skip-if-zeroed", "lvm": {"type": "raid1", "size": "32MiB", "integrity": {"mode": "bitmap"}}}


class Attended(LvmBench):
    """Its steps run as the runner runs them, with little patience."""

    def run(self, draft: Draft) -> Outcome:
        with self.context.attended():
            return super().run(draft)

    def group(self) -> tuple[Draft, Draft]:
        """A group that is there; the steps of it and of its volume."""
        planned = self.plan(CHECKSUMS)
        self.build(planned, until="lvm.group")
        self.reports.clear()
        return planned.build[0], next(draft for draft in planned.build if draft.action == "lvm.volume")


def ask(what: str) -> None:
    Path("/run/attended-ask").write_text(what)
    done = Path("/run/attended-done")
    while not done.exists() or done.read_text().strip() != what:
        time.sleep(0.1)


def slow(bench: Attended) -> dict[str, Any]:
    """A volume whose creation writes for longer than nothing may move."""
    group, volume = bench.group()
    ask(f"slow {' '.join(group.args.disks)}")
    began = time.monotonic()
    outcome = bench.run(volume)
    seconds = time.monotonic() - began
    ask(f"fast {' '.join(group.args.disks)}")
    return {"result": outcome.result, "seconds": seconds, "reports": list(bench.reports), **undone(bench, group.args)}


def cancelled(bench: Attended) -> dict[str, Any]:
    """The operator cancels while it writes."""
    group, volume = bench.group()
    ask(f"slow {' '.join(group.args.disks)}")
    threading.Timer(3.0, bench.cancelled.set).start()
    stopped = problem_of(lambda: bench.run(volume))
    ask(f"fast {' '.join(group.args.disks)}")
    bench.cancelled.clear()
    left = devices.lvm_commands([group.args.name])
    return {"stopped": stopped, "left running": left, **undone(bench, group.args)}


def hung(bench: Attended) -> dict[str, Any]:
    """A disk of the group hangs, then it is to be made blank; in the end it answers again."""
    group, volume = bench.group()
    disk = group.args.disks[0]
    ask(f"hang {disk}")
    stuck = problem_of(lambda: bench.run(volume))
    blank = bench.run(Draft("disks.blank", "", DisksToBlank((f"disk:{disk}",)))).problems
    ask(f"fast {disk}")
    name = bench.permits[disk].disk.name
    return {"stuck": stuck, "blank": [[one.code, one.message] for one in blank], "name": name, **undone(bench, group.args)}


def main() -> None:
    context.Attention = partial(Attention, limit_s=LIMIT_S)  # type: ignore[assignment, misc]
    bench = Attended()
    for work in (found for found in (slow, cancelled, hung) if found.__name__ in sys.argv[1:]):
        began = time.monotonic()
        bench.context = bench.fresh_context()
        seen = work(bench)
        print(json.dumps({"case": work.__name__, "took": round(time.monotonic() - began, 1), **seen}), flush=True)
    for disk, permit in bench.permits.items():
        bench.context.written.add(disk)
        assert permit.alive()
    ACTIONS["disks.blank"].do(bench.context, DisksToBlank(tuple(f"disk:{disk}" for disk in bench.permits)))


if __name__ == "__main__":
    main()
