"""Runs in the lab's guest, as root: builds cached devices from real permits, and prints one JSON line per case.

A case has its `roles` (name → number of disks) and its `layout`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
from driver_bench import ACTIONS, Bench, Case, drive, problem_of, sh
from msgspec.structs import replace

from raidtui.engine.compose.layout import disk_part, plan_layout
from raidtui.engine.compose.reading import read_document
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.action import Outcome
from raidtui.stack.bcache import build, kernel, superblock, teardown
from raidtui.stack.bcache.command import node_path
from raidtui.stack.bcache.spec import CacheSettings
from raidtui.stack.layer import Draft, Planned

WORKLOAD = {"w": {"fio": {"rw": "write", "bs": "4KiB", "size": "1MiB", "runtime": "1s"}}}


class BcacheBench(Bench):
    name = "bcache"

    def report(self, text: str, fraction: float | None) -> None:
        self.reports.append((text, fraction))

    def begin(self) -> None:
        super().begin()
        self.context = self.fresh_context()

    def give_up(self) -> dict[str, Any]:
        return {"left": self.leftovers()}

    def plan(self, case: Case) -> Planned:
        """The whole stack; disks are dealt to the roles in order."""
        document = {
            "schema": "raidtui.scenario/1",
            "name": "case",
            "roles": {name: {"count": count} for name, count in case["roles"].items()},
            "layouts": {"case": case["layout"]},
            "workloads": WORKLOAD,
        }
        node = read_document(json.dumps(document)).scenario.layouts["case"]
        alive = [permit.disk for permit in self.permits.values() if permit.alive()]
        parts, at = {}, 0
        for name, count in case["roles"].items():
            parts[name] = tuple(disk_part(disk) for disk in alive[at : at + count])
            at += count
        return self.keep(plan_layout(node, parts, self.names(), Policy(initial_sync="wait")))

    def build(self, planned: Planned, until: str = "") -> dict[str, Any]:
        """Run the build steps; facts, results and commands by action."""
        return {draft.action: shown(self.run(draft), draft) for draft in planned.build}

    def take_down(self, planned: Planned) -> dict[str, Any]:
        return {draft.action: shown(self.run(draft), draft) for draft in planned.teardown}

    def traces(self) -> dict[str, Any]:
        """Everything of bcache and of what may be below."""
        alive = self.alive()
        return {
            "sets": [path.name for path in kernel.SETS.glob("*-*-*") if path.is_dir()],
            "registered": [one.name for one in kernel.registered()],
            "devices": [name for name in os.listdir("/sys/block") if name.startswith(("bcache", "md", "dm-"))],
            "superblocks": [name for name, path in alive.items() if superblock.read(path)],
            "links": [path.name for path in Path("/dev/bcache/by-uuid").glob("*")],
        }


def shown(outcome: Outcome, draft: Draft) -> dict[str, Any]:
    return {"result": outcome.result, "facts": outcome.facts, "commands": outcome.commands, "planned": draft.commands}


def of_bcache(planned: Planned, action: str = "bcache.create") -> Draft:
    return next(draft for draft in (*planned.build, *planned.teardown) if draft.action == action)


def dirty(bench: BcacheBench, path: str, mib: int = 24) -> None:
    """Small writes all over the first part of a device, one after the other, so that a cache takes them."""
    sh(f"fio --name=w --filename={path} --rw=randwrite --bs=16k --size={mib}M --io_size={mib // 2}M --direct=1 --thread "
       "--allow_file_create=0 --ioengine=libaio --iodepth=4 --norandommap --randrepeat=1")  # fmt: skip


def of_path(create: Draft) -> str:
    """Where the plan says that the device is."""
    return node_path(create.args.devices[0].uuid)


def hits(bench: BcacheBench, create: Draft) -> dict[str, int | None]:
    """Read what was written, until the kernel has counted a hit: it adds them up every 14 seconds."""
    path, until = bench.context.path(create.args.ref), time.monotonic() + 90
    while True:
        sh(f"fio --name=r --filename={path} --rw=randread --bs=16k --size=24M --io_size=4M --direct=1 --thread "
           "--allow_file_create=0 --ioengine=libaio --norandommap --randrepeat=1")  # fmt: skip
        found = kernel.stats(kernel.set_folder(create.args) / "bdev0")
        if found["cache_hits"] or time.monotonic() > until:
            return found
        time.sleep(2)


def undone(bench: BcacheBench, planned: Planned) -> dict[str, Any]:
    """Undo as recovery does: first without permits, then with them, knowing nothing but the steps' arguments; twice."""
    steps = tuple(reversed(planned.build))
    create = of_bcache(planned)
    before = sorted(ACTIONS["bcache.create"].leaves(create.args))
    results = []
    for permits in (False, True, True):
        bench.context = bench.fresh_context(permits=permits)
        results.append([ACTIONS[draft.action].undo(bench.context, draft.args).result for draft in steps])
    return {"undo": results, "leaves": before, "left": bench.leftovers()}


def whole(bench: BcacheBench, case: Case) -> dict[str, Any]:
    """Build, look, write, take down, look again."""
    planned = bench.plan(case)
    seen = bench.build(planned)
    create = of_bcache(planned)
    action = ACTIONS["bcache.create"]
    path = bench.context.path(create.args.ref)
    seen["path"] = [path, of_path(create)]
    seen["size"] = [int(sh(f"blockdev --getsize64 {path}")), create.args.size_bytes]
    seen["sector"] = [int(sh(f"blockdev --getss {path}")), create.args.block_bytes]
    seen["again"] = action.do(bench.context, create.args).result
    target = planned.targets[0].refs[0]
    dirty(bench, bench.context.path(target))
    if case.get("hits"):
        seen["hits"] = hits(bench, create)
    seen["used"] = kernel.read_back(create.args)
    seen["health"] = action.health(bench.context, create.args)
    seen["members"] = dict(action.members(bench.context, create.args))
    seen["args"] = msgspec.to_builtins(create.args)
    bench.reports.clear()
    seen["teardown"] = bench.take_down(planned)
    seen["reports"] = bench.reports[:3]
    seen["second"] = action.undo(bench.context, create.args).result
    seen["left"] = bench.leftovers()
    return seen


MOMENTS: dict[str, tuple[Any, str, int, bool]] = {
    "before the cache has its UUID": (superblock, "stamp", 1, False),
    "before the backing device has its UUID": (superblock, "stamp", 2, False),
    "before they are registered": (build, "write", 1, False),
    "when one is registered": (build, "write", 1, True),
    "before the options are set": (build, "settings", 1, False),
    "while the options are set": (build, "set_path", 2, False),
    "while it detaches": (teardown, "_text", 1, True),
    "when it is stopped": (teardown, "stop", 1, True),
    "when one superblock is gone": (superblock, "erase", 1, True),
}
"""Name → (module, function, which call of it, whether after it): where the process kills itself."""


def arm(moment: str) -> None:
    module, name, number, after = MOMENTS[moment]
    original, calls = getattr(module, name), 0

    def armed(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        value = original(*args, **options)
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    setattr(module, name, armed)


def killed(bench: BcacheBench, case: Case) -> dict[str, Any]:
    """SIGKILL at each of these moments, of building or of taking down with dirty data; an undo each time."""
    seen = {}
    for moment in case["moments"]:
        planned = bench.plan(case)
        bench.let_go()
        pid = os.fork()
        if pid == 0:
            arm(moment)
            try:
                bench.build(planned)
                dirty(bench, bench.context.path(of_bcache(planned).args.ref))
                bench.take_down(planned)
            finally:
                os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if case.get("settle"):
            sh("udevadm settle --timeout=20")
        uuids = [entry.uuid for entry in of_bcache(planned).args.devices]
        on_disks = sorted(found.uuid for permit in bench.permits.values() if (found := superblock.read(permit.path())))
        before = bench.leftovers()
        seen[moment] = {"status": status, "before": before, "uuids": uuids, "on_disks": on_disks, **undone(bench, planned)}
    return {"kills": seen}


def broken(bench: BcacheBench, case: Case) -> dict[str, Any]:
    """Something happens to a built device (`then`: shell lines), and it still is taken away whole."""
    planned = bench.plan(case)
    bench.build(planned)
    create = of_bcache(planned)
    path = bench.context.path(create.args.ref)
    dirty(bench, path)
    backing, cache = (bench.context.path(entry.ref) for entry in create.args.devices)
    env = {"SET": str(kernel.set_folder(create.args)), "DEV": path, "B": backing, "C": cache,
           "NB": Path(backing).resolve().name, "UUID": create.args.uuid}  # fmt: skip
    subprocess.run(["bash", "-ec", case["then"]], check=True, capture_output=True, env={**os.environ, **env})
    health = ACTIONS["bcache.create"].health(bench.context, create.args)
    return {"health": health, "before": bench.leftovers(), **undone(bench, planned)}


def foreign(bench: BcacheBench, case: Case) -> dict[str, Any]:
    """Somebody else's cached device stands beside ours, and on a disk that the run has; it is not touched."""
    theirs = [permit.path() for permit in list(bench.permits.values())[-2:]]
    other = "99999999-8888-4777-8666-555555555555"
    bench.let_go()
    for option, path in zip(("--cache", "--bdev"), theirs, strict=True):
        sh(f"make-bcache --cset-uuid {other} --bucket 64k {option} {path} && udevadm settle --timeout=30")
    before = [superblock.read(path) for path in theirs]
    planned = bench.plan(case)
    create = of_bcache(planned)
    ids = list(bench.permits)[-2:]
    stolen = [replace(entry, ref=f"disk:{disk}") for entry, disk in zip(create.args.devices, ids, strict=True)]
    args = replace(create.args, devices=tuple(stolen))
    action = ACTIONS["bcache.create"]
    refused = problem_of(lambda: action.do(bench.context, args))
    results = [action.undo(bench.fresh_context(), args).result]
    bench.build(planned)
    results.append(action.undo(bench.fresh_context(), create.args).result)
    same = before == [superblock.read(path) for path in theirs] and (kernel.SETS / other / "bdev0").exists()
    sh(f"echo 1 > /sys/fs/bcache/{other}/stop; sleep 2; udevadm settle --timeout=30")
    for path in theirs:
        sh(f"for i in 1 2 3 4 5 6 7 8 9 10; do wipefs --all --types bcache {path} && break; sleep 1; done")
    return {"refused": refused, "results": results, "same": same, "left": bench.leftovers()}


def shared(bench: BcacheBench, case: Case) -> dict[str, Any]:
    """Somebody attaches his backing device to our cache and writes through it; nothing goes until it is detached."""
    planned = bench.plan(case)
    bench.build(planned)
    args = of_bcache(planned).args
    theirs = list(bench.permits.values())[-1].path()
    folder = Path("/sys/class/block") / Path(theirs).name / "bcache"
    bench.let_go()
    sh(f"make-bcache --block {args.block_bytes} --bdev {theirs}; udevadm settle --timeout=30")
    sh(f"echo {theirs} > /sys/fs/bcache/register_quiet; echo {args.uuid} > {folder}/attach")
    sh(f"echo writeback > {folder}/cache_mode")
    dirty(bench, f"/dev/{(folder / 'dev').resolve().name}")
    name, mode = Path(theirs).name, (folder / "state").read_text().strip()
    action = ACTIONS["bcache.create"]
    problems = [problem_of(lambda c=c: action.undo(c, args)) for c in (bench.fresh_context(permits=False), bench.context)]
    bench.run(of_bcache(planned, "bcache.detach"))
    problems.append(problem_of(lambda: bench.run(of_bcache(planned, "bcache.remove"))))
    kept = (folder / "state").read_text().strip()
    sh(f"echo 1 > {folder}/detach; for i in $(seq 60); do [ -e {folder}/cache ] || break; sleep 1; done")
    sh(f"echo 1 > {folder}/stop; for i in $(seq 60); do [ -e {folder} ] || break; sleep 1; done")
    sh(f"wipefs --all --types bcache {theirs}")
    return {"problems_of": problems, "name": name, "states": [mode, kept], **undone(bench, planned)}


def refused(bench: BcacheBench, case: Case) -> dict[str, Any]:
    """What the actions themselves refuse: a read-back that is not as asked, and stopping what is in use."""
    planned = bench.plan(case)
    bench.build(planned)
    create = of_bcache(planned)
    wrong = replace(create.args, mode="writearound", bucket_bytes=1 << 20, settings=CacheSettings(1 << 20))
    mismatch = problem_of(lambda: ACTIONS["bcache.verify"].do(bench.context, wrong))
    with open(bench.context.path(create.args.ref), "rb") as device:
        holder = subprocess.Popen(["sleep", "600"], stdin=device)
    teardown.BUSY_PATIENCE_S = 1.0
    busy = problem_of(lambda: bench.run(of_bcache(planned, "bcache.remove")))
    holder.kill()
    holder.wait()
    teardown.BUSY_PATIENCE_S = 15.0
    return {"mismatch": mismatch, "busy": busy, "pid": holder.pid, "uuid": create.args.uuid, **undone(bench, planned)}


def ask_host(what: str, ref: str) -> None:
    """Have the host `unplug` a disk, `slow` it down or let it be `fast` again; returns when it is done."""
    asked = Path("/run/bcache-asked")
    asked.with_suffix(".new").write_text(json.dumps([what, ref.removeprefix("disk:")]))
    asked.with_suffix(".new").rename(asked)
    while asked.exists():
        time.sleep(0.1)


def detaching(bench: BcacheBench, case: Case) -> dict[str, Any]:
    """A crash while a slow backing device would be written back to for minutes: what is dirty is dropped."""
    planned = bench.plan(case)
    bench.build(planned)
    create = of_bcache(planned)
    dirty(bench, bench.context.path(create.args.ref), 96)
    slow = create.args.devices[0].ref
    ask_host("slow", slow)
    sh(f"echo 1 > {kernel.set_folder(create.args)}/bdev0/detach; sleep 1")
    left = kernel.read_back(create.args)["dirty_bytes"]
    teardown.STOP_PATIENCE_S = 3.0
    bench.context = bench.fresh_context()
    outcome = ACTIONS["bcache.create"].undo(bench.context, create.args)
    teardown.STOP_PATIENCE_S = 20.0
    ask_host("fast", slow)
    return {"dirty": left, "commands": outcome.commands, **undone(bench, planned)}


def unplugged(bench: BcacheBench, case: Case) -> dict[str, Any]:
    """The host pulls the cache or the backing device out while data is dirty."""
    planned = bench.plan(case)
    bench.build(planned)
    create = of_bcache(planned)
    path = bench.context.path(create.args.ref)
    dirty(bench, path)
    (pulled_ref,) = [entry.ref for entry in create.args.devices if entry.role == case["pull"]]
    ask_host("unplug", pulled_ref)
    subprocess.run(f"timeout 60 dd if=/dev/zero of={path} bs=64k count=64 oflag=direct", shell=True, capture_output=True)
    health = ACTIONS["bcache.create"].health(bench.context, create.args)
    teardown.STALLED_S = 5.0
    torn: dict[str, Any] = {}
    for draft in planned.teardown:
        try:
            torn[draft.action] = bench.run(draft).facts
        except ProblemError as error:
            torn[draft.action] = [error.problems[0].code, error.problems[0].message]
    result = undone(bench, planned)
    return {"health": health, "torn": torn, "serial": pulled_ref.removeprefix("disk:"), **result}


if __name__ == "__main__":
    drive(BcacheBench(), whole, killed, broken, foreign, shared, refused, detaching, unplugged)
