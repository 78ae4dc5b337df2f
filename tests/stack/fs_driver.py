"""Runs in the lab's guest, as root: builds filesystems from real permits and says what it saw, one JSON line per case.

Standard input: a JSON list of cases, each with a `do` (a function below), a `layout` as scenarios have it, and a number of
`disks`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, "/opt/raidtui")

import msgspec

from raidtui.engine.compose.planner import disk_part, plan_layout
from raidtui.engine.compose.reading import read_document
from raidtui.gate.admit import admit
from raidtui.gate.blank import make_blank
from raidtui.inventory import boot_id, scan
from raidtui.inventory.mounts import read_own_mounts
from raidtui.model.disk import fingerprint
from raidtui.model.plan import Names
from raidtui.model.problem import ProblemError
from raidtui.stack import directory, mounts
from raidtui.stack.action import BoundAction, Outcome, signatures_left
from raidtui.stack.catalog import all_actions
from raidtui.stack.context import Context
from raidtui.stack.layer import Draft, Planned

ACTIONS = all_actions()
WORKLOAD = {"fio": {"rw": "write", "bs": "4KiB", "runtime": "1s"}}


def sh(line: str) -> str:
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout


class Bench:
    """All disks of the guest, admitted once."""

    def __init__(self) -> None:
        found = [disk for disk in scan() if disk.free]
        permits = admit("fs-tests", [fingerprint(disk, boot_id()) for disk in found])
        self.permits = {permit.disk.id: permit for permit in permits}
        self.proofs = {name: make_blank(permit) for name, permit in self.permits.items()}
        self.drafts: list[Draft] = []
        self.context = self.fresh_context()
        self.count = 0
        self.planned: Planned | None = None

    def fresh_context(self) -> Context:
        """As a new process would have it: nothing built; every disk is known to be blank between cases."""
        folder = Path("/run/raidtui-fs-tests")
        (folder / "work").mkdir(exist_ok=True, parents=True)
        context = Context("fs-tests", folder, self.permits, lambda *_: None, threading.Event())
        context.zero_proof |= self.proofs
        return self.knowing(context)

    def let_go(self) -> None:
        """Let others have the disks: what is done next is not done by a run."""
        for permit in self.permits.values():
            permit.let_go()

    def knowing(self, context: Context) -> Context:
        """With what a run knows of its disks: they may carry what it wrote, and any signature that was planned."""
        context.written |= self.permits.keys()
        context.ours = lambda: signatures_left(BoundAction(ACTIONS[draft.action], draft.args) for draft in self.drafts)
        return context

    def plan(self, case: dict[str, Any]) -> Planned:
        scenario = {"schema": "raidtui.scenario/1", "name": "t", "roles": {"data": {"count": case["disks"]}},
                    "layouts": {"it": case["layout"]}, "workloads": {"w": WORKLOAD},
                    "policy": {"initial_sync": "skip-if-zeroed"}}  # fmt: skip
        read = read_document(json.dumps(scenario)).scenario
        disks = [permit.disk for permit in self.permits.values() if permit.alive()][: case["disks"]]
        self.count += 1
        names = Names(f"{os.getpid():x}{self.count}")
        self.planned = plan_layout(read.layouts["it"], {"data": tuple(map(disk_part, disks))}, names, read.policy)
        self.context = self.fresh_context()
        self.drafts += self.planned.build
        return self.planned

    def run(self, draft: Draft) -> Outcome:
        return ACTIONS[draft.action].do(self.context, draft.args)

    def build(self, planned: Planned) -> dict[str, Any]:
        """Run the build steps; facts by action."""
        facts: dict[str, Any] = {"commands": {}, "planned": {}}
        for draft in planned.build:
            outcome = self.run(draft)
            facts[draft.action] = outcome.facts
            facts["commands"][draft.action] = outcome.commands
            facts["planned"][draft.action] = draft.commands
        return facts

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


def health(bench: Bench) -> list[str]:
    draft = bench.draft("fs.mount")
    return list(ACTIONS["fs.mount"].health(bench.context, draft.args))


@contextmanager
def patience(module: Any, name: str, seconds: float) -> Iterator[None]:
    """What is known to be in use is not waited for as long as usual; everything after it is."""
    usual = getattr(module, name)
    setattr(module, name, seconds)
    try:
        yield
    finally:
        setattr(module, name, usual)


def problem_of(work: Callable[[], object]) -> list[Any]:
    try:
        work()
    except ProblemError as error:
        found = error.problems[0]
        return [found.code, found.message, found.exit]
    return []


def whole(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Build, look, take down, look again."""
    planned = bench.plan(case)
    seen = bench.build(planned)
    make = bench.draft("fs.make")
    seen["args"] = msgspec.to_builtins(make.args)
    seen["health"] = health(bench)
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


def killed(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
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


def busy(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Somebody works in it while it is to be unmounted; then he ends."""
    bench.build(bench.plan(case))
    point = bench.context.path(bench.draft("fs.mount").args.ref)
    user = subprocess.Popen(["sleep", "600"], cwd=point)
    with patience(mounts, "BUSY_PATIENCE_S", 1.0):
        refused = problem_of(lambda: bench.run(bench.draft("fs.unmount")))
    still = [mount.kind for mount in mounts.at(point)]
    user.kill()
    user.wait()
    return {"refused": refused, "pid": user.pid, "still": still, **bench.clean()}


def covered(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Somebody mounts something else over it: it is not measured, and what is his is not unmounted."""
    bench.build(bench.plan(case))
    point = bench.context.path(bench.draft("fs.mount").args.ref)
    sh(f"mount -t tmpfs none {point}")
    sick = health(bench)
    with patience(mounts, "BUSY_PATIENCE_S", 1.0):
        refused = problem_of(lambda: bench.run(bench.draft("fs.unmount")))
    theirs = [mount.kind for mount in mounts.at(point)]
    sh(f"umount {point}")
    elsewhere = f"{point}-elsewhere"
    sh(f"mkdir {elsewhere} && mount --bind {point} {elsewhere}")
    with patience(directory, "PATIENCE_S", 1.0):
        second = problem_of(lambda: bench.run(bench.draft("fs.unmount")))
    sh(f"umount {elsewhere} && rmdir {elsewhere}")
    return {"health": sick, "refused": refused, "theirs": theirs, "elsewhere": second, **bench.clean()}


def left_behind(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
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


def foreign(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Somebody else's filesystem is on the device."""
    make = bench.plan(case).build[0]
    path = bench.context.path(make.args.devices[0])
    bench.let_go()
    sh(f"mkfs.ext4 -q {path}")
    before = sh(f"blkid -p {path}")
    refused = problem_of(lambda: bench.run(make))
    undone = ACTIONS["fs.make"].undo(bench.context, make.args).result
    return {"refused": refused, "undone": undone, "same": sh(f"blkid -p {path}") == before, **bench.clean()}


def unplugged(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """The host pulls its disk out, between the files `ready` and `pulled`."""
    bench.build(bench.plan(case))
    point = bench.context.path(bench.draft("fs.mount").args.ref)
    Path("/run/fs-ready").write_text(bench.draft("fs.make").args.disks[0])
    while not Path("/run/fs-pulled").exists():
        time.sleep(0.1)
    subprocess.run(f"dd if=/dev/zero of={point}/x bs=1M count=8 conv=fsync", shell=True, check=False, capture_output=True)
    return {"health": health(bench), **bench.clean()}


FUNCTIONS = {found.__name__: found for found in (whole, killed, busy, covered, left_behind, foreign, unplugged)}


def main() -> None:
    bench = Bench()
    for case in json.load(sys.stdin):
        began = time.monotonic()
        signal.alarm(600)
        try:
            result = FUNCTIONS[case["do"]](bench, case)
        except ProblemError as error:
            result = {"problems": [[p.code, p.message, p.place, p.exit] for p in error.problems], **bench.clean()}
        result |= {"case": case["name"], "seconds": round(time.monotonic() - began, 1)}
        print(json.dumps(result, default=str), flush=True)


if __name__ == "__main__":
    main()
