"""Making a pool of the run's own on an existing cluster, and the way back.

A file in the run's folder says, before anything is made, which cluster it is and the number of its newest pool: the undo
removes nothing without it, on no other cluster, and no pool that was there before.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

import msgspec

from raidtui.base.text import plural
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.clusters import LATE_S, Notes, left_behind, refused, too_few, too_large
from raidtui.stack.context import Context
from raidtui.stack.rbd import plan
from raidtui.stack.rbd.cluster import ask, require_cluster, run
from raidtui.stack.rbd.health import NOT_CLEAN, troubles
from raidtui.stack.rbd.spec import Cluster, RbdPool
from raidtui.stack.read_back import Difference, mismatch

CLEAN_PATIENCE_S: Final = 300.0
"""Time in which the placement groups of a new pool have to become active+clean."""
USERS_PATIENCE_S: Final = 60.0
"""Time in which other clients have to go away: one that was killed counts for 30 s longer."""

EXISTS: Final = Refusal(
    "rbd-pool-exists",
    "A pool, rule, profile or image of that name exists already",
    "The cluster has an object with the name that was planned for one of this run. It was not touched.",
    "Plan again: every plan has new names.",
)
NO_DELETE: Final = Refusal(
    "rbd-pool-delete",
    "The cluster lets nobody delete pools",
    "raidtui removes the pool that it makes, and the monitors refuse that while mon_allow_pool_delete is false.",
    "ceph config set mon mon_allow_pool_delete true (and false again after the run).",
)
TOO_FEW: Final = Refusal(
    "rbd-too-few-domains",
    "The cluster has too few failure domains",
    "Each copy or piece of an object needs a failure domain of its own (a host, by default) with an OSD that is up and in. "
    "On fewer of them the placement groups never become active.",
    'Ask for fewer copies or pieces, or for a smaller domain: "failure_domain": "osd".',
)
TOO_LARGE: Final = Refusal(
    "rbd-too-large",
    "The images would fill the cluster",
    "Workloads may write every byte of the images. A cluster that is nearly full warns everybody, and a full one stops all "
    "writes of all its users.",
    "Make the images smaller.",
)
PG_LIMIT: Final = Refusal(
    "rbd-pg-limit",
    "The cluster takes no more placement groups",
    "The pool would give the OSDs more placement groups than mon_max_pg_per_osd allows.",
    'Ask for fewer: "pg_num": 8.',
)
FOREIGN: Final = Refusal(
    "rbd-foreign",
    "The run's pool has foreign images",
    "Somebody made an image in the pool of this run. Deleting the pool would delete it, so the pool was left.",
    "Move or delete that image (`rbd ls POOL`), then: raidtui recover.",
)
IN_USE: Final = Refusal(
    "rbd-in-use",
    "Another client uses an image of the run",
    "Somebody else has mapped or opened an image of this run. Deleting it would give that client I/O errors.",
    "`rbd status POOL/IMAGE` shows the client; end its use, then: raidtui recover.",
)


class Record(msgspec.Struct):
    """State of the cluster before the pool was made."""

    fsid: str
    newest_pool: int
    """Largest number of a pool: every later pool has a larger one."""
    made: bool = False
    """True once the pool is there and active."""


NOTES: Final = Notes("rbd", Record)


def in_the_way(pool: RbdPool) -> Iterator[Problem]:
    """Yield what on the cluster keeps the pool from being made or removed. An unreachable cluster is such a problem."""
    try:
        dump, status = ask("ceph", pool.cluster, "osd", "dump"), ask("ceph", pool.cluster, "status")
        yield from _taken(pool, dump)
        yield from _not_deletable(pool, status)
        yield from (one.problem for one in troubles(status))
        if pool.coding is not None or pool.own_rule:
            yield from _domains(pool, ask("ceph", pool.cluster, "osd", "tree"), dump)
        yield from _too_large(pool, status)
    except ProblemError as error:
        yield from refused(error)


def _taken(pool: RbdPool, dump: Any) -> Iterator[Problem]:
    there = [one for one in pool.pools if one in numbers_of(dump)]
    there += [one for one in pool.rules if one in ask("ceph", pool.cluster, "osd", "crush", "rule", "ls")]
    there += [one for one in pool.pools if one in dump["erasure_code_profiles"]]
    for name in dict.fromkeys(there):
        text = f"{name} exists on the cluster already"
        yield EXISTS.problem(text, place=name, remedy=EXISTS.way_out, exit=Exit.REFUSED)


def numbers_of(dump: Any) -> dict[str, int]:
    """Return the numbers of all pools by name."""
    return {one["pool_name"]: one["pool"] for one in dump["pools"]}


def _not_deletable(pool: RbdPool, status: Any) -> Iterator[Problem]:
    leader = status["quorum_names"][0]
    answer = ask("ceph", pool.cluster, "tell", f"mon.{leader}", "config", "get", "mon_allow_pool_delete")
    if answer["mon_allow_pool_delete"] != "true":
        text = f"mon_allow_pool_delete is {answer['mon_allow_pool_delete']}: the pool could not be removed afterwards"
        yield NO_DELETE.problem(text, place=pool.name, remedy=NO_DELETE.way_out, exit=Exit.REFUSED)


def _domains(pool: RbdPool, tree: Any, dump: Any) -> Iterator[Problem]:
    """Yield a problem if the tree of CRUSH has too few failure domains for the pool's own rule."""
    size = pool.size or 1
    needed = max(pool.coding.k + pool.coding.m, size) if pool.coding is not None else size
    domain, root = pool.failure_domain or "host", pool.root or "default"
    nodes = {one["id"]: one for one in tree["nodes"]}
    serving = {one["osd"] for one in dump["osds"] if one["up"] and one["in"]}

    def below(number: int) -> Iterator[int]:
        yield number
        for child in nodes[number].get("children", ()):
            yield from below(child)

    def serves(number: int) -> bool:
        wanted = (None, nodes[number].get("device_class")) if number >= 0 else ()
        return number in serving and pool.device_class in wanted

    start = next((number for number, one in nodes.items() if one["name"] == root and one["type"] == "root"), None)
    found = [] if start is None else [
        number for number in below(start) if nodes[number]["type"] == domain and any(map(serves, below(number)))
    ]  # fmt: skip
    kind = f" with OSDs of class {pool.device_class}" if pool.device_class is not None else ""
    yield from too_few(pool.name, needed, len(found), f"{domain}{kind} below {root}", TOO_FEW)


def _too_large(pool: RbdPool, status: Any) -> Iterator[Problem]:
    coding = pool.coding
    copies = pool.size or 1 if coding is None else (coding.k + coding.m) / coding.k
    yield from too_large(pool.name, pool.bytes * copies, status["pgmap"]["bytes_avail"], TOO_LARGE)


def create(context: Context, pool: RbdPool) -> Outcome:
    """Make the pool, and wait until it is clean. Raises ProblemError; the undo finds what was made until then."""
    context.stop_if_cancelled()
    dump = ask("ceph", pool.cluster, "osd", "dump")
    if NOTES.read(context.folder, pool.name) is None:
        if problems := tuple(_taken(pool, dump)):
            raise ProblemError(*problems)
        NOTES.write(context.folder, pool.name, Record(dump["fsid"], dump["pool_max"]))
    commands: list[Argv] = []
    for argv in plan.create_argvs(pool):
        context.stop_if_cancelled()
        commands.append(_ran(argv))
    await_rest(context, pool.cluster, pool.pools)
    NOTES.write(context.folder, pool.name, Record(dump["fsid"], dump["pool_max"], made=True))
    return Outcome("created", checked(pool), tuple(commands))


def _ran(argv: Argv) -> Argv:
    try:
        run(argv)
    except ProblemError as error:
        said = error.problems[0].message
        refusal = PG_LIMIT if "mon_max_pg_per_osd" in said else NO_DELETE if "mon_allow_pool_delete" in said else None
        if refusal is None:
            raise
        raise fail(refusal, said, place=argv[0], remedy=refusal.way_out, exit=Exit.BUILD_FAILED) from error
    return argv


def await_rest(context: Context, cluster: Cluster, pools: Collection[str]) -> None:
    """Wait until every placement group is active+clean, and until nothing of these pools changes the OSD map any more.

    Raises ProblemError (`rbd-not-clean`).
    """
    until = time.monotonic() + CLEAN_PATIENCE_S
    while waits := _unclean(cluster, pools):
        context.stop_if_cancelled()
        context.report(waits, None)
        if time.monotonic() > until:
            raise fail(NOT_CLEAN, f"after {CLEAN_PATIENCE_S:.0f} s: {waits}", place=min(pools), remedy=NOT_CLEAN.way_out,
                       exit=Exit.BUILD_FAILED)  # fmt: skip
        time.sleep(1.0)


def _unclean(cluster: Cluster, pools: Collection[str]) -> str:
    """Return the reason to wait, as a sentence; empty if there is none."""
    status, dump = ask("ceph", cluster, "status"), ask("ceph", cluster, "osd", "dump")
    states = {one["state_name"]: one["count"] for one in status["pgmap"]["pgs_by_state"]}
    clean, all_of_them = states.pop("active+clean", 0), sum(one["pg_num"] for one in dump["pools"])
    if clean != all_of_them or states:
        others = ", ".join(f"{count} {name}" for name, count in states.items())
        text = f"{clean} of {plural(all_of_them, 'placement group')} are active+clean"
        return text + (f", {others}" if others else "")
    # Both ends have an epoch of the OSD map. The first image of a pool makes a snapshot to try it, and removes it.
    trimmed = {one["pool"] for one in dump["removed_snaps_queue"]}
    for one in (one for one in dump["pools"] if one["pool_name"] in pools):
        if "creating" in one["flags_names"].split(","):
            return f"pool {one['pool_name']} is being created"
        if one["pool"] in trimmed:
            return f"pool {one['pool_name']} removes a snapshot"
    return ""


def read(pool: RbdPool) -> dict[str, Any]:
    """Return the pools as the cluster has them, by name."""
    dump = ask("ceph", pool.cluster, "osd", "dump")
    profile = dump["erasure_code_profiles"].get(pool.data)
    found = {"fsid": dump["fsid"], "pools": described(dump, pool.pools)}
    return {**found, **({"profile": profile} if profile is not None else {})}


def described(dump: Any, pools: Collection[str]) -> dict[str, Any]:
    """Return what the map of the cluster says of these pools, by name."""
    kept = ("pool", "size", "min_size", "pg_num", "pg_autoscale_mode", "crush_rule", "erasure_code_profile")
    return {one["pool_name"]: {name: one[name] for name in kept} for one in dump["pools"] if one["pool_name"] in pools}


def checked(pool: RbdPool) -> dict[str, Any]:
    """Return what `read` finds. Raises ProblemError (`read-back`) if it is not as asked."""
    found = read(pool)
    missing = len(found["pools"]) < len(pool.pools)
    wrong = [Difference("pools", sorted(pool.pools), sorted(found["pools"]))] if missing else []
    for name, one in found["pools"].items():
        coded = pool.coding if name == pool.data else None
        asked = {"pg_num": pool.pg_num, "size": coded.k + coded.m if coded is not None else pool.size,
                 "min_size": None if coded is not None else pool.min_size}  # fmt: skip
        wrong += [Difference(f"{name} {what}", value, one[what]) for what, value in asked.items()
                  if value is not None and one[what] != value]  # fmt: skip
    if wrong:
        raise mismatch("the pool", pool.name, wrong, "This version of Ceph made something else.")
    return found


def remove(context: Context, pool: RbdPool) -> Outcome:
    """Remove pools, rules and profile: any number of times.

    Raises ProblemError (exit 6): `rbd-other-cluster`, `rbd-foreign`, `rbd-in-use`, `rbd-pool-delete`, …
    """
    record = NOTES.read(context.folder, pool.name)
    if record is None:
        return Outcome("nothing to do")
    commands: list[Argv] = []
    try:
        dump = _dump_at_rest(pool, record)
        _remove_pools(pool, record, numbers_of(dump), commands)
        there = ask("ceph", pool.cluster, "osd", "crush", "rule", "ls")
        profiles = ask("ceph", pool.cluster, "osd", "erasure-code-profile", "ls")
        for argv in plan.remove_argvs(pool)[len(pool.pools) :]:
            if argv[-1] in (there if "crush" in argv else profiles):
                commands.append(_ran(argv))
    except ProblemError as error:
        raise left_behind(error) from error
    NOTES.forget(context.folder, pool.name)
    return Outcome("undone" if commands else "nothing to do", {}, tuple(commands))


def _dump_at_rest(pool: RbdPool, record: Record) -> Any:
    """Return the map of the cluster; a command that was killed may be done a moment later."""
    dump = ask("ceph", pool.cluster, "osd", "dump")
    require_cluster(dump, record.fsid, pool.name, "the pool is")
    if record.made:
        return dump
    time.sleep(LATE_S)
    return ask("ceph", pool.cluster, "osd", "dump")


def _remove_pools(pool: RbdPool, record: Record, there: dict[str, int], commands: list[Argv]) -> None:
    for name, number in ((name, there[name]) for name in pool.pools if name in there):
        if number <= record.newest_pool:
            text = f"pool {name} (number {number}) was there before the run"
            raise fail(EXISTS, text, place=name, remedy="Nothing has to be done: it is not the run's.")
    if record.made and pool.name in there:
        _refuse_users(pool)
    for name, argv in zip(pool.pools, plan.remove_argvs(pool), strict=False):
        if name in there:
            commands.append(_ran(argv))


def _refuse_users(pool: RbdPool) -> None:
    """Raise ProblemError for foreign images (`rbd-foreign`), and for clients that do not go away (`rbd-in-use`)."""
    images = ask("rbd", pool.cluster, "ls", pool.name)
    if foreign := [name for name in images if not name.startswith(f"{pool.name}-")]:
        text = f"pool {pool.name} has images that are not the run's: {', '.join(foreign[:5])}"
        raise fail(FOREIGN, text, place=pool.name, remedy=FOREIGN.way_out)
    await_unwatched(pool.cluster, pool.name, images)


def await_unwatched(cluster: Cluster, pool: str, images: Collection[str]) -> None:
    """Wait until no client has opened one of these images. Raises ProblemError (`rbd-in-use`)."""
    until = time.monotonic() + USERS_PATIENCE_S
    while clients := _clients(cluster, pool, images):
        if time.monotonic() > until:
            text = f"clients have opened images of the run in pool {pool}: {', '.join(clients)}"
            raise fail(IN_USE, text, place=pool, remedy=IN_USE.way_out)
        time.sleep(2.0)


def _clients(cluster: Cluster, pool: str, images: Iterable[str]) -> list[str]:
    """Return the addresses of clients that have opened one of these images."""
    found = (ask("rbd", cluster, "status", f"{pool}/{name}") for name in images)
    return list(dict.fromkeys(one["address"] for status in found for one in status["watchers"]))
