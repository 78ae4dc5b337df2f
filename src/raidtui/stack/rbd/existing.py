"""Images in a pool that was there before the run: the way in and out, which leaves everything else in it as it was.

A file in the run's folder says, before the first image is made, which cluster and pools these are, and then the id of each
image. None of the names was there before, so that an image without a recorded id, after a crash, is the run's too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.clusters import DEADLINE_S, LATE_S, MIB, Notes, left_behind, refused, too_large
from raidtui.stack.context import Context
from raidtui.stack.rbd import plan
from raidtui.stack.rbd.cluster import ask, require_cluster, run
from raidtui.stack.rbd.health import troubles
from raidtui.stack.rbd.images import built_by_address, infos
from raidtui.stack.rbd.pool import EXISTS, FOREIGN, TOO_LARGE, await_rest, await_unwatched, described, numbers_of
from raidtui.stack.rbd.spec import Image, RbdImages

DEFAULT_OBJECT_BYTES: Final = 4 * MIB
REMOVED_PER_S: Final = 20
"""Objects of an image that the slowest cluster removes in a second."""
_OTHER_RUNS: Final = re.compile(r"rt[a-z0-9]{8}[a-z]{1,2}-\d+")

MISSING: Final = Refusal(
    "rbd-pool-missing",
    "The pool is not there",
    "The cluster has no pool of the name in which the images are to be made.",
    '`ceph osd pool ls` lists the pools. Without "pool" raidtui makes one of its own.',
)
UNFIT: Final = Refusal(
    "rbd-pool-unfit",
    "The pool takes no images",
    "Images need a replicated pool that is enabled for rbd; their data may be in an erasure-coded one that allows "
    "overwrites.",
    "`ceph osd pool application enable POOL rbd` and `ceph osd pool set POOL allow_ec_overwrites true`, or name another "
    'pool; an erasure-coded one is "data_pool".',
)
QUOTA: Final = Refusal(
    "rbd-quota",
    "The pool's quota has no room for the images",
    "Workloads may write every byte of the images. A pool that has reached its quota is full: all its clients wait.",
    "Make the images smaller or fewer, or raise the quota: ceph osd pool set-quota POOL max_bytes N.",
)
OTHER_RUN: Final = Refusal(
    "rbd-other-run",
    "Another run has images in the pool",
    "Two runs in one pool load it together. The images are those of a run that goes on, maybe on another server, or that "
    "died.",
    "Wait until it has ended, or take its images away there: raidtui runs, raidtui recover.",
)
SNAPSHOTS: Final = Refusal(
    "rbd-snapshots",
    "Somebody made a snapshot of an image of the run",
    "An image with snapshots cannot be removed, and the snapshots are not the run's.",
    "Remove them (`rbd snap ls POOL/IMAGE`, `rbd snap purge POOL/IMAGE`), then: raidtui recover.",
)


class Record(msgspec.Struct):
    """State of the cluster before the first image was made, and the images."""

    fsid: str
    pools: dict[str, int]
    """Numbers of the pools."""
    ids: dict[str, str] = {}
    """Ids of the images that were made, by name."""


NOTES: Final = Notes("rbd-images", Record)


def claims(images: RbdImages) -> tuple[str, ...]:
    where = images.cluster.conf or "/etc/ceph/ceph.conf"
    return tuple(f"pool {name} of the Ceph cluster of {where}" for name in images.pools)


def in_the_way(images: RbdImages) -> Iterator[Problem]:
    """Yield what keeps the images from being made in their pool. An unreachable cluster is such a problem."""
    try:
        dump, status = ask("ceph", images.cluster, "osd", "dump"), ask("ceph", images.cluster, "status")
        unfit = list(pools_unfit(images, dump))
        yield from unfit
        yield from (one.problem for one in troubles(status))
        if not unfit:
            yield from no_room(images, dump, ask("ceph", images.cluster, "df"))
            yield from taken(images, ask("rbd", images.cluster, "ls", images.pool))
    except ProblemError as error:
        yield from refused(error)


def pools_unfit(images: RbdImages, dump: Any) -> Iterator[Problem]:
    """Yield a problem for each pool that is missing or takes no images, given `ceph osd dump`."""
    there = {one["pool_name"]: one for one in dump["pools"]}
    for name in images.pools:
        pool = there.get(name)
        if pool is None:
            yield MISSING.problem(f"the cluster has no pool {name}", place=name, remedy=MISSING.way_out, exit=Exit.REFUSED)
        elif lacks := _lacks(pool, data=name == images.data_pool):
            yield UNFIT.problem(f"pool {name} {lacks}", place=name, remedy=UNFIT.way_out, exit=Exit.REFUSED)


def _lacks(pool: Any, *, data: bool) -> str:
    """Return the reason why a pool takes no images, or no data of images; empty if it does."""
    flags = pool["flags_names"].split(",")
    if "rbd" not in pool["application_metadata"]:
        return "is not enabled for rbd"
    if pool["erasure_code_profile"] and not data:
        return "is erasure-coded: it can have the images' data alone"
    if pool["erasure_code_profile"] and "ec_overwrites" not in flags:
        return "does not allow overwrites of erasure-coded data"
    return ""


def no_room(images: RbdImages, dump: Any, df: Any) -> Iterator[Problem]:
    """Yield a problem if the images exceed the pool's quota, or nearly fill it; given `ceph osd dump` and `ceph df`."""
    name = images.data_pool or images.pool
    pool = next(one for one in dump["pools"] if one["pool_name"] == name)
    found = next((one["stats"] for one in df["pools"] if one["name"] == name), None)
    if found is None:
        return
    wanted = images.size_bytes * len(images.images)
    objects = -(-wanted // (images.object_bytes or DEFAULT_OBJECT_BYTES))
    for what, most, used, more in (
        ("bytes", pool["quota_max_bytes"], found["stored"], wanted),
        ("objects", pool["quota_max_objects"], found["objects"], objects),
    ):
        if most and used + more > most:
            text = f"pool {name} has {used} of at most {most} {what}, and the images may take {more} more"
            yield QUOTA.problem(text, place=name, remedy=QUOTA.way_out, exit=Exit.REFUSED)
    yield from too_large(name, wanted, found["max_avail"], TOO_LARGE, f"pool {name} can take")


def taken(images: RbdImages, there: list[str]) -> Iterator[Problem]:
    """Yield a problem for names that are taken, and for images of other runs; given the names of all images."""
    planned = [one.name for one in images.images]
    for name in (one for one in planned if one in there):
        text = f"pool {images.pool} has an image {name} already"
        yield EXISTS.problem(text, place=name, remedy=EXISTS.way_out, exit=Exit.REFUSED)
    others = [one for one in there if one not in planned and _OTHER_RUNS.fullmatch(one)]
    if others and not any(one in there for one in planned):
        text = f"pool {images.pool} has images of another run: {', '.join(others[:5])}"
        yield OTHER_RUN.problem(text, place=images.pool, remedy=OTHER_RUN.way_out, exit=Exit.REFUSED)


def put(context: Context, images: RbdImages) -> Outcome:
    """Make the images in their pool. Raises ProblemError; the undo finds those that were made until then."""
    context.stop_if_cancelled()
    dump = ask("ceph", images.cluster, "osd", "dump")
    record = NOTES.read(context.folder, images.name)
    if record is None:
        problems = list(pools_unfit(images, dump))
        problems += [] if problems else taken(images, ask("rbd", images.cluster, "ls", images.pool))
        if problems:
            raise ProblemError(*problems)
        there = numbers_of(dump)
        record = Record(dump["fsid"], {name: there[name] for name in images.pools})
        NOTES.write(context.folder, images.name, record)
    commands: list[Argv] = []
    for image in images.images:
        context.stop_if_cancelled()
        if image.name not in record.ids:
            run(argv := plan.image_argv(images, image))
            commands.append(argv)
            record.ids[image.name] = ask("rbd", images.cluster, "info", images.spec_of(image))["id"]
            NOTES.write(context.folder, images.name, record)
        for argv in plan.cache_argvs(images, image):
            run(argv)
            commands.append(argv)
    built_by_address(context, images)
    await_rest(context, images.cluster, images.pools)
    facts = {"fsid": dump["fsid"], "pools": described(dump, images.pools), **infos(images)}
    return Outcome("created", facts, tuple(commands))


def take(context: Context, images: RbdImages) -> Outcome:
    """Remove the images that `put` made, and nothing else: any number of times.

    Raises ProblemError (exit 6): `rbd-foreign`, `rbd-in-use`, `rbd-snapshots`, `rbd-other-cluster`.
    """
    record = NOTES.read(context.folder, images.name)
    if record is None:
        return Outcome("nothing to do")
    try:
        commands = tuple(_removed(images, record))
    except ProblemError as error:
        raise left_behind(error) from error
    NOTES.forget(context.folder, images.name)
    return Outcome("undone" if commands else "nothing to do", {}, commands)


def _removed(images: RbdImages, record: Record) -> Iterator[Argv]:
    """Remove what is there, and yield the commands."""
    dump = ask("ceph", images.cluster, "osd", "dump")
    require_cluster(dump, record.fsid, images.name, "the images are")
    if numbers_of(dump).get(images.pool) != record.pools[images.pool]:
        return  # somebody deleted the pool, and the images with it
    unrecorded = [one for one in images.images if one.name not in record.ids]
    if unrecorded:
        time.sleep(LATE_S)  # a command that was killed may be done a moment later
    there = ask("rbd", images.cluster, "ls", images.pool)
    for image in images.images:
        if image.name in there:
            if image.name in record.ids and (found := _id_of(images, image)) not in (None, record.ids[image.name]):
                text = f"image {images.spec_of(image)} has the id {found}, and that of the run had {record.ids[image.name]}"
                raise fail(FOREIGN, text, place=image.name, remedy=FOREIGN.way_out)
            if image.name in record.ids:
                await_unwatched(images.cluster, images.pool, [image.name])
            yield _remove(images, image)
        elif unrecorded and image == unrecorded[0]:
            _remove(images, image, missing_ok=True)  # half of a create leaves an object with the name


def _id_of(images: RbdImages, image: Image) -> str | None:
    """Return the id of an image; None if it is half removed."""
    try:
        return str(ask("rbd", images.cluster, "info", images.spec_of(image))["id"])
    except ProblemError as error:
        if "No such file" in error.problems[0].message:
            return None
        raise


def _remove(images: RbdImages, image: Image, *, missing_ok: bool = False) -> Argv:
    argv = plan.remove_image_argv(images, image)
    objects = images.size_bytes / (images.object_bytes or DEFAULT_OBJECT_BYTES)
    try:
        run(argv, DEADLINE_S + objects / REMOVED_PER_S)
    except ProblemError as error:
        said = error.problems[0].message
        if missing_ok and "No such file" in said:
            return argv
        if "snapshots" not in said:
            raise
        raise fail(SNAPSHOTS, said, place=image.name, remedy=SNAPSHOTS.way_out) from error
    return argv
