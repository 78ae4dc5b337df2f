"""The lock on a disk that udev and partitioning tools respect (https://systemd.io/BLOCK_DEVICE_LOCKING)."""

from __future__ import annotations

import fcntl
import time
from typing import Final

from raidtui.model.problem import Exit, fail

PATIENCE_S: Final = 60.0
"""udev holds it while it looks at a disk that changed: on a busy server with many disks that takes its time."""
_PAUSE_S: Final = 0.05


def take(fd: int, patience_s: float = PATIENCE_S) -> bool:
    """Lock the disk, until `fd` is closed. False where somebody else holds the lock all that time."""
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE_S)


def insist(fd: int, place: str, exit: Exit) -> None:
    """Lock the disk, until `fd` is closed. Raises ProblemError `locked`, with this exit code, where that cannot be had."""
    if not take(fd):
        raise fail("locked", "a program holds a lock (flock) on it", place=place, remedy="lslocks", exit=exit)
