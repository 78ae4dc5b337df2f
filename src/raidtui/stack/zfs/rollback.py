"""The identical volume before every cell: a snapshot once it was filled, and a rollback to it (`"reset": "rollback"`).

What a cell wrote is gone afterwards, in the volume and in the caches of its device; the blocks that it allocated are free
again. What stays: the pool's own age. Blocks that were freed leave gaps, and new ones are allocated elsewhere on the disks.
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
from raidtui.stack.zfs.commands import ZfsPool

NOT_RESET: Final = Refusal(
    "zpool-not-reset",
    "The volume is not as it was filled",
    "Before each cell the volume is rolled back to the snapshot that was taken when it was filled. The "
    "page cache of its device could not be emptied for that.",
    "Look at dmesg and at `zpool status`; look for programs that write to the volume.",
)


def take_snapshot(context: Context, zpool: ZfsPool) -> Outcome:
    """Take the snapshot of the filled volume. Raises ProblemError (`tool-failed`, `stuck`)."""
    context.stop_if_cancelled()
    if context.builder.call("zfs.exists", dataset=zpool.snapshot).value:
        return Outcome("already there", {"reset": "rollback"})
    flush(context, zpool)
    calls = context.builder.call("zfs.snapshot", pool=zpool.name, snapshot=zpool.snapshot).commands
    return Outcome("created", {"reset": "rollback"}, calls)


def roll_back(context: Context, zpool: ZfsPool) -> Outcome:
    """Roll the volume back, and wait until what was written since is free.

    Facts: `written_bytes` since the snapshot, which are metadata of the volume. Raises ProblemError (`zpool-not-reset`, …).

    The page cache of the device is written out and emptied before, so that nothing reaches the volume afterwards, and
    emptied again after, so that nobody reads what was there.
    """
    context.stop_if_cancelled()
    flush(context, zpool)
    built = context.builder.call("zfs.roll_back", pool=zpool.name, dataset=zpool.dataset, snapshot=zpool.snapshot)
    flush(context, zpool)
    return Outcome("done", {"reset": "rollback", "written_bytes": built.value}, built.commands)


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
