"""A pool that is kept for good: it comes back when the server starts, and its filesystem is mounted for everybody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from raidtui.inventory import by_id
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.keeping import for_everybody, mount_taken, name_taken, run_all
from raidtui.stack.zfs import pool, teardown
from raidtui.stack.zfs.commands import ZfsPool
from raidtui.stack.zfs.spec import DEFAULT_FAILMODE

NAMES_CHANGE: Final = Refusal(
    "zpool-names-change",
    "A pool knows its disks by names that may change",
    "The pool was kept, and could not be imported by /dev/disk/by-id. The kernel may give its disks other names at the "
    "next restart; the pool is degraded then, or not found.",
    "Before the next restart: zpool export NAME, then zpool import -d /dev/disk/by-id NAME.",
)


class KeptPool(msgspec.Struct, frozen=True):
    """Arguments of the step that keeps a pool."""

    zpool: ZfsPool
    mount: str
    """Mount point of its filesystem; empty for a volume."""


def argvs(kept: KeptPool) -> tuple[Argv, ...]:
    """Return the commands that undo what only a run needs (zpoolprops(7), zfsprops(7))."""
    name = kept.zpool.name
    found: list[Argv] = [("zpool", "set", "cachefile=", name)]
    if kept.zpool.properties.get("failmode") == DEFAULT_FAILMODE:
        found.append(("zpool", "set", "failmode=wait", name))
    if kept.mount:
        # ZFS mounts what was `legacy` the moment that it gets a mount point.
        found.append(for_everybody(("zfs", "set", f"mountpoint={kept.mount}", kept.zpool.dataset)))
    return tuple(found)


def by_id_argvs(kept: KeptPool) -> tuple[Argv, ...]:
    """Return the commands that have the pool know its disks by names that a restart does not change (zpool-import(8))."""
    name = kept.zpool.name
    return (
        for_everybody(("zpool", "export", name)),
        for_everybody(("zpool", "import", "-d", str(by_id.FOLDER), name)),
    )


def in_the_way(kept: KeptPool) -> Iterator[Problem]:
    """Yield the problems of a name that another pool has, and of a mount point in use."""
    if pool.state(kept.zpool.name) is not None:
        yield name_taken("pool", kept.zpool.name)
    if kept.mount:
        yield from mount_taken(kept.mount)


def keep(context: Context, kept: KeptPool) -> Outcome:
    """Have the pool imported when the server starts, and mount its filesystem. Raises ProblemError."""
    unmounted = teardown.unmount(context, kept.zpool)
    return Outcome("done", {}, (*unmounted, *run_all(argvs(kept), context.folder / "work")))


def import_by_id(context: Context, kept: KeptPool) -> Outcome:
    """Export the pool and import it by lasting names of its disks; else by those it had. Raises ProblemError."""
    folder = context.folder / "work"
    leave, come = by_id_argvs(kept)
    left = run_all([leave], folder)
    try:
        return Outcome("done", {}, (*left, *run_all([come], folder)))
    except ProblemError as error:
        run_all([for_everybody(("zpool", "import", kept.zpool.name))], folder)
        text = f"the pool is imported by names of its disks that a restart may change: {error.problems[0].message}"
        raise fail(NAMES_CHANGE, text, place=kept.zpool.name, remedy=NAMES_CHANGE.way_out, exit=Exit.INVALID) from None
