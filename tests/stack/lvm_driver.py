"""Runs in the lab's guest, as root: builds LVM volumes from real permits and says what it saw, one JSON line per case.

Standard input: a JSON list of cases, each with a `do` (a function below) and its options. One process for all of them,
because starting Python under emulation takes longer than building a volume.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
from raidtui.stack.catalog import all_actions
from raidtui.stack.context import Context
from raidtui.stack.layer import Draft, Part, Planned
from raidtui.stack.lvm import LAYER, build, commands, devices, teardown
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.lvm.spec import LvmSpec
from raidtui.stack.md import LAYER as MD
from raidtui.stack.md import kernel as md_kernel
from raidtui.stack.md import superblock
from raidtui.stack.md.spec import MdSpec

ACTIONS = all_actions()


def sh(line: str) -> str:
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout


class Bench:
    """All disks of the guest, admitted once."""

    def __init__(self) -> None:
        found = [disk for disk in scan() if disk.free]
        permits = admit("lvm-tests", [fingerprint(disk, boot_id()) for disk in found])
        # The small ones first: most volumes are made of them.
        permits.sort(key=lambda permit: permit.disk.size_bytes)
        self.permits = {permit.disk.id: permit for permit in permits}
        self.reports: list[str] = []
        self.cancelled = threading.Event()
        self.drafts: list[Draft] = []
        self.context = self.fresh_context()
        self.count = 0
        self.planned: Planned | None = None

    def fresh_context(self, permits: bool = True) -> Context:
        """As a new process would have it: nothing built, nothing proven."""
        folder = Path("/run/raidtui-lvm-tests")
        folder.mkdir(exist_ok=True)
        mine = self.permits if permits else {}
        context = Context("lvm-tests", folder, mine, lambda text, _: self.reports.append(text), self.cancelled)
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

    def names(self) -> Names:
        self.count += 1
        return Names(f"{os.getpid():x}{self.count}")

    def plan(self, case: dict[str, Any]) -> Planned:
        spec = decode(LvmSpec, {"on": "@data", **case["lvm"]})
        ids, parts, at = list(self.permits), {}, 0
        if case.get("large"):
            ids.reverse()
        for name in ("on", *LAYER.inputs(spec)):
            if name not in parts and (count := case.get(name, 0)):
                parts[name] = self.parts(ids[at : at + count])
                at += count
        assert LAYER.check(spec, {name: len(found) for name, found in parts.items()}, "$") == []
        policy = Policy(initial_sync=case.get("sync", "skip-if-zeroed"))
        self.planned = LAYER.plan(spec, parts, self.names(), policy)
        self.drafts += self.planned.build
        return self.planned

    def build(self, planned: Planned, until: str = "") -> dict[str, Any]:
        """Run the build steps; facts by action."""
        facts: dict[str, Any] = {"commands": {}, "planned": {}, "took": {"blank": self.blank(planned)}}
        for draft in planned.build:
            began = time.monotonic()
            outcome = self.run(draft)
            facts[draft.action] = outcome.facts
            facts["commands"][draft.action] = outcome.commands
            facts["planned"][draft.action] = draft.commands
            facts["took"][draft.action] = round(time.monotonic() - began, 1)
            if draft.action == until:
                break
        return facts

    def blank(self, planned: Planned) -> float:
        """Make the disks blank, and remember the proof; seconds."""
        began = time.monotonic()
        for disk in msgspec.to_builtins(planned.build[0].args)["disks"]:
            self.context.zero_proof[disk] = make_blank(self.permits[disk])
        return round(time.monotonic() - began, 1)

    def run(self, draft: Draft) -> Outcome:
        return ACTIONS[draft.action].do(self.context, draft.args)

    def leftovers(self) -> dict[str, Any]:
        """Everything of LVM and md that is still to be seen; nothing when there is nothing."""
        alive = {name: permit.path() for name, permit in self.permits.items() if permit.alive()}
        found = {
            "mapped": [p.read_text().strip() for p in Path("/sys/block").glob("dm-*/dm/name")],
            "labels": {name: uuid for name, path in alive.items() if (uuid := devices.read_label(path))},
            "links": [p.name for p in (*Path("/dev").glob(f"rt{os.getpid():x}*"), *Path("/dev/mapper").glob("rt*"))],
            "archives": [p.name for p in Path("/etc/lvm").glob("*/rt*")],
            "locks": [p.name for p in Path("/run/lock/lvm").glob("V_rt*")],
            "arrays": [name for name in md_kernel.all_arrays() if md_kernel.exists(name)],
            "superblocks": {name: marks for name, path in alive.items() if (marks := superblock.read(path))},
        }
        return {what: value for what, value in found.items() if value}


def volume_of(planned: Planned) -> Draft:
    return next(draft for draft in planned.build if draft.action == "lvm.volume")


def health_of(bench: Bench, planned: Planned) -> list[str]:
    return [text for draft in planned.build for text in ACTIONS[draft.action].health(bench.context, draft.args)]


def whole(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Build, look, take down, look again."""
    planned = bench.plan(case)
    seen = bench.build(planned)
    args = planned.build[0].args
    seen["args"] = msgspec.to_builtins(args)
    seen["health"] = health_of(bench, planned)
    seen["members"] = dict(ACTIONS["lvm.volume"].members(bench.context, args))
    if not case.get("brief"):
        seen["again"] = [bench.run(draft).result for draft in planned.build]
        seen["autoactivated"] = sh("lvm pvscan --cache -aay 2>&1 || true")
    path = bench.context.path(args.ref)
    seen["actual_size"] = int(sh(f"blockdev --getsize64 {path}"))
    seen["planned_size"] = planned.offers.size_bytes if planned.offers else 0
    sh(f"dd if=/dev/urandom of={path} bs=1M count=4 oflag=direct 2>/dev/null")
    began = time.monotonic()
    outcome = bench.run(planned.teardown[0])
    seen["took"]["lvm.remove"] = round(time.monotonic() - began, 1)
    seen["teardown"] = outcome.facts
    seen["commands"]["lvm.remove"] = outcome.commands
    seen["planned"]["lvm.remove"] = planned.teardown[0].commands
    seen["second"] = ACTIONS["lvm.group"].undo(bench.context, args).result
    seen["left"] = bench.leftovers()
    return seen


def looked_at(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """As `whole`, while somebody has a part of the volume open just when LVM converts it, as udev's rules may."""
    again: list[Any] = []
    usual = commands.run_command

    def run(argv: Any, **how: Any) -> Any:
        if argv[1:4] == ("vgchange", "--activate", "y"):
            again.append(argv)
        return usual(argv, **how)

    with instead(build, "run_command", run):
        threading.Thread(target=look, args=(case["part"],), daemon=True).start()
        seen = whole(bench, case)
    return {**seen, "activated_again": len(again)}


def look(part: str) -> None:
    """Keep a part of the volume open from when it is there until LVM took the volume down, and a little longer."""

    def there(name: str) -> bool:
        return sh("dmsetup info -c --noheadings -o name").split().count(name) > 0

    while not (found := list(Path("/dev/mapper").glob(f"rt*-pool{part}"))):
        time.sleep(0.05)
    fd = os.open(found[0], os.O_RDONLY)
    pool = found[0].name.removesuffix(part)
    while not there(pool):
        time.sleep(0.05)
    while there(pool):
        time.sleep(0.05)
    time.sleep(3.0)
    os.close(fd)


def undone(bench: Bench, args: LvmGroup) -> dict[str, Any]:
    """Undo as recovery does: first without any permit, then with them, knowing nothing but the step's arguments; twice."""
    group = ACTIONS["lvm.group"]
    bench.context = bench.fresh_context(permits=False)
    before = group.undo(bench.context, args)
    active = bench.leftovers().get("mapped", [])
    bench.context = bench.fresh_context()
    first, second = group.undo(bench.context, args), group.undo(bench.context, args)
    results = ["undone" if "undone" in (before.result, first.result) else first.result, second.result]
    return {"undo": results, "facts": first.facts, "active": active, "left": bench.leftovers()}


@contextmanager
def instead(module: Any, name: str, value: Any) -> Iterator[None]:
    """Something else under this name meanwhile: a patience that is shorter for what is known to be in use."""
    usual = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, usual)


def problem_of(work: Callable[[], object]) -> list[Any]:
    """Code, message and exit of what went wrong, as it should have."""
    try:
        done = work()
    except ProblemError as error:
        found = error.problems[0]
        return [found.code, found.message, found.exit]
    return ["no problem", repr(done), 0]


def killed(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """The commands, or those of one step (`in`), die in the middle, at several moments; an undo each time."""
    seen: list[Any] = []
    for after_s in case["after_s"]:
        planned = bench.plan(case)
        drafts = list(planned.build)
        if inside := case.get("in"):
            at = next(i for i, draft in enumerate(drafts) if draft.action == inside)
            bench.build(planned, until=drafts[at - 1].action)
            drafts = drafts[at : at + 1]
        else:
            bench.blank(planned)
        lines = [command for draft in drafts for command in draft.commands]
        bench.let_go()
        child = subprocess.Popen([sys.executable, "-c", _RUN_ALL, json.dumps(lines)], start_new_session=True)
        time.sleep(after_s)
        ended = child.poll()
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        before = bench.leftovers()
        seen.append({"after_s": after_s, "ended": ended, "before": before, **undone(bench, planned.build[0].args)})
    return {"kills": seen}


_RUN_ALL = """
import json, subprocess, sys
for argv in json.loads(sys.argv[1]):
    subprocess.run(argv, input=b"y\\ny\\ny\\n", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""


def still_creating(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """The undo begins while a command, left behind by a crash, is still at work."""
    planned = bench.plan(case)
    bench.build(planned, until="lvm.group")
    bench.let_go()
    child = subprocess.Popen(volume_of(planned).commands[0], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.1)
    reaper = threading.Thread(target=child.wait)
    reaper.start()
    return undone(bench, planned.build[0].args)


def broken(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Something happens to a built volume (`then`: shell lines), and it still is taken away whole."""
    planned = bench.plan(case)
    bench.build(planned)
    args = planned.build[0].args
    paths = [bench.context.path(pv.ref) for pv in args.pvs]
    env = {"VG": args.name, "A": paths[0], "B": paths[1], "ALL": ",".join(paths)}
    then = subprocess.run(case["then"], shell=True, capture_output=True, text=True, env={**os.environ, **env})
    health = health_of(bench, planned)
    before = bench.leftovers()
    return {"then": then.stderr[-300:], "health": health, "before": before, **undone(bench, args)}


def foreign(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Somebody else's group has the name that the plan chose; later he adds his disk to ours."""
    planned = bench.plan(case)
    args = planned.build[0].args
    theirs = [permit.path() for permit in bench.permits.values()][-2:]
    both = ",".join(theirs)
    bench.let_go()
    sh(f"lvm vgcreate -An {args.name} {' '.join(theirs)} && lvm lvcreate -An -y -n volume -L 64M {args.name}")
    active = problem_of(lambda: bench.run(planned.build[0]))
    running = undone(bench, args)["undo"]
    still = "volume" in sh(f"lvm lvs --devices {both} {args.name}")
    sh(f"lvm vgchange -an {args.name}")
    inactive = problem_of(lambda: bench.run(planned.build[0]))
    sh(f"lvm vgrename -An {args.name} theirs")
    bench.context = bench.fresh_context()
    bench.context.zero_proof |= {disk: {"method": "discard"} for disk in args.disks}
    bench.build(planned)
    paths = [bench.context.path(pv.ref) for pv in args.pvs]
    sh(f"lvm vgremove -y theirs && lvm pvcreate {theirs[0]} && lvm vgextend -An {args.name} {theirs[0]} "
       f"--devices {theirs[0]},{','.join(paths)}")  # fmt: skip
    shared = problem_of(lambda: bench.run(planned.teardown[0]))
    sh(f"lvm vgreduce -An {args.name} {theirs[0]} --devices {theirs[0]},{','.join(paths)}")
    kept = devices.read_label(theirs[0])
    sh(f"lvm vgrename -An {args.name} other --devices {','.join(paths)}")
    renamed = problem_of(lambda: bench.run(planned.teardown[0]))
    sh(f"lvm vgrename -An other {args.name} --devices {','.join(paths)}")
    stranger = replace(args.pvs[0], ref=f"disk:{list(bench.permits)[-2]}")
    result = undone(bench, replace(args, pvs=(*args.pvs, stranger)))
    after = devices.read_label(theirs[0])
    for path in theirs:
        sh(f"lvm pvremove {path}; wipefs -a {path}; true")
    return {**result, "taken": active, "running": running, "still": still, "inactive": inactive, "shared": shared,
            "renamed": renamed, "kept": kept is not None and kept == after, "left": bench.leftovers()}  # fmt: skip


def refused(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """What the actions themselves refuse."""
    planned = bench.plan(case)
    group, verify = planned.build[0], planned.build[-1]
    bench.context = bench.fresh_context()
    unproven = problem_of(lambda: bench.run(group))
    untouched = bench.leftovers()
    bench.build(planned)
    volume = replace(verify.args.volume, type="raid10", size_bytes=1 << 60)
    wrong = problem_of(lambda: ACTIONS["lvm.verify"].do(bench.context, replace(verify.args, volume=volume)))
    path = bench.context.path(group.args.ref)
    with open(path, "rb") as device:
        holder = subprocess.Popen(["sleep", "600"], stdin=device)
    with instead(teardown, "BUSY_PATIENCE_S", 1.0):
        busy = problem_of(lambda: bench.run(planned.teardown[0]))
    holder.kill()
    holder.wait()
    return {"unproven": unproven, "untouched": untouched, "mismatch": wrong, "busy": busy, "pid": holder.pid,
            **undone(bench, group.args)}  # fmt: skip


def cancelled(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """The operator cancels during the initial sync."""
    planned = bench.plan(case)
    bench.context.report = lambda text, _: (bench.reports.append(text), bench.cancelled.set())[0]
    limit = Path("/proc/sys/dev/raid/speed_limit_max")
    usual = limit.read_text()
    limit.write_text("1000")
    stopped = problem_of(lambda: bench.build(planned))
    limit.write_text(usual)
    bench.cancelled.clear()
    return {"stopped": stopped, "reports": bench.reports[-3:], **undone(bench, planned.build[0].args)}


def stacked(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """LVM stripes over two md arrays, and an md mirror over two volumes; taken away after a crash, from above."""
    names, policy, ids = bench.names(), Policy(), list(bench.permits)
    mirror, stripe = decode(MdSpec, {"on": "@a", "level": "raid1"}), decode(MdSpec, {"on": "@a", "level": "raid0"})
    linear, striped = decode(LvmSpec, {"on": "@a", "size": "50%"}), decode(LvmSpec, {"on": "@a", "type": "striped"})
    seen: dict[str, Any] = {}
    for what, upper, lower in (
        ("lvm on md", (LAYER, striped), (MD, stripe)), ("md on lvm", (MD, mirror), (LAYER, linear)),
        ("lvm on lvm", (LAYER, striped), (LAYER, linear)),
    ):  # fmt: skip
        if what not in case.get("only", [what]):
            continue
        below = [lower[0].plan(lower[1], {"on": bench.parts(pair)}, names, policy) for pair in (ids[:2], ids[2:4])]
        offers = tuple(plan.offers for plan in below if plan.offers is not None)
        above = upper[0].plan(upper[1], {"on": offers}, names, policy)
        bench.drafts += [draft for plan in (*below, above) for draft in plan.build]
        for plan in (*below, above):
            for draft in plan.build:
                bench.run(draft)
        made = above.build[0].args
        size = int(sh(f"blockdev --getsize64 {bench.context.path(made.ref)}"))
        health = health_of(bench, above)
        members: dict[str, str] = {}
        for draft in above.build:
            members |= ACTIONS[draft.action].members(bench.context, draft.args)
        steps = [plan.build[0] for plan in (above, *reversed(below))]
        bench.context = bench.fresh_context(permits=False)
        first = [ACTIONS[step.action].undo(bench.context, step.args).result for step in steps]
        bench.context = bench.fresh_context()
        second = [ACTIONS[step.action].undo(bench.context, step.args).result for step in steps]
        seen[what] = {"size": [size, above.offers.size_bytes if above.offers else 0], "health": health,
                      "members": sorted(members.values()), "undo": [first, second], "left": bench.leftovers()}  # fmt: skip
    return {"stacks": seen}


def unplugged(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """The host pulls a device out, between the files `ready` and `pulled`."""
    planned = bench.plan(case)
    bench.build(planned)
    args = planned.build[0].args
    ready, pulled = Path("/run/lvm-ready"), Path("/run/lvm-pulled")
    ready.write_text(args.disks[0])
    while not pulled.exists():
        time.sleep(0.1)
    sh(f"dd if=/dev/zero of={bench.context.path(args.ref)} bs=1M count=8 oflag=direct || true")
    health = health_of(bench, planned)
    result = undone(bench, args)
    pulled.unlink()
    return {"health": health, **result}


def blank(bench: Bench, case: dict[str, Any]) -> dict[str, Any]:
    """Make every disk that is left blank, for the host to look at."""
    left = [permit for permit in bench.permits.values() if permit.alive()]
    return {"disks": [permit.disk.id for permit in left], "proofs": [make_blank(permit) for permit in left]}


FUNCTIONS: dict[str, Callable[[Bench, dict[str, Any]], dict[str, Any]]] = {
    found.__name__: found
    for found in (whole, looked_at, killed, still_creating, broken, foreign, refused, cancelled, stacked, unplugged, blank)
}


def main() -> None:
    bench = Bench()
    for case in json.load(sys.stdin):
        began = time.monotonic()
        signal.alarm(600)
        bench.planned = None
        try:
            result = FUNCTIONS[case["do"]](bench, case)
        except Exception as error:
            # One case that goes wrong is not to hide the others.
            found = error.problems if isinstance(error, ProblemError) else ()
            result = {"problems": [[p.code, p.message, p.place, p.exit] for p in found] or traceback.format_exc()}
            if bench.planned is not None:
                bench.run(bench.planned.teardown[0])
            result["left"] = bench.leftovers()
        result |= {"case": case["name"], "seconds": round(time.monotonic() - began, 1)}
        print(json.dumps(result, default=str), flush=True)


if __name__ == "__main__":
    main()
