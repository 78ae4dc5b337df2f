"""Runs in the lab's guest, as root: builds LVM volumes from real permits, and prints one JSON line per case."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from driver_bench import ACTIONS, Bench, Case, drive, instead, problem_of, sh, wait_for_pull
from msgspec.structs import replace

from raidtui.inventory.udev import wait_for_udev
from raidtui.model.convert import decode
from raidtui.model.scenario import Policy
from raidtui.stack.layer import Draft, Planned
from raidtui.stack.lvm import LAYER, build, commands, devices, teardown
from raidtui.stack.lvm.group import LvmGroup
from raidtui.stack.lvm.spec import LvmSpec
from raidtui.stack.md import LAYER as MD
from raidtui.stack.md import kernel as md_kernel
from raidtui.stack.md import superblock
from raidtui.stack.md.spec import MdSpec


class LvmBench(Bench):
    name = "lvm"

    def sorted(self, permits: Iterable[Any]) -> Iterable[Any]:
        """The small ones first: most volumes are made of them."""
        return sorted(permits, key=lambda permit: permit.disk.size_bytes)

    def plan(self, case: Case) -> Planned:
        spec = decode(LvmSpec, {"on": "@data", **case["lvm"]})
        ids = list(self.permits)
        parts = self.deal({name: case.get(name, 0) for name in ("on", *LAYER.inputs(spec))},
                          ids[::-1] if case.get("large") else ids)  # fmt: skip
        assert LAYER.check(spec, {name: len(found) for name, found in parts.items()}, "$") == []
        return self.keep(LAYER.plan(spec, parts, self.names(), Policy(initial_sync=case.get("sync", "skip-if-zeroed"))))

    def prepare(self, planned: Planned) -> None:
        self.make_blank(msgspec.to_builtins(planned.build[0].args)["disks"])

    def traces(self) -> dict[str, Any]:
        """Everything of LVM and md."""
        alive = self.alive()
        return {
            "mapped": [p.read_text().strip() for p in Path("/sys/block").glob("dm-*/dm/name")],
            "labels": {name: uuid for name, path in alive.items() if (uuid := devices.read_label(path))},
            "links": [p.name for p in (*Path("/dev").glob(f"rt{os.getpid():x}*"), *Path("/dev/mapper").glob("rt*"))],
            "archives": [p.name for p in Path("/etc/lvm").glob("*/rt*")],
            "locks": [p.name for p in Path("/run/lock/lvm").glob("V_rt*")],
            "arrays": [name for name in md_kernel.all_arrays() if md_kernel.exists(name)],
            "superblocks": {name: marks for name, path in alive.items() if (marks := superblock.read(path))},
        }


def volume_of(planned: Planned) -> Draft:
    return next(draft for draft in planned.build if draft.action == "lvm.volume")


def whole(bench: LvmBench, case: Case) -> dict[str, Any]:
    """Build, look, take down, look again."""
    planned = bench.plan(case)
    seen = bench.build(planned)
    args = planned.build[0].args
    seen["args"] = msgspec.to_builtins(args)
    seen["health"] = bench.health(planned)
    seen["members"] = dict(ACTIONS["lvm.volume"].members(bench.context, args))
    if not case.get("brief"):
        seen["again"] = [bench.run(draft).result for draft in planned.build]
        seen["autoactivated"] = sh("lvm pvscan --cache -aay 2>&1 || true")
    path = bench.context.path(args.ref)
    seen["actual_size"] = int(sh(f"blockdev --getsize64 {path}"))
    seen["planned_size"] = planned.offers[0].size_bytes if planned.offers else 0
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


def looked_at(bench: LvmBench, case: Case) -> dict[str, Any]:
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


def undone(bench: LvmBench, args: LvmGroup) -> dict[str, Any]:
    """Undo as recovery does: first without any permit, then with them, knowing nothing but the step's arguments; twice."""
    group = ACTIONS["lvm.group"]
    bench.context = bench.fresh_context(permits=False)
    before = group.undo(bench.context, args)
    active = bench.leftovers().get("mapped", [])
    bench.context = bench.fresh_context()
    first, second = group.undo(bench.context, args), group.undo(bench.context, args)
    results = ["undone" if "undone" in (before.result, first.result) else first.result, second.result]
    return {"undo": results, "facts": first.facts, "active": active, "left": bench.leftovers()}


def killed(bench: LvmBench, case: Case) -> dict[str, Any]:
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
            bench.prepare(planned)
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


def still_creating(bench: LvmBench, case: Case) -> dict[str, Any]:
    """The undo begins while a command, left behind by a crash, is still at work."""
    planned = bench.plan(case)
    bench.build(planned, until="lvm.group")
    bench.let_go()
    child = subprocess.Popen(volume_of(planned).commands[0], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.1)
    reaper = threading.Thread(target=child.wait)
    reaper.start()
    return undone(bench, planned.build[0].args)


def broken(bench: LvmBench, case: Case) -> dict[str, Any]:
    """Something happens to a built volume (`then`: shell lines), and it still is taken away whole."""
    planned = bench.plan(case)
    bench.build(planned)
    args = planned.build[0].args
    paths = [bench.context.path(pv.ref) for pv in args.pvs]
    env = {"VG": args.name, "A": paths[0], "B": paths[1], "ALL": ",".join(paths)}
    then = subprocess.run(case["then"], shell=True, capture_output=True, text=True, env={**os.environ, **env})
    health = bench.health(planned)
    before = bench.leftovers()
    return {"then": then.stderr[-300:], "health": health, "before": before, **undone(bench, args)}


def foreign(bench: LvmBench, case: Case) -> dict[str, Any]:
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


def namesakes(bench: LvmBench, case: Case) -> dict[str, Any]:
    """Disks beside the run carry a group, an array and a pool with the planned name; the group comes once ours is built."""
    planned = bench.plan(case)
    args = planned.build[0].args
    name, vg, md, pool = (args.name, *[permit.path() for permit in bench.permits.values()][3:6])
    bench.let_go()
    sh(f"lvm vgcreate -An --setautoactivation n {name} {vg} && lvm lvcreate -An -y -n volume -L 64M {name} "
       f"&& lvm vgchange -an {name}")  # fmt: skip
    with open(vg, "rb") as device:
        label = device.read(2 << 20)
    sh(f"dd if=/dev/zero of={vg} bs=1M count=2 oflag=direct")
    sh(f"mdadm --create /dev/md/{name} --run --level=1 --raid-devices=2 {md} missing && mdadm --stop /dev/md/{name}")
    sh(f"zpool create -m none {name} {pool} && zpool export {name}")
    bench.build(planned)
    with open(vg, "r+b") as device:
        device.write(label)
    theirs = [Path(path).name for path in (vg, md, pool)]
    wait_for_udev(theirs, 20.0)
    both = sh(f"lvm vgs --noheadings -o vg_name --devices {vg},{bench.context.path(args.pvs[0].ref)}").split().count(name)

    def read() -> list[int]:
        return [int(Path(f"/sys/class/block/{one}/stat").read_text().split()[2]) for one in theirs]

    hashes = [sh(f"sha256sum < /dev/{one}") for one in theirs]
    before = read()
    results = [bench.run(planned.build[-1]).result, *bench.health(planned), bench.run(planned.teardown[0]).result]
    sectors = [after - then for then, after in zip(before, read(), strict=True)]
    same = hashes == [sh(f"sha256sum < /dev/{one}") for one in theirs]
    for path in (vg, md, pool):
        sh(f"wipefs -a {path}; blkdiscard -z {path}; rm -f /etc/lvm/archive/{name}_*")
    return {"both": both, "results": results, "sectors": sectors, "same": same, "left": bench.leftovers()}


def refused(bench: LvmBench, case: Case) -> dict[str, Any]:
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


def cancelled(bench: LvmBench, case: Case) -> dict[str, Any]:
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


def stacked(bench: LvmBench, case: Case) -> dict[str, Any]:
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
        offers = tuple(part for plan in below for part in plan.offers)
        above = upper[0].plan(upper[1], {"on": offers}, names, policy)
        bench.drafts += [draft for plan in (*below, above) for draft in plan.build]
        for plan in (*below, above):
            for draft in plan.build:
                bench.run(draft)
        made = above.build[0].args
        size = int(sh(f"blockdev --getsize64 {bench.context.path(made.ref)}"))
        health = bench.health(above)
        members: dict[str, str] = {}
        for draft in above.build:
            members |= ACTIONS[draft.action].members(bench.context, draft.args)
        steps = [plan.build[0] for plan in (above, *reversed(below))]
        bench.context = bench.fresh_context(permits=False)
        first = [ACTIONS[step.action].undo(bench.context, step.args).result for step in steps]
        bench.context = bench.fresh_context()
        second = [ACTIONS[step.action].undo(bench.context, step.args).result for step in steps]
        seen[what] = {"size": [size, above.offers[0].size_bytes if above.offers else 0], "health": health,
                      "members": sorted(members.values()), "undo": [first, second], "left": bench.leftovers()}  # fmt: skip
    return {"stacks": seen}


def unplugged(bench: LvmBench, case: Case) -> dict[str, Any]:
    """The host pulls a device out."""
    planned = bench.plan(case)
    bench.build(planned)
    args = planned.build[0].args
    wait_for_pull(bench, args.disks[0])
    sh(f"dd if=/dev/zero of={bench.context.path(args.ref)} bs=1M count=8 oflag=direct || true")
    health = bench.health(planned)
    return {"health": health, **undone(bench, args)}


if __name__ == "__main__":
    drive(LvmBench(), whole, looked_at, killed, still_creating, broken, foreign, namesakes, refused, cancelled, stacked,
          unplugged)  # fmt: skip
