"""A pool that is kept for good: it comes back when the server starts, and its filesystem is mounted for everybody."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from raidtui.model.plan import Argv
from raidtui.model.problem import Problem
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.keeping import for_everybody, mount_taken, name_taken, run_all
from raidtui.stack.zfs import pool, teardown
from raidtui.stack.zfs.commands import ZfsPool
from raidtui.stack.zfs.spec import DEFAULT_FAILMODE


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
