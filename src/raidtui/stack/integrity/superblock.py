"""The superblock of dm-integrity: it has no UUID, so that it is recognized by its geometry (drivers/md/dm-integrity.c)."""

from __future__ import annotations

import os
from typing import Final

from raidtui.inventory.signatures import integrity_label
from raidtui.stack.calls import bounded
from raidtui.stack.integrity.spec import IntegrityDevice
from raidtui.stack.nodes import read_blocks

BYTES: Final = 4096


def read(path: str) -> str | None:
    """Return the geometry of the superblock on a device, read past all caches; None if there is none.

    Raises OSError, or ProblemError (`stuck`).
    """
    ((_, _, block),) = bounded(lambda: read_blocks(path, lambda _: [("superblock", 0)]), f"reading {path}")
    return integrity_label(block)


def label(device: IntegrityDevice) -> str:
    """Return the planned geometry, as `read` returns it."""
    return f"{device.tag_bytes} bytes per sector of {device.sector_bytes}"


def erase(fd: int) -> None:
    """Write zeroes over the superblock. `fd`: the device, open for writing."""
    os.pwrite(fd, bytes(BYTES), 0)
    os.fsync(fd)
