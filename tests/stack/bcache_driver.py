"""Runs in the lab's guest, as root: builds cached devices from real permits and says what it saw, one JSON line per case.

Standard input: a JSON list of cases, each with a `do` (a function below), its `roles` (name → number of disks) and its
`layout`. One process for all of them, because starting Python under emulation takes longer than building.
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

from raidtui.engine.compose.planner import disk_part, plan_layout
from raidtui.engine.compose.reading import read_document
from raidtui.gate.admit import admit
from raidtui.gate.blank import make_blank
from raidtui.inventory import boot_id, scan
from raidtui.model.disk import fingerprint
from raidtui.model.plan import Names
from raidtui.model.problem import ProblemError
from raidtui.model.scenario import Policy
from raidtui.stack.action import BoundAction, Outcome, signatures_left
from raidtui.stack.bcache import build, kernel, superblock, teardown
from raidtui.stack.bcache.command import node_path
from raidtui.stack.bcache.spec import CacheSettings
from raidtui.stack.catalog import all_actions
from raidtui.stack.context import Context
from raidtui.stack.layer import Draft, Planned

WORKLOAD = {"w": {"fio": {"rw": "write", "bs": "4KiB", "size": "1MiB", "runtime": "1s"}}}


def sh(line: str) -> str:
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout


class Bench:
    """All disks of the guest, admitted once."""

    def __init__(self) -> None:
        found = [disk for disk in scan() if disk.free]
        permits = admit("bcache-tests", [fingerprint(disk, boot_id()) for disk in found])
        self.permits = {permit.disk.id: permit for permit in permits}
        self.reports: list[Any] = []
        self.drafts: list[Draft] = []
        self.context = self.fresh_context()
        self.count = 0

    def fresh_context(self, *, permits: bool = True) -> Context:
        """As a new process would have it: nothing built, nothing proven."""
        folder = Path("/run/raidtui-bcache-tests")
        folder.mkdir(exist_ok=True)
        given = self.permits if permits else {}
        cancelled = threading.Event()
        return self.knowing(Context("bcache-tests", folder, given, lambda *said: self.reports.append(said), cancelled))

    def let_go(self) -> None:
        """Let others have the disks: what is done next is not done by a run."""
        for permit in self.permits.values():
            permit.let_go()

    def knowing(self, context: Context) -> Context:
        """With what a run knows of its disks: they may carry what it wrote, and any signature that was planned."""
        context.written |= self.permits.keys()
        context.ours = lambda: signatures_left(
            BoundAction(all_actions()[draft.action], draft.args) for draft in self.drafts
        )
        return context

    def plan(self, case: dict[str, Any]) -> Planned:
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
        self.count += 1
        planned = plan_layout(node, parts, Names(f"{os.getpid():x}{self.count}"), Policy(initial_sync="wait"))
        self.drafts += planned.build
        return planned

    def run(self, draft: Draft) -> Outcome:
        return all_actions()[draft.action].do(self.context, draft.args)

    def build(self, planned: Planned) -> dict[str, Any]:
        """Run the build steps; facts, results and commands by action."""
        seen: dict[str, Any] = {}
        for draft in planned.build:
            seen[draft.action] = shown(self.run(draft), draft)
        return seen

    def take_down(self, planned: Planned) -> dict[str, Any]:
        return {draft.action: shown(self.run(draft), draft) for draft in planned.teardown}

    def leftovers(self) -> dict[str, Any]:
        """Everything of bcache and of what may be below that is still to be seen; nothing when there is nothing."""
        alive = {name: permit.path() for name, permit in self.permits.items() if permit.alive()}
        found = {
            "sets": [path.name for path in kernel.SETS.glob("*-*-*") if path.is_dir()],
            "registered": [one.name for one in kernel.registered()],
            "devices": [name for name in os.listdir("/sys/block") if name.startswith(("bcache", "md", "dm-"))],
            "superblocks": [name for name, path in alive.items() if superblock.read(path)],
            "links": [path.name for path in Path("/dev/bcache/by-uuid").glob("*")],
        }
        return {what: value for what, value in found.items() if value}


def shown(outcome: Outcome, draft: Draft) -> dict[str, Any]:
    return {"result": outcome.result, "facts": outcome.facts, "commands": outcome.commands, "planned": draft.commands}


def of_bcache(planned: Planned, action: str = "bcache.create") -> Draft:
    return next(draft for draft in (*planned.build, *planned.teardown) if draft.action == action)


def dirty(bench: Bench, path: str, mib: int = 24) -> None:
    """Small writes all over the first part of a device, one after the other, so that a cache takes them."""
    sh(f"fio --name=w --filename={path} --rw=randwrite --bs=16k --size={mib}M --io_size={mib // 2}M --direct=1 --thread "
       "--allow_file_create=0 --ioengine=libaio --iodepth=4 --norandommap --randrepeat=1")  # fmt: skip


def of_path(create: Draft) -> str:
    """Where the plan says that the device is."""
    return node_path(create.args.devices[0].uuid)


def hits(bench: Bench, create: Draft) -> dict[str, int | None]:
    """Read what was written, until the kernel has counted a hit: it adds them up every 14 seconds."""
    path, until = bench.context.path(create.args.ref), time.monotonic() + 90
    while True:
        sh(f"fio --name=r --filename={path} --rw=randread --bs=16k --size=24M --io_size=4M --direct=1 --thread "
           "--allow_file_create=0 --ioengine=libaio --norandommap --randrepeat=1")  # fmt: skip
        found = kernel.stats(kernel.set_folder(create.args) / "bdev0")
        if found["cache_hits"] or time.monotonic() > until:
            return found
        time.sleep(2)


def undone(bench: Bench, planned: Planned) -> dict[str, Any]:
    """Undo as recovery does: first without permits, then with them, knowing nothing but the steps' arguments; twice."""
    steps = tuple(reversed(planned.build))
    create = of_bcache(planned)
    before = sorted(all_actions()["bcache.create"].leaves(create.args))
    results = []
    for permits in (False, True, True):
        bench.context = bench.fresh_context(permits=permits)
        results.append([all_actions()[draft.action].undo(bench.context, draft.args).result for draft in steps])
    return {"undo": results, "leaves": before, "left": bench.leftovers()}


def whole(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Build, look, write, take down, look again."""
    planned = bench.plan(case)
    seen = bench.build(planned)
    create = of_bcache(planned)
    action = all_actions()["bcache.create"]
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


def killed(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
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


def broken(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
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
    health = all_actions()["bcache.create"].health(bench.context, create.args)
    return {"health": health, "before": bench.leftovers(), **undone(bench, planned)}


def problem_of(work: Callable[[], object]) -> list[Any]:
    try:
        work()
    except ProblemError as error:
        found = error.problems[0]
        return [found.code, found.message, found.exit]
    return []


def foreign(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
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
    action = all_actions()["bcache.create"]
    refused = problem_of(lambda: action.do(bench.context, args))
    results = [action.undo(bench.fresh_context(), args).result]
    bench.build(planned)
    results.append(action.undo(bench.fresh_context(), create.args).result)
    same = before == [superblock.read(path) for path in theirs] and (kernel.SETS / other / "bdev0").exists()
    sh(f"echo 1 > /sys/fs/bcache/{other}/stop; sleep 2; udevadm settle --timeout=30")
    for path in theirs:
        sh(f"for i in 1 2 3 4 5 6 7 8 9 10; do wipefs --all --types bcache {path} && break; sleep 1; done")
    return {"refused": refused, "results": results, "same": same, "left": bench.leftovers()}


def shared(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
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
    action = all_actions()["bcache.create"]
    problems = [problem_of(lambda c=c: action.undo(c, args)) for c in (bench.fresh_context(permits=False), bench.context)]
    bench.run(of_bcache(planned, "bcache.detach"))
    problems.append(problem_of(lambda: bench.run(of_bcache(planned, "bcache.remove"))))
    kept = (folder / "state").read_text().strip()
    sh(f"echo 1 > {folder}/detach; for i in $(seq 60); do [ -e {folder}/cache ] || break; sleep 1; done")
    sh(f"echo 1 > {folder}/stop; for i in $(seq 60); do [ -e {folder} ] || break; sleep 1; done")
    sh(f"wipefs --all --types bcache {theirs}")
    return {"problems_of": problems, "name": name, "states": [mode, kept], **undone(bench, planned)}


def refused(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """What the actions themselves refuse: a read-back that is not as asked, and stopping what is in use."""
    planned = bench.plan(case)
    bench.build(planned)
    create = of_bcache(planned)
    wrong = replace(create.args, mode="writearound", bucket_bytes=1 << 20, settings=CacheSettings(1 << 20))
    mismatch = problem_of(lambda: all_actions()["bcache.verify"].do(bench.context, wrong))
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


def detaching(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
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
    outcome = all_actions()["bcache.create"].undo(bench.context, create.args)
    teardown.STOP_PATIENCE_S = 20.0
    ask_host("fast", slow)
    return {"dirty": left, "commands": outcome.commands, **undone(bench, planned)}


def unplugged(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """The host pulls the cache or the backing device out while data is dirty."""
    planned = bench.plan(case)
    bench.build(planned)
    create = of_bcache(planned)
    path = bench.context.path(create.args.ref)
    dirty(bench, path)
    (pulled_ref,) = [entry.ref for entry in create.args.devices if entry.role == case["pull"]]
    ask_host("unplug", pulled_ref)
    subprocess.run(f"timeout 60 dd if=/dev/zero of={path} bs=64k count=64 oflag=direct", shell=True, capture_output=True)
    health = all_actions()["bcache.create"].health(bench.context, create.args)
    teardown.STALLED_S = 5.0
    torn: dict[str, Any] = {}
    for draft in planned.teardown:
        try:
            torn[draft.action] = bench.run(draft).facts
        except ProblemError as error:
            torn[draft.action] = [error.problems[0].code, error.problems[0].message]
    result = undone(bench, planned)
    return {"health": health, "torn": torn, "serial": pulled_ref.removeprefix("disk:"), **result}


def blank(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Make every disk that is left blank, for the host to look at."""
    left = [permit for permit in bench.permits.values() if permit.alive()]
    for permit in left:
        make_blank(permit)
    return {"disks": [permit.disk.id for permit in left]}


def main() -> None:
    bench = Bench()
    for case in json.load(sys.stdin):
        began = time.monotonic()
        print(f"{case['name']} …", file=sys.stderr, flush=True)
        bench.context = bench.fresh_context()
        try:
            seen = globals()[case["do"]](bench, case)
        except ProblemError as error:
            seen = {"problems": [[p.code, p.message] for p in error.problems], "left": bench.leftovers()}
        seconds = round(time.monotonic() - began, 1)
        print(json.dumps({"case": case["name"], "seconds": seconds, **seen}), flush=True)


main()
