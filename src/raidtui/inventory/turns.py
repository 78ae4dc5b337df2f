"""One scan at a time on a server: two that look at once would find each other's open descriptors and call disks busy."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from raidtui.base.paths import run_folder
from raidtui.inventory.patience import allowed_s

_PATIENCE_S = 60.0


@contextmanager
def my_turn() -> Iterator[None]:
    """Wait for other scans to end; after some minutes go on: the worst that can happen is a disk called busy."""
    fd = os.open(run_folder() / "scan.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        until = time.monotonic() + allowed_s(_PATIENCE_S, len(os.listdir("/sys/block")))  # noqa: PTH208
        while time.monotonic() < until:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.05)
        yield
    finally:
        os.close(fd)
