"""Runs in the lab's guest, as root: builds filesystems from real permits, and prints one JSON line per case.

A case has a `layout` as scenarios have it, and a number of `disks`.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
from driver_bench import ACTIONS, Bench, Case, drive, instead, problem_of, sh, wait_for_pull

from raidtui.engine.compose.layout import disk_part, plan_layout
from raidtui.engine.compose.reading import read_document
from raidtui.gate.blank import make_blank
from raidtui.inventory.mounts import read_own_mounts
from raidtui.stack import directory, mounts
from raidtui.stack.context import Context
from raidtui.stack.layer import Draft, Planned

WORKLOAD = {"fio": {"rw": "write", "bs": "4KiB", "runtime": "1s"}}


class FsBench(Bench):
    name = "fs"

    def __init__(self) -> None:
        self.proofs: dict[str, Any] = {}
        super().__init__()
        self.proofs = {name: make_blank(permit) for name, permit in self.permits.items()}

    def fresh_context(self, *, permits: bool = True) -> Context:
        """Return a new context in which every disk is known to be blank."""
        context = super().fresh_context(permits=permits)
        context.zero_proof |= self.proofs
        return context

    def plan(self, case: Case) -> Planned:
        scenario = {"schema": "raidtui.scenario/1", "name": "t", "roles": {"data": {"count": case["disks"]}},
                    "layouts": {"it": case["layout"]}, "workloads": {"w": WORKLOAD},
                    "policy": {"initial_sync": "skip-if-zeroed"}}  # fmt: skip
        read = read_document(json.dumps(scenario)).scenario
        disks = [permit.disk for permit in self.permits.values() if permit.alive()][: case["disks"]]
        planned = plan_layout(read.layouts["it"], {"data": tuple(map(disk_part, disks))}, self.names(), read.policy)
        self.context = self.fresh_context()
        return self.keep(planned)

    def draft(self, action: str) -> Draft:
        assert self.planned is not None
        return next(draft for draft in (*self.planned.build, *self.planned.teardown) if draft.action == action)

    def clean(self) -> dict[str, Any]:
        """Take away everything as a recovering process would, from above; make disks blank; what is left then."""
        assert self.planned is not None
        self.context = self.fresh_context()
        undone = [ACTIONS[d.action].undo(self.context, d.args).result for d in reversed(self.planned.build) if d.creates]
        again = [ACTIONS[d.action].undo(self.context, d.args).result for d in reversed(self.planned.build) if d.creates]
        used = {name for draft in self.planned.build for name in draft.args.disks}
        for name in used:
            if self.permits[name].alive():
                make_blank(self.permits[name])
        left = {
            "mounts": [mount.point for mount in read_own_mounts() if mount.point.startswith(mounts.FOLDER)],
            "folders": os.listdir(mounts.FOLDER) if os.path.isdir(mounts.FOLDER) else [],
        }
        return {"undo": undone, "again": again, "left": {what: found for what, found in left.items() if found}}

    def give_up(self) -> dict[str, Any]:
        return self.clean()

    def sick(self) -> list[str]:
        """Return the reasons why numbers of the mounted filesystem would be wrong."""
        return list(ACTIONS["fs.mount"].health(self.context, self.draft("fs.mount").args))


def whole(bench: FsBench, case: Case) -> dict[str, Any]:
    """Build, look, take down, look again."""
    planned = bench.plan(case)
    seen = bench.build(planned)
    make = bench.draft("fs.make")
    seen["args"] = msgspec.to_builtins(make.args)
    seen["health"] = bench.sick()
    seen["members"] = dict(ACTIONS["fs.mount"].members(bench.context, make.args))
    seen["made again"] = bench.run(make).result
    seen["mounted again"] = bench.run(bench.draft("fs.mount")).result
    seen["mode"] = oct(Path(mounts.FOLDER).stat().st_mode & 0o777)
    seen["teardown"] = []
    for draft in planned.teardown:
        outcome = bench.run(draft)
        seen["commands"][draft.action] = outcome.commands
        seen["planned"][draft.action] = draft.commands
        seen["teardown"].append(outcome.result)
    return {**seen, **bench.clean()}


def killed(bench: FsBench, case: Case) -> dict[str, Any]:
    """mkfs dies in the middle, at several moments; an undo each time."""
    seen: list[Any] = []
    for after_s in case["after_s"]:
        make = bench.plan(case).build[-3]
        bench.let_go()
        child = subprocess.Popen(make.commands[0], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(after_s)
        ended = child.poll()
        child.kill()
        child.wait()
        seen.append({"after_s": after_s, "ended": ended, **bench.clean()})
    return {"kills": seen}


def busy(bench: FsBench, case: Case) -> dict[str, Any]:
    """Somebody works in it while it is to be unmounted; then he ends."""
    bench.build(bench.plan(case))
    point = bench.context.path(bench.draft("fs.mount").args.ref)
    user = subprocess.Popen(["sleep", "600"], cwd=point)
    with instead(mounts, "BUSY_PATIENCE_S", 1.0):
        refused = problem_of(lambda: bench.run(bench.draft("fs.unmount")))
    still = [mount.kind for mount in mounts.at(point)]
    user.kill()
    user.wait()
    return {"refused": refused, "pid": user.pid, "still": still, **bench.clean()}


def covered(bench: FsBench, case: Case) -> dict[str, Any]:
    """Somebody mounts something else over it: it is not measured, and what is his is not unmounted."""
    bench.build(bench.plan(case))
    point = bench.context.path(bench.draft("fs.mount").args.ref)
    sh(f"mount -t tmpfs none {point}")
    sick = bench.sick()
    with instead(mounts, "BUSY_PATIENCE_S", 1.0):
        refused = problem_of(lambda: bench.run(bench.draft("fs.unmount")))
    theirs = [mount.kind for mount in mounts.at(point)]
    sh(f"umount {point}")
    elsewhere = f"{point}-elsewhere"
    sh(f"mkdir {elsewhere} && mount --bind {point} {elsewhere}")
    with instead(directory, "PATIENCE_S", 1.0):
        second = problem_of(lambda: bench.run(bench.draft("fs.unmount")))
    sh(f"umount {elsewhere} && rmdir {elsewhere}")
    return {"health": sick, "refused": refused, "theirs": theirs, "elsewhere": second, **bench.clean()}


def left_behind(bench: FsBench, case: Case) -> dict[str, Any]:
    """A dead runner's mount goes on in the namespace of a daemon that it had started."""
    planned = bench.plan(case)
    for draft in planned.build:
        if draft.action == "fs.mount":
            break
        bench.run(draft)
    mounts.make_point(draft.args.name)
    (argv,) = draft.commands
    bench.let_go()
    daemon = subprocess.Popen(["unshare", "--mount", "sh", "-c", f"{' '.join(argv)} && exec sleep 600"])
    point = mounts.point_of(draft.args.name)
    while point not in Path(f"/proc/{daemon.pid}/mounts").read_text():
        time.sleep(0.05)
    seen = bench.clean()
    daemon.kill()
    daemon.wait()
    return seen


def foreign(bench: FsBench, case: Case) -> dict[str, Any]:
    """Somebody else's filesystem is on the device."""
    make = bench.plan(case).build[0]
    path = bench.context.path(make.args.devices[0])
    bench.let_go()
    sh(f"mkfs.ext4 -q {path}")
    before = sh(f"blkid -p {path}")
    refused = problem_of(lambda: bench.run(make))
    undone = ACTIONS["fs.make"].undo(bench.context, make.args).result
    return {"refused": refused, "undone": undone, "same": sh(f"blkid -p {path}") == before, **bench.clean()}


def unplugged(bench: FsBench, case: Case) -> dict[str, Any]:
    """The host pulls its disk out."""
    bench.build(bench.plan(case))
    point = bench.context.path(bench.draft("fs.mount").args.ref)
    wait_for_pull(bench, bench.draft("fs.make").args.disks[0])
    subprocess.run(f"dd if=/dev/zero of={point}/x bs=1M count=8 conv=fsync", shell=True, check=False, capture_output=True)
    return {"health": bench.sick(), **bench.clean()}


if __name__ == "__main__":
    drive(FsBench(), whole, killed, busy, covered, left_behind, foreign, unplugged)
