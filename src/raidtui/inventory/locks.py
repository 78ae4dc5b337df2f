"""Locks: on a disk, as udev and partitioning tools respect it, and on the server, so that only one scan runs at a time."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from raidtui.base.paths import run_folder
from raidtui.inventory.pacing import allowed_s
from raidtui.inventory.reasons import REASONS
from raidtui.model.problem import Exit, fail

DISK_LOCK_PATIENCE_S: Final = 60.0
"""udev holds it while it looks at a disk that changed: on a busy server with many disks that takes its time."""
_PAUSE_S: Final = 0.05


def lock_disk(fd: int, patience_s: float = DISK_LOCK_PATIENCE_S) -> bool:
    """Lock the disk until `fd` is closed. Return False if another process holds the lock all that time."""
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE_S)


def require_disk_lock(fd: int, place: str, exit: Exit) -> None:
    """Lock the disk, until `fd` is closed. Raises ProblemError `locked`, with this exit code, where that cannot be had."""
    if not lock_disk(fd):
        raise fail(REASONS["locked"], "a program holds a lock (flock) on it", place=place, remedy="lslocks", exit=exit)


_SCAN_PATIENCE_S = 60.0


@contextmanager
def scan_alone() -> Iterator[None]:
    """Wait for other scans to end; after some minutes go on: the worst that can happen is a disk called busy."""
    fd = os.open(run_folder() / "scan.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        until = time.monotonic() + allowed_s(_SCAN_PATIENCE_S, len(os.listdir("/sys/block")))  # noqa: PTH208
        while time.monotonic() < until:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.05)
        yield
    finally:
        os.close(fd)
