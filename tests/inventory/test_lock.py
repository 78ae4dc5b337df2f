"""The lock that keeps udev away from a disk."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

from raidtui.base.files import lock_file
from raidtui.inventory import waiting


def test_a_lock_that_is_given_back_in_time_is_taken_and_one_that_is_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    path.touch()
    mine, other = (os.open(path, os.O_RDONLY | os.O_CLOEXEC) for _ in range(2))
    try:
        fcntl.flock(other, fcntl.LOCK_SH)  # as udev does
        assert not lock_file(mine, 0.1)
        given_back = threading.Timer(0.2, fcntl.flock, (other, fcntl.LOCK_UN))
        given_back.start()
        assert lock_file(mine, waiting.DISK_LOCK_PATIENCE_S)
        given_back.join()
    finally:
        os.close(mine)
        os.close(other)
