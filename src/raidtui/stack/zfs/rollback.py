"""The identical volume or filesystem before every cell: a snapshot, and a rollback to it (`"reset": "rollback"`).

The snapshot is that of the filled volume, or of the empty filesystem, which is unmounted for a rollback. What a cell wrote
is gone afterwards, also in the caches; the blocks that it allocated are free again. What stays: the pool's own age. Blocks
that were freed leave gaps, and new ones are allocated elsewhere on the disks.
"""

from __future__ import annotations

import fcntl
import os
from typing import Final

from raidtui.gate.blank import BLKFLSBUF
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context
from raidtui.stack.zfs import pool
from raidtui.stack.zfs.build import reopen
from raidtui.stack.zfs.commands import ZfsPool
from raidtui.stack.zfs.teardown import unmount

NOT_RESET: Final = Refusal(
    "zpool-not-reset",
    "The pool is not as it was",
    "Before each cell the volume or dataset is rolled back to its snapshot, or the pool rewound to its checkpoint. The "
    "page cache of the volume could not be emptied for that, or the checkpoint was missing.",
    "Look at dmesg and at `zpool status`; look for programs that write to the volume.",
)


def take_snapshot(context: Context, zpool: ZfsPool) -> Outcome:
    """Take the snapshot of the filled volume, or of the empty filesystem. Raises ProblemError (`tool-failed`, `stuck`)."""
    context.stop_if_cancelled()
    if context.builder.call("zfs.exists", dataset=zpool.snapshot).value:
        return Outcome("already there", {"reset": "rollback"})
    if zpool.has_volume:
        flush(context, zpool)
    calls = context.builder.call("zfs.snapshot", pool=zpool.name, snapshot=zpool.snapshot).commands
    return Outcome("created", {"reset": "rollback"}, calls)


def roll_back(context: Context, zpool: ZfsPool) -> Outcome:
    """Roll the volume or the filesystem back, and wait until what was written since is free.

    Facts: `written_bytes` since the snapshot, which are metadata; what is allocated in the pool. Raises ProblemError
    (`zpool-not-reset`, …).

    The page cache of the device is written out and emptied before, so that nothing reaches the volume afterwards, and
    emptied again after, so that nobody reads what was there.
    """
    context.stop_if_cancelled()
    if zpool.has_volume:
        flush(context, zpool)
    ran = unmount(context, zpool)
    built = context.builder.call("zfs.roll_back", pool=zpool.name, dataset=zpool.dataset, snapshot=zpool.snapshot)
    ran += [*built.commands, *reopen(context, zpool)]
    if zpool.has_volume:
        flush(context, zpool)
    return Outcome("done", {"reset": "rollback", "written_bytes": built.value, **allocation(zpool)}, tuple(ran))


def allocation(zpool: ZfsPool) -> dict[str, int]:
    """Return what is allocated in the pool, and how fragmented its free space is, as facts."""
    found = pool.properties(zpool.name)
    wanted = {"allocated_bytes": "allocated", "fragmentation_percent": "fragmentation"}
    return {fact: int(found[name]) for fact, name in wanted.items() if found.get(name, "").isdecimal()}


def flush(context: Context, zpool: ZfsPool) -> None:
    """Write the page cache of the volume's device out, and empty it. Raises ProblemError."""
    path = context.path(zpool.ref)

    def work() -> None:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            os.fsync(fd)
            fcntl.ioctl(fd, BLKFLSBUF)
        finally:
            os.close(fd)

    try:
        bounded(work, f"flushing {path}")
    except OSError as error:
        raise fail(NOT_RESET, f"{path} cannot be flushed: {error.strerror}", place=path, exit=Exit.INVALID) from error
