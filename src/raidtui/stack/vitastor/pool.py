"""Making a pool of the run's own on an existing cluster, and the way back with its images.

A file in the run's folder has, before anything is made, the numbers of all pools and the OSDs of the cluster: the undo
removes nothing without it, no pool that was there before, and nothing on another cluster.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.clusters import LATE_S, Notes, left_behind, refused, too_few, too_large
from raidtui.stack.context import Context
from raidtui.stack.read_back import Difference, mismatch
from raidtui.stack.vitastor import plan
from raidtui.stack.vitastor.cluster import NO_CONFIG, NOT_ACTIVE_YET, OTHER_CLUSTER, Said, ask, number, run, tell
from raidtui.stack.vitastor.health import NOT_CLEAN, Look, look_at, troubles
from raidtui.stack.vitastor.spec import VitastorPool

ACTIVE_PATIENCE_S: Final = 300.0
"""Time in which a new pool has to become active; `create-pool --wait` gives up after some seconds."""
REMOVE_DEADLINE_S: Final = 1800.0
"""Time in which the data of an image has to be deleted."""

EXISTS: Final = Refusal(
    "vitastor-exists",
    "A pool or image of that name exists already",
    "The cluster has an object with the name that was planned for one of this run. It was not touched.",
    "Plan again: every plan has new names.",
)
TOO_FEW: Final = Refusal(
    "vitastor-too-few-domains",
    "The cluster has too few failure domains",
    "Each copy or piece needs a failure domain of its own (a host, by default) with an OSD that is up. On fewer of them no "
    "pool can be made.",
    'Ask for fewer copies or pieces, or for a smaller domain: "failure_domain": "osd".',
)
TOO_LARGE: Final = Refusal(
    "vitastor-too-large",
    "The images would fill the cluster",
    "Workloads may write every byte of the images, and a full OSD stops writes of all users of the cluster.",
    "Make the images smaller.",
)
FOREIGN: Final = Refusal(
    "vitastor-foreign",
    "The run's pool has foreign images",
    "Somebody made an image in the pool of this run. The pool and that image were left.",
    "Move or delete that image (`vitastor-cli ls -p POOL`), then: raidtui recover.",
)


class Record(msgspec.Struct):
    """State of the cluster before the pool was made."""

    pools: tuple[int, ...]
    """Numbers of all pools: none of these is the run's."""
    osds: tuple[str, ...]
    """Number and size of each OSD, by which the cluster is known again."""
    made: int | None = None
    """Number of the pool, once it is there and active."""


NOTES: Final = Notes("vitastor", Record)


def in_the_way(pool: VitastorPool) -> Iterator[Problem]:
    """Yield what on the cluster keeps the pool from being made. An unreachable cluster is such a problem."""
    config = pool.cluster.config
    if config is not None and not Path(config).is_file():
        yield NO_CONFIG.problem(f"{config} does not exist", place=config, remedy=NO_CONFIG.way_out, exit=Exit.REFUSED)
        return
    try:
        look = look_at(pool.cluster)
        yield from _taken(pool, look.pools)
        yield from (one.problem for one in troubles(look) if one.weight == "invalid")
        yield from domains(pool, look)
        share = pool.size / pool.pieces[0] if pool.pieces is not None else pool.size
        yield from too_large(pool.name, pool.bytes * share, int(number(look.status["free_raw"])), TOO_LARGE)
    except ProblemError as error:
        yield from refused(error)


def _taken(pool: VitastorPool, pools: Any) -> Iterator[Problem]:
    there = {one["name"] for one in pools} & {pool.name}
    there |= {one["name"] for one in ask(pool.cluster, "ls")} & set(pool.images)
    for name in sorted(there):
        text = f"{name} exists on the cluster already"
        yield EXISTS.problem(text, place=name, remedy=EXISTS.way_out, exit=Exit.REFUSED)


def domains(pool: VitastorPool, look: Look) -> Iterator[Problem]:
    """Yield a problem if fewer failure domains have an OSD that is up than the pool needs."""
    level = pool.failure_domain or "host"
    kinds = {str(one["name"]): (one["type"], str(one.get("parent") or "")) for one in look.nodes}
    if level not in {kind for kind, _ in kinds.values()}:
        return  # a level that the list does not have: vitastor-cli decides

    def domain_of(name: str) -> str:
        while name in kinds and kinds[name][0] != level:
            name = kinds[name][1]
        return name

    found = {domain_of(name) for name in look.osds if name not in look.lost} - {""}
    yield from too_few(pool.name, pool.size, len(found), level, TOO_FEW)


def create(context: Context, pool: VitastorPool) -> Outcome:
    """Make the pool, and wait until it is active. Raises ProblemError; the undo finds what was made until then."""
    context.stop_if_cancelled()
    record = NOTES.read(context.folder, pool.name)
    if record is None:
        look = look_at(pool.cluster)
        if problems := tuple(_taken(pool, look.pools)):
            raise ProblemError(*problems)
        record = Record(tuple(one["id"] for one in look.pools), _osds(look))
        NOTES.write(context.folder, pool.name, record)
    argv = plan.create_argv(pool)
    said = tell(argv)
    if said.code not in (0, NOT_ACTIVE_YET):
        raise _refused(pool, said)
    found = _await_active(context, pool, record, said)
    NOTES.write(context.folder, pool.name, Record(record.pools, record.osds, found["id"]))
    return Outcome("created", checked(pool, found), (argv,))


def _osds(look: Look) -> tuple[str, ...]:
    return tuple(f"{name}:{one['size']}" for name, one in sorted(look.osds.items()))


def _refused(pool: VitastorPool, said: Said) -> ProblemError:
    """Return the problem of a pool that could not be made."""
    if said.code == errno.EINVAL and "enough" in said.text:
        return fail(TOO_FEW, said.text, place=pool.name, remedy=TOO_FEW.way_out, exit=Exit.BUILD_FAILED)
    return said.error


def _await_active(context: Context, pool: VitastorPool, record: Record, said: Said) -> Any:
    """Wait until the pool is active; return it. Raises ProblemError (`vitastor-not-clean`)."""
    until = time.monotonic() + ACTIVE_PATIENCE_S
    while True:
        context.stop_if_cancelled()
        found = _own(pool, record, ask(pool.cluster, "ls-pools"))
        waits = f"pool {pool.name} is {found['status']}" if found is not None else f"there is no pool {pool.name}"
        states = ask(pool.cluster, "status")["pg_states"]
        if found is not None and found["status"] == "active":
            if not (others := [f"{count} {state}" for state, count in states.items() if state != "active"]):
                return found
            waits = f"placement groups: {', '.join(others)}"
        context.report(waits, None)
        if time.monotonic() > until:
            text = f"after {ACTIVE_PATIENCE_S:.0f} s: {waits}" + (f" ({said.text})" if said.text else "")
            raise fail(NOT_CLEAN, text, place=pool.name, remedy=NOT_CLEAN.way_out, exit=Exit.BUILD_FAILED)
        time.sleep(1.0)


def _own(pool: VitastorPool, record: Record, pools: Any) -> Any:
    """Return the run's pool; None if there is none. Raises ProblemError (`vitastor-exists`) if it is somebody else's."""
    found = next((one for one in pools if one["name"] == pool.name), None)
    if found is None:
        return None
    if found["id"] in record.pools or record.made not in (None, found["id"]):
        text = f"pool {pool.name} (number {found['id']}) is not the one that the run made"
        raise fail(EXISTS, text, place=pool.name, remedy="Nothing has to be done: it is not the run's.")
    return found


def checked(pool: VitastorPool, found: Any) -> dict[str, Any]:
    """Return the pool as the cluster has it. Raises ProblemError (`read-back`) if it is not as asked."""
    asked: dict[str, Any] = {
        "scheme": "ec" if pool.pieces is not None else "replicated", "pg_size": pool.size, "pg_minsize": pool.min_size,
        "parity_chunks": pool.pieces[1] if pool.pieces is not None else None, "pg_count": pool.pg_num,
        "failure_domain": pool.failure_domain,
    }  # fmt: skip
    wrong = [Difference(what, value, found.get(what)) for what, value in asked.items()
             if value is not None and found.get(what) != value]  # fmt: skip
    if wrong:
        raise mismatch("the pool", pool.name, wrong, "This version of Vitastor made something else.")
    kept = ("id", *asked, "scheme_name", "osd_count", "raw_to_usable")
    return {"pool": {what: found[what] for what in kept if what in found}}


def remove(context: Context, pool: VitastorPool) -> Outcome:
    """Remove the images and the pool: any number of times.

    Raises ProblemError (exit 6): `vitastor-other-cluster`, `vitastor-foreign`, `vitastor-exists`, …
    """
    record = NOTES.read(context.folder, pool.name)
    if record is None:
        return Outcome("nothing to do")
    commands: list[Argv] = []
    try:
        if record.made is None:
            time.sleep(LATE_S)
        look = look_at(pool.cluster)
        if record.osds and not set(record.osds) & set(_osds(look)):
            text = f"pool {pool.name} was made on a cluster that has other OSDs than the one that is reached now"
            raise fail(OTHER_CLUSTER, text, place=pool.name, remedy=OTHER_CLUSTER.way_out)
        if (found := _own(pool, record, look.pools)) is not None:
            _remove_found(pool, found["id"], commands)
    except ProblemError as error:
        raise left_behind(error) from error
    NOTES.forget(context.folder, pool.name)
    return Outcome("undone" if commands else "nothing to do", {}, tuple(commands))


def _remove_found(pool: VitastorPool, number_: int, commands: list[Argv]) -> None:
    there = [one["name"] for one in ask(pool.cluster, "ls") if one["pool_id"] == number_]
    if foreign := [name for name in there if name not in pool.images]:
        text = f"pool {pool.name} has images that are not the run's: {', '.join(foreign[:5])}"
        raise fail(FOREIGN, text, place=pool.name, remedy=FOREIGN.way_out)
    *images, last = plan.remove_argvs(pool)
    for name, argv in zip(pool.images, images, strict=True):
        if name in there:
            run(argv, REMOVE_DEADLINE_S)
            commands.append(argv)
    run(last)
    commands.append(last)
