"""Runs in the lab's guest, as root: builds md arrays from real permits, and prints one JSON line per case."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
from driver_bench import ACTIONS, Bench, Case, drive, instead, problem_of, sh, wait_for_pull
from msgspec.structs import replace

from raidtui.model.convert import decode
from raidtui.model.plan import Names
from raidtui.model.scenario import Policy
from raidtui.stack.layer import Planned
from raidtui.stack.md import LAYER, build, kernel, superblock, teardown
from raidtui.stack.md.spec import MdArray, MdSpec


class MdBench(Bench):
    name = "md"

    def plan(self, case: Case) -> Planned:
        spec = decode(MdSpec, {"on": "@data", **case["md"]})
        parts = self.deal({name: case.get(name, 0) for name in ("on", "spares", "journal")})
        assert LAYER.check(spec, {name: len(found) for name, found in parts.items()}, "$") == []
        return self.keep(LAYER.plan(spec, parts, self.names(), Policy(initial_sync=case.get("sync", "skip-if-zeroed"))))

    def prepare(self, planned: Planned) -> None:
        if planned.needs_zero:
            self.make_blank(planned.build[0].args.disks)

    def traces(self) -> dict[str, Any]:
        return {
            "arrays": [name for name in kernel.all_arrays() if kernel.exists(name)],
            "superblocks": {name: marks for name, path in self.alive().items() if (marks := superblock.read(path))},
            "map": [line for line in kernel.read_map() if kernel.exists(line[0])],
            "links": [p.name for p in Path("/dev/md").glob("*")],
            "creating": [p.name for p in Path("/run/mdadm").glob("creating-*")],
        }


def whole(bench: MdBench, case: Case) -> dict[str, Any]:
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


def undone(bench: MdBench, args: MdArray) -> dict[str, Any]:
    """Undo as a recovering process would, knowing nothing but the step's arguments; twice."""
    bench.context = bench.fresh_context()
    create = ACTIONS["md.create"]
    first, second = create.undo(bench.context, args), create.undo(bench.context, args)
    return {"undo": [first.result, second.result], "facts": first.facts, "left": bench.leftovers()}


def killed(bench: MdBench, case: Case) -> dict[str, Any]:
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


def still_creating(bench: MdBench, case: Case) -> dict[str, Any]:
    """The undo begins while mdadm, left behind by a crash, is still at work."""
    create = bench.plan(case).build[0]
    bench.let_go()
    child = subprocess.Popen(create.commands[0], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.05)
    reaper = threading.Thread(target=child.wait)
    reaper.start()
    return undone(bench, create.args)


def broken(bench: MdBench, case: Case) -> dict[str, Any]:
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


def foreign(bench: MdBench, case: Case) -> dict[str, Any]:
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


def refused(bench: MdBench, case: Case) -> dict[str, Any]:
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
    with instead(teardown, "BUSY_PATIENCE_S", 1.0):
        busy = problem_of(lambda: bench.run(planned.teardown[0]))
    holder.kill()
    holder.wait()
    return {"unproven": unproven, "untouched": untouched, "mismatch": mismatch, "busy": busy, "pid": holder.pid,
            **undone(bench, create.args)}  # fmt: skip


def cancelled(bench: MdBench, case: Case) -> dict[str, Any]:
    """The operator cancels during the initial sync."""
    planned = bench.plan(case)
    bench.context.report = lambda text, _: (bench.reports.append(text), bench.cancelled.set())[0]
    limit = Path("/proc/sys/dev/raid/speed_limit_max")
    usual = limit.read_text()
    limit.write_text("1000")
    with instead(build, "_FASTEST_KIB_S", 1000):
        stopped = problem_of(lambda: bench.build(planned))
    limit.write_text(usual)
    bench.cancelled.clear()
    return {"stopped": stopped, "reports": bench.reports[-3:], **undone(bench, planned.build[0].args)}


def stacked(bench: MdBench, case: Case) -> dict[str, Any]:
    """raid0 over two raid1; taken away after a crash, from above."""
    names, policy, ids = Names(f"{os.getpid():x}s"), Policy(), list(bench.permits)
    lower = [LAYER.plan(decode(MdSpec, {"on": "@a", "level": "raid1"}), {"on": bench.parts(pair)}, names, policy)
             for pair in (ids[:2], ids[2:4])]  # fmt: skip
    offers = tuple(part for plan in lower for part in plan.offers)
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
    planned = upper.offers[0].size_bytes if upper.offers else 0
    return {"size": [size, planned], "members": members, "health": health, "undo": results, "left": bench.leftovers()}


def unplugged(bench: MdBench, case: Case) -> dict[str, Any]:
    """The host pulls a member out."""
    planned = bench.plan(case)
    create = planned.build[0]
    bench.build(planned)
    wait_for_pull(bench, create.args.disks[0])
    sh(f"dd if=/dev/zero of={bench.context.path(create.args.ref)} bs=1M count=8 oflag=direct || true")
    health = ACTIONS["md.create"].health(bench.context, create.args)
    return {"health": health, **undone(bench, create.args)}


if __name__ == "__main__":
    drive(MdBench(), whole, killed, still_creating, broken, foreign, refused, cancelled, stacked, unplugged)
