"""Runs in the lab's guest, as root: builds ZFS pools from real permits, and prints one JSON line per case."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from driver_bench import ACTIONS, Bench, Case, drive, instead, problem_of, sh, wait_for_pull
from msgspec.structs import replace

from raidtui.gate.blank import make_blank
from raidtui.inventory.mounts import read_own_mounts
from raidtui.model.convert import decode
from raidtui.model.scenario import Policy
from raidtui.stack import mounts
from raidtui.stack.layer import Draft, Planned
from raidtui.stack.md import LAYER as MD
from raidtui.stack.md.spec import MdSpec
from raidtui.stack.zfs import LAYER, arc, devices, pool, properties, teardown
from raidtui.stack.zfs.commands import ZfsPool
from raidtui.stack.zfs.spec import ZpoolSpec

MAKERS = ("zpool.create", "zpool.volume", "zpool.dataset", "zpool.mount")


class ZfsBench(Bench):
    name = "zfs"

    def plan(self, case: Case) -> Planned:
        measured = {} if "dataset" in case["zpool"] else {"volume": {"size": "50%"}}
        spec = decode(ZpoolSpec, {**measured, **case["zpool"]})
        parts = self.deal({name: case["counts"][name] for name in LAYER.inputs(spec)})
        assert LAYER.check(spec, {name: len(found) for name, found in parts.items()}, "$") == []
        resets = "reset" in case
        policy = Policy(reset=case.get("reset", "none"), caches=case.get("caches", "warm" if resets else "cold"))
        return self.keep(LAYER.plan(spec, parts, self.names(), policy))

    def reached(self, moment: str, name: str) -> bool:
        """Whether a first partition table is written, zpool is at work, or the pool is there."""
        if moment == "table":
            return "tables" in self.leftovers()
        return bool(pool.makers(name)) if moment == "zpool" else pool.state(name) is not None

    def traces(self) -> dict[str, Any]:
        alive = {name: permit.disk for name, permit in self.permits.items() if permit.alive()}
        numbers = {name: os.makedev(disk.major, disk.minor) for name, disk in alive.items()}
        return {
            "pools": [path.parent.name for path in pool.KSTAT.glob("*/state")],
            "tables": {name: guid for name, number in numbers.items() if (guid := devices.disk_guid(number))},
            "partitions": [p.parent.name for d in alive.values() for p in Path(f"/sys/block/{d.name}").glob("*/partition")],
            "volumes": [path.name for path in Path("/sys/block").glob("zd*")],
            "links": [path.name for path in Path("/dev/zvol").glob("*")],
            "mounts": [mount.point for mount in read_own_mounts() if mount.kind == "zfs"],
            "points": [path.name for path in Path(mounts.FOLDER).glob("*")],
        }


def whole(bench: ZfsBench, case: Case) -> dict[str, Any]:
    """Build, look, write, empty the ARC, look whether it is still there, take down, look again."""
    planned = bench.plan(case)
    seen = bench.build(planned)
    builds = {draft.action: draft for draft in planned.build}
    create = builds["zpool.create"]
    action = ACTIONS["zpool.create"]
    seen["health"] = action.health(bench.context, create.args)
    seen["members"] = dict(action.members(bench.context, create.args))
    seen["again"] = [ACTIONS[name].do(bench.context, create.args).result for name in builds if name in MAKERS]
    seen["args"] = msgspec.to_builtins(create.args)
    seen |= (on_volume if create.args.has_volume else on_files)(bench, planned)
    if case.get("cold"):
        seen |= cold(bench, planned)
    outcome = bench.run(planned.teardown[0])
    seen["after"] = [bench.run(draft).result for draft in planned.teardown[1:]]
    seen["arc"] = [seen.get("zpool.arc", {}).get("found"), arc.limit_bytes()]
    seen["teardown"] = outcome.facts
    seen["commands"]["zpool.destroy"] = outcome.commands
    seen["planned"]["zpool.destroy"] = planned.teardown[0].commands
    seen["second"] = action.undo(bench.context, create.args).result
    seen["left"] = bench.leftovers()
    return seen


def on_volume(bench: ZfsBench, planned: Planned) -> dict[str, Any]:
    path = bench.context.path(planned.targets[0].refs[0])
    sh(f"dd if=/dev/urandom of={path} bs=1M count=4 oflag=direct conv=fsync")
    return {"actual_size": int(sh(f"blockdev --getsize64 {path}"))}


def on_files(bench: ZfsBench, planned: Planned) -> dict[str, Any]:
    path = bench.context.path(planned.targets[0].refs[0])
    sh(f"dd if=/dev/urandom of={path}/file bs=1M count=4 conv=fsync")
    return {"mode": oct(os.stat(Path(path).parent).st_mode & 0o777), "mounts": sh("cat /proc/1/mountinfo").count(path)}


def first_bytes(bench: ZfsBench, planned: Planned) -> str:
    path = bench.context.path(planned.targets[0].refs[0])
    file = path if planned.targets[0].kind == "block" else f"{path}/file"
    return sh(f"head -c 4M {file} | sha256sum")


def cold(bench: ZfsBench, planned: Planned) -> dict[str, Any]:
    """What was written is still there after the pool was away, and it is healthy."""
    (draft,) = planned.before_cell
    before = first_bytes(bench, planned)
    outcome = bench.run(draft)
    args = draft.args
    return {
        "cold": outcome.facts,
        "cold ran": [outcome.commands, draft.commands],
        "kept": before == first_bytes(bench, planned),
        "cold health": ACTIONS["zpool.create"].health(bench.context, args),
        "cache files": [path.name for path in Path("/etc/zfs").glob("zpool.cache")],
    }


def undone(bench: ZfsBench, args: ZfsPool) -> dict[str, Any]:
    """Undo as a recovering process would, knowing nothing but the step's arguments: first without disks; then twice."""
    create = ACTIONS["zpool.create"]
    blind = create.undo(bench.fresh_context(permits=False), args)
    bench.context = bench.fresh_context()
    first, second = create.undo(bench.context, args), create.undo(bench.context, args)
    return {"blind": blind.result, "undo": [first.result, second.result], "facts": first.facts, "left": bench.leftovers()}


def killed(bench: ZfsBench, case: Case) -> dict[str, Any]:
    """The builder dies in the middle of creating, at several moments, zpool lives on or dies too; an undo each time."""
    seen: list[Any] = []
    for moment, also in case["moments"]:
        create = bench.plan(case).build[0]
        bench.let_go()
        pid = os.fork()
        if pid == 0:
            try:
                bench.run(create)
            finally:
                os._exit(0)
        until = time.monotonic() + 120
        while not bench.reached(moment, create.args.name) and time.monotonic() < until:
            time.sleep(0.005)
        os.kill(pid, signal.SIGKILL)
        hit = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
        if also:
            for maker in pool.makers(create.args.name):
                os.kill(maker, signal.SIGKILL)
        before = bench.leftovers()
        seen.append({"moment": moment, "also": also, "hit": hit, "before": before, **undone(bench, create.args)})
    return {"kills": seen}


def broken(bench: ZfsBench, case: Case) -> dict[str, Any]:
    """Something happens to a built pool (`then`: shell lines), and it still is taken away whole."""
    planned = bench.plan(case)
    bench.build(planned)
    create = planned.build[0]
    first = bench.context.path(create.args.devices[0].ref)
    env = {"POOL": create.args.name, "A": f"{first}p1", "VOLUME": bench.context.path(create.args.ref)}
    subprocess.run(case["then"], shell=True, check=True, capture_output=True, env={**os.environ, **env})
    health = ACTIONS["zpool.create"].health(bench.context, create.args)
    before = bench.leftovers()
    return {"health": health, "before": before, **undone(bench, create.args)}


def foreign(bench: ZfsBench, case: Case) -> dict[str, Any]:
    """Somebody else's pool has the name that the plan chose."""
    create = bench.plan(case).build[0]
    name, theirs = create.args.name, [permit.path() for permit in bench.permits.values()][-1]
    bench.let_go()
    sh(f"udevadm settle; zpool create -o cachefile=none -O mountpoint=none {name} {theirs}")
    imported = problem_of(lambda: bench.run(create))
    undo = problem_of(lambda: ACTIONS["zpool.create"].undo(bench.fresh_context(), create.args))
    sh(f"zpool export {name}; udevadm settle")
    exported = problem_of(lambda: bench.run(create))
    after = ACTIONS["zpool.create"].undo(bench.fresh_context(), create.args).result
    still = sh(f"zpool import -d {theirs}p1 -o cachefile=none -N {name}; zpool list -H -o health {name}").strip()
    sh(f"zpool destroy {name}")
    make_blank(bench.permits[list(bench.permits)[-1]])
    return {"imported": imported, "undo": undo, "exported": exported, "after": after, "still": still,
            "left": bench.leftovers()}  # fmt: skip


def refused(bench: ZfsBench, case: Case) -> dict[str, Any]:
    """What the actions themselves refuse."""
    planned = bench.plan(case)
    create, verify = planned.build[0], planned.build[-1]
    wrong = replace(create.args, properties={**create.args.properties, "ashift": "77"})
    bad = problem_of(lambda: ACTIONS["zpool.create"].do(bench.context, wrong))
    untouched = bench.leftovers()
    bench.build(planned)
    other = replace(verify.args, sparse=False, own={**verify.args.own, "compression": "zle"})
    mismatch = problem_of(lambda: ACTIONS["zpool.verify"].do(bench.context, other))
    path = bench.context.path(create.args.ref)
    with open(path, "rb") as device:
        holder = subprocess.Popen(["sleep", "600"], stdin=device)
    with instead(teardown, "BUSY_PATIENCE_S", 1.0):
        busy = problem_of(lambda: bench.run(planned.teardown[0]))
    holder.kill()
    holder.wait()
    return {"bad": bad, "untouched": untouched, "mismatch": mismatch, "busy": busy, "pid": holder.pid,
            **undone(bench, create.args)}  # fmt: skip


def stacked(bench: ZfsBench, case: Case) -> dict[str, Any]:
    """A pool over two md mirrors; taken away after a crash, from above."""
    names, policy, ids = bench.names(), Policy(), list(bench.permits)
    lower = [MD.plan(decode(MdSpec, {"on": "@a", "level": "raid0"}), {"on": bench.parts(pair)}, names, policy)
             for pair in (ids[:2], ids[2:4])]  # fmt: skip
    offers = tuple(part for plan in lower for part in plan.offers)
    spec = decode(ZpoolSpec, {"vdevs": [{"mirror": "@a"}], "volume": {"size": "50%"}})
    upper = LAYER.plan(spec, {"vdevs[0].mirror": offers}, names, policy)
    bench.drafts += [draft for plan in (*lower, upper) for draft in plan.build]
    for plan in (*lower, upper):
        for draft in plan.build:
            bench.run(draft)
    create = upper.build[0]
    members = dict(ACTIONS["zpool.create"].members(bench.context, create.args))
    health = ACTIONS["zpool.create"].health(bench.context, create.args)
    bench.context = bench.fresh_context()
    results = [ACTIONS[plan.build[0].action].undo(bench.context, plan.build[0].args).result for plan in (upper, *lower)]
    return {"members": members, "health": health, "undo": results, "left": bench.leftovers()}


def unplugged(bench: ZfsBench, case: Case) -> dict[str, Any]:
    """The host pulls a device out."""
    planned = bench.plan(case)
    create = planned.build[0]
    bench.build(planned)
    wait_for_pull(bench, create.args.disks[0])
    sh(f"dd if=/dev/urandom of={bench.context.path(create.args.ref)} bs=1M count=8 oflag=direct || true")
    health = ACTIONS["zpool.create"].health(bench.context, create.args)
    return {"health": health, **undone(bench, create.args)}


def lists(bench: ZfsBench, case: Case) -> dict[str, Any]:
    """What the tools themselves list, against what is offered; what is refused, and with which words."""
    usages = {of: pool.call((tool, "get", "-H", "no-such-property"), check=False).error_text
              for of, tool in (("pool", "zpool"), ("dataset", "zfs"))}  # fmt: skip
    tools = {of: re.findall(r"^\t([a-z_]+) +(?:YES|NO) +", usage, re.MULTILINE) for of, usage in usages.items()}
    known = {of: properties.known_properties(of) for of in ("pool", "dataset")}
    said = {}
    for name, (where, given) in case["tried"].items():
        found = list(properties.check_known(given, where, "zpool"))
        said[name] = [[problem.code, problem.message, problem.remedy] for problem in found]
    return {
        "listed": {of: sorted(found) for of, found in tools.items()},
        "known": {of: {name: one.values for name, one in sorted(found.items())} for of, found in known.items()},
        "said": said,
        "version": [pool.module_version(), pool.tools_version()],
    }


def busy_files(bench: ZfsBench, case: Case) -> dict[str, Any]:
    """A process works in the directory: it is named, and what it uses stays."""
    planned = bench.plan(case)
    bench.build(planned)
    point = bench.context.path(planned.targets[0].refs[0])
    holder = subprocess.Popen(["sleep", "600"], cwd=point)
    with instead(mounts, "BUSY_PATIENCE_S", 1.0):
        busy = problem_of(lambda: bench.run(planned.teardown[0]))
    still = [mount.kind for mount in mounts.at(point)]
    holder.kill()
    holder.wait()
    return {"busy": busy, "pid": holder.pid, "still": still, **undone(bench, planned.build[0].args)}


def reset(bench: ZfsBench, case: Case) -> dict[str, Any]:
    """Fill a volume or a file, write to it in several ways, and bring it back each time; take it down as it is then.

    With `away` the last way back was interrupted: the pool is exported, or imported without its checkpoint.
    """
    planned = bench.plan(case)
    began = time.monotonic()
    bench.build(planned)
    create = planned.build[0]
    path = measured(bench, create.args)
    sh(f"dd if=/dev/urandom of={path} bs=1M count={case.get('mib', 64)} oflag=direct conv=fsync")
    (snapshot,), (rollback,) = planned.filled, planned.reset
    taken = [bench.run(snapshot) for _ in range(2)]
    built_s = time.monotonic() - began
    sums, seen = [content(path)], []
    for write in case["writes"]:
        sh(write.format(path=path))
        changed = content(path)
        began = time.monotonic()
        outcome = bench.run(rollback)
        seen.append({"changed": changed != sums[0], "seconds": time.monotonic() - began, "calls": outcome.commands,
                     "facts": outcome.facts})  # fmt: skip
        path = measured(bench, create.args)
        sums.append(content(path))
    if case["reset"] == "rollback" and create.args.has_volume:
        with open(path, "r+b") as held:  # dirty pages of somebody who keeps it open
            held.write(os.urandom(1 << 20))
            held.flush()
            bench.run(rollback)
            sums.append(content(path))
    again = (rollback, *planned.before_cell)
    held = release_by_force(bench, create.args, again) if case["reset"] == "rollback" else []
    settled = ACTIONS["zpool.create"].settle(bench.context, create.args)
    health = ACTIONS["zpool.create"].health(bench.context, create.args)
    pool_guid = pool.properties(create.args.name)["guid"]
    if "away" in case:
        sh(case["away"].format(pool=create.args.name, devices=" ".join(f"-d {one.path}" for one in leaves(create.args))))
    return {"taken": [one.result for one in taken], "sums": sums, "rollbacks": seen, "built_s": built_s, "settled": settled,
            "health": health, "planned": rollback.commands, "guid": pool_guid, "held": held,
            **undone(bench, create.args)}  # fmt: skip


def release_by_force(bench: ZfsBench, args: ZfsPool, again: tuple[Draft, ...]) -> list[str]:
    """Destroy the snapshot as somebody else would, before and after the builder ends, and after each of these steps.

    Returns its holds and the answer, by turns.
    """
    seen: list[str] = []
    for work in (lambda: None, bench.context.builder.close, *(partial(bench.run, draft) for draft in again)):
        work()
        seen.append(sh(f"zfs holds -H {args.snapshot} | cut -f2").strip())
        argv = ["zfs", "destroy", *([] if seen[-1] else ["-n"]), args.snapshot]
        seen.append(subprocess.run(argv, check=False, capture_output=True, text=True).stderr)
    return seen


def interrupted(bench: ZfsBench, case: Case) -> dict[str, Any]:
    """The operator cancels the initialize after a while, or a command does something to a device; then it is undone."""
    planned = bench.plan(case)
    bench.build(planned, until="zpool.create")
    draft = next(draft for draft in planned.build if draft.action == "zpool.initialize")
    seen: dict[str, Any] = {}

    def interrupt() -> None:
        seen["before"] = sh(f"zpool status -i {draft.args.name}")
        seen["busy"] = leaves(draft.args)[0].busy
        if "by" in case:
            sh(case["by"].format(pool=draft.args.name, device=leaves(draft.args)[0].path))
        else:
            bench.cancelled.set()

    threading.Timer(4.0, interrupt).start()
    with bench.context.attended():
        seen["stopped"] = problem_of(lambda: bench.run(draft))
    bench.cancelled.clear()
    seen |= {"status": sh(f"zpool status -i {draft.args.name}"), "reports": bench.reports[-1:]}
    return {**seen, **undone(bench, draft.args)}


def leaves(args: ZfsPool) -> list[pool.Leaf]:
    found = pool.find(args.name)
    assert found is not None
    return list(found.leaves)


def measured(bench: ZfsBench, args: ZfsPool) -> str:
    """The volume, or a file in the filesystem."""
    path = bench.context.path(args.ref)
    return path if args.has_volume else f"{path}/file"


def content(path: str) -> str:
    """Checksum of what anybody reads: through the page cache."""
    return sh(f"dd if={path} bs=1M count=80 status=none | sha256sum")


if __name__ == "__main__":
    mounts.enter_own_namespace()
    drive(ZfsBench(), whole, killed, broken, foreign, refused, stacked, unplugged, lists, busy_files, reset,
          interrupted)
