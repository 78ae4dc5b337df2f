"""Runs in the lab's guest, as root: builds arrays from real permits and says what it saw, one JSON line per case.

Standard input: a JSON list of cases, each with a `do` (a function below) and its options. One process for all of them,
because starting Python under emulation takes longer than building an array.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, "/opt/raidtui")

import msgspec
from msgspec.structs import replace

from raidtui.gate.admit import admit
from raidtui.gate.blank import make_blank
from raidtui.inventory import boot_id, scan
from raidtui.model.convert import decode
from raidtui.model.disk import fingerprint
from raidtui.model.plan import Names
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.action import BoundAction, Outcome, signatures_left
from raidtui.stack.context import Context
from raidtui.stack.layer import Draft, Part, Planned
from raidtui.stack.md import LAYER, build, kernel, superblock, teardown
from raidtui.stack.md.spec import MdArray, MdSpec

ACTIONS = LAYER.actions


def sh(line: str) -> str:
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout


class Bench:
    """All disks of the guest, admitted once."""

    def __init__(self) -> None:
        found = [disk for disk in scan() if disk.free]
        permits = admit("md-tests", [fingerprint(disk, boot_id()) for disk in found])
        self.permits = {permit.disk.id: permit for permit in permits}
        self.reports: list[str] = []
        self.cancelled = threading.Event()
        self.drafts: list[Draft] = []
        self.context = self.fresh_context()
        self.count = 0
        self.planned: Planned | None = None

    def fresh_context(self) -> Context:
        """As a new process would have it: nothing built, nothing proven."""
        folder = Path("/run/raidtui-md-tests")
        folder.mkdir(exist_ok=True)
        context = Context("md-tests", folder, self.permits, lambda text, _: self.reports.append(text), self.cancelled)
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

    def parts(self, ids: list[str]) -> tuple[Part, ...]:
        disks = [self.permits[name].disk for name in ids]
        return tuple(
            Part(f"disk:{d.id}", d.path, d.size_bytes, d.logical_sector_bytes, (d.id,), d.discard, bool(d.rotational))
            for d in disks
        )

    def plan(self, case: dict[str, Any]) -> Planned:
        spec = decode(MdSpec, {"on": "@data", **case["md"]})
        ids, parts, at = list(self.permits), {}, 0
        for name in ("on", "spares", "journal"):
            if count := case.get(name, 0):
                parts[name] = self.parts(ids[at : at + count])
                at += count
        assert LAYER.check(spec, {name: len(found) for name, found in parts.items()}, "$") == []
        self.count += 1
        token = f"{os.getpid():x}{self.count}"
        policy = Policy(initial_sync=case.get("sync", "skip-if-zeroed"))
        self.planned = LAYER.plan(spec, parts, Names(token), policy)
        self.drafts += self.planned.build
        return self.planned

    def build(self, planned: Planned, until: str = "") -> dict[str, Any]:
        """Run the build steps; facts by action."""
        facts: dict[str, Any] = {"commands": {}, "planned": {}}
        if planned.needs_zero:
            for disk in planned.build[0].args.disks:
                self.context.zero_proof[disk] = make_blank(self.permits[disk])
        for draft in planned.build:
            outcome = self.run(draft)
            facts[draft.action] = outcome.facts
            facts["commands"][draft.action] = outcome.commands
            facts["planned"][draft.action] = draft.commands
            if draft.action == until:
                break
        return facts

    def run(self, draft: Draft) -> Outcome:
        return ACTIONS[draft.action].do(self.context, draft.args)

    def leftovers(self) -> dict[str, Any]:
        """Everything of md that is still to be seen; nothing when there is nothing."""
        alive = {name: permit.path() for name, permit in self.permits.items() if permit.alive()}
        found = {
            "arrays": [name for name in kernel.all_arrays() if kernel.exists(name)],
            "superblocks": {name: marks for name, path in alive.items() if (marks := superblock.read(path))},
            "map": [line for line in kernel.read_map() if kernel.exists(line[0])],
            "links": [p.name for p in Path("/dev/md").glob("*")],
            "creating": [p.name for p in Path("/run/mdadm").glob("creating-*")],
        }
        return {what: value for what, value in found.items() if value}


def whole(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Build, look, take down, look again."""
    planned = bench.plan(case)
    seen = bench.build(planned)
    create = planned.build[0]
    action = ACTIONS["md.create"]
    seen["health"] = action.health(bench.context, create.args)
    seen["members"] = dict(action.members(bench.context, create.args))
    seen["again"] = action.do(bench.context, create.args).result
    seen["args"] = msgspec.to_builtins(create.args)
    seen["actual_size"] = int(sh(f"blockdev --getsize64 {bench.context.path(create.args.ref)}"))
    outcome = bench.run(planned.teardown[0])
    seen["teardown"] = outcome.facts
    seen["commands"]["md.stop"] = outcome.commands
    seen["planned"]["md.stop"] = planned.teardown[0].commands
    seen["second"] = ACTIONS["md.create"].undo(bench.context, create.args).result
    seen["left"] = bench.leftovers()
    return seen


def undone(bench: Bench, args: MdArray) -> dict[str, Any]:
    """Undo as a recovering process would, knowing nothing but the step's arguments; twice."""
    bench.context = bench.fresh_context()
    create = ACTIONS["md.create"]
    first, second = create.undo(bench.context, args), create.undo(bench.context, args)
    return {"undo": [first.result, second.result], "facts": first.facts, "left": bench.leftovers()}


def problem_of(work: Callable[[], object]) -> list[Any]:
    try:
        work()
    except ProblemError as error:
        found = error.problems[0]
        return [found.code, found.message, found.exit]
    return []


def killed(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """mdadm dies in the middle of creating: after so many seconds, or when there is an array; an undo each time."""
    seen: list[Any] = []
    for after_s in case["after_s"]:
        create = bench.plan(case).build[0]
        bench.let_go()
        child = subprocess.Popen(create.commands[0], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if after_s == "array":
            # An empty shell goes with mdadm: it is killed when there is something in it.
            while child.poll() is None and not any(map(kernel.exists, kernel.all_arrays())):
                time.sleep(0.001)
        else:
            time.sleep(after_s)
        ended = child.poll()
        child.kill()
        child.wait()
        before = bench.leftovers()
        seen.append({"after_s": after_s, "ended": ended, "before": before, **undone(bench, create.args)})
    return {"kills": seen}


def still_creating(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """The undo begins while mdadm, left behind by a crash, is still at work."""
    create = bench.plan(case).build[0]
    bench.let_go()
    child = subprocess.Popen(create.commands[0], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.05)
    reaper = threading.Thread(target=child.wait)
    reaper.start()
    return undone(bench, create.args)


def broken(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Something happens to a built array (`then`: shell lines), and it still is taken away whole."""
    planned = bench.plan(case)
    bench.build(planned)
    create = planned.build[0]
    name = kernel.find(create.args.uuid)[0]
    paths = [bench.context.path(ref) for ref in create.args.members]
    env = {"MD": f"/dev/{name}", "A": paths[0], "B": paths[1]}
    subprocess.run(case["then"], shell=True, check=True, capture_output=True, env={**os.environ, **env})
    health = ACTIONS["md.create"].health(bench.context, create.args)
    before = bench.leftovers()
    return {"health": health, "before": before, **undone(bench, create.args)}


def edges(path: str) -> tuple[bytes, bytes]:
    """The first 16 MiB and the last 4 MiB of a disk: where everything of md but data is. Reading all takes minutes here."""
    with open(path, "rb") as disk:
        head = disk.read(16 << 20)
        disk.seek(-(4 << 20), os.SEEK_END)
        return head, disk.read()


def foreign(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Somebody else's array has the name that the plan chose, and some members look like ours."""
    create = bench.plan(case).build[0]
    theirs = [permit.path() for permit in bench.permits.values()][-2:]
    bench.let_go()
    sh(f"mdadm --create /dev/md/{create.args.name} --run --level=1 --raid-devices=2 --metadata=1.2 --bitmap=none "
       f"--assume-clean --homehost=any {' '.join(theirs)}; udevadm settle")  # fmt: skip
    refused = problem_of(lambda: bench.run(create))
    running = undone(bench, create.args)["undo"]
    sh(f"mdadm --stop /dev/md/{create.args.name}")
    before = [edges(path) for path in theirs]
    bench.context = bench.fresh_context()
    bench.context.zero_proof |= {disk: {"method": "discard"} for disk in create.args.disks}
    made = bench.run(create).result
    # A disk of the run that somebody else's array has taken over in the meantime is left alone, too.
    result = undone(bench, replace(create.args, spares=tuple(f"disk:{i}" for i in list(bench.permits)[-2:])))
    same = before == [edges(path) for path in theirs]
    for path in theirs:
        sh(f"mdadm --zero-superblock {path}")
    return {
        "refused": refused,
        "running": running,
        "made": made,
        "same": same,
        "theirs": list(bench.permits)[-2:],
        **result,
        "left": bench.leftovers(),
    }


def refused(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """What the actions themselves refuse."""
    planned = bench.plan(case)
    create, verify = planned.build[0], planned.build[-1]
    bench.context = bench.fresh_context()
    unproven = problem_of(lambda: bench.run(create))
    untouched = bench.leftovers()
    bench.build(planned)
    wrong = replace(verify.args, level="raid10", metadata="1.0", size_bytes=1 << 60)
    mismatch = problem_of(lambda: ACTIONS["md.verify"].do(bench.context, wrong))
    path = bench.context.path(create.args.ref)
    with open(path, "rb") as device:
        holder = subprocess.Popen(["sleep", "600"], stdin=device)
    usual, teardown.BUSY_PATIENCE_S = teardown.BUSY_PATIENCE_S, 1.0
    busy = problem_of(lambda: bench.run(planned.teardown[0]))
    teardown.BUSY_PATIENCE_S = usual
    holder.kill()
    holder.wait()
    return {"unproven": unproven, "untouched": untouched, "mismatch": mismatch, "busy": busy, "pid": holder.pid,
            **undone(bench, create.args)}  # fmt: skip


def cancelled(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """The operator cancels during the initial sync."""
    planned = bench.plan(case)
    bench.context.report = lambda text, _: (bench.reports.append(text), bench.cancelled.set())[0]
    limit = Path("/proc/sys/dev/raid/speed_limit_max")
    usual, fastest = limit.read_text(), build._FASTEST_KIB_S
    limit.write_text("1000")
    build._FASTEST_KIB_S = 1000
    stopped = problem_of(lambda: bench.build(planned))
    build._FASTEST_KIB_S = fastest
    limit.write_text(usual)
    bench.cancelled.clear()
    return {"stopped": stopped, "reports": bench.reports[-3:], **undone(bench, planned.build[0].args)}


def stacked(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """raid0 over two raid1; taken away after a crash, from above."""
    names, policy, ids = Names(f"{os.getpid():x}s"), Policy(), list(bench.permits)
    lower = [LAYER.plan(decode(MdSpec, {"on": "@a", "level": "raid1"}), {"on": bench.parts(pair)}, names, policy)
             for pair in (ids[:2], ids[2:4])]  # fmt: skip
    offers = tuple(plan.offers for plan in lower if plan.offers is not None)
    upper = LAYER.plan(decode(MdSpec, {"on": "@a", "level": "raid0"}), {"on": offers}, names, policy)
    bench.drafts += [draft for plan in (*lower, upper) for draft in plan.build]
    for plan in (*lower, upper):
        for draft in plan.build:
            bench.run(draft)
    size = int(sh(f"blockdev --getsize64 {bench.context.path(upper.build[0].args.ref)}"))
    members = dict(ACTIONS["md.create"].members(bench.context, upper.build[0].args))
    health = ACTIONS["md.create"].health(bench.context, upper.build[0].args)
    bench.context = bench.fresh_context()
    results = [ACTIONS["md.create"].undo(bench.context, plan.build[0].args).result for plan in (upper, *lower)]
    planned = upper.offers.size_bytes if upper.offers else 0
    return {"size": [size, planned], "members": members, "health": health, "undo": results, "left": bench.leftovers()}


def unplugged(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """The host pulls a member out, between the files `ready` and `pulled`."""
    planned = bench.plan(case)
    create = planned.build[0]
    bench.build(planned)
    ready, pulled = Path("/run/md-ready"), Path("/run/md-pulled")
    ready.write_text(create.args.disks[0])
    while not pulled.exists():
        time.sleep(0.1)
    sh(f"dd if=/dev/zero of={bench.context.path(create.args.ref)} bs=1M count=8 oflag=direct || true")
    health = ACTIONS["md.create"].health(bench.context, create.args)
    result = undone(bench, create.args)
    pulled.unlink()
    return {"health": health, **result}


def blank(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Make every disk that is left blank, for the host to look at."""
    left = [permit for permit in bench.permits.values() if permit.alive()]
    return {"disks": [permit.disk.id for permit in left], "proofs": [make_blank(permit) for permit in left]}


FUNCTIONS: dict[str, Callable[[Bench, dict[str, Any]], dict[str, Any]]] = {
    found.__name__: found
    for found in (whole, killed, still_creating, broken, foreign, refused, cancelled, stacked, unplugged, blank)
}


def main() -> None:
    bench = Bench()
    for case in json.load(sys.stdin):
        began = time.monotonic()
        signal.alarm(150)
        bench.planned = None
        try:
            result = FUNCTIONS[case["do"]](bench, case)
        except ProblemError as error:
            result = {"problems": [[p.code, p.message, p.place, p.exit] for p in error.problems]}
            if bench.planned is not None:
                bench.run(bench.planned.teardown[0])
            result["left"] = bench.leftovers()
        result |= {"case": case["name"], "seconds": round(time.monotonic() - began, 1)}
        print(json.dumps(result, default=str), flush=True)


if __name__ == "__main__":
    main()
