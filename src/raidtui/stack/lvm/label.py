"""LVM's label as it stands on a device: read from the disk itself, past all caches, and never trusted to a tool's rc.

A label is one of the first four sectors; behind it are the UUID of the physical volume and, in the rest of the first MiB,
the metadata of its group. Source: lib/label/label.h, lib/format_text/layout.h.
"""

from __future__ import annotations

import mmap
import os
import re
from typing import Final

from raidtui.stack.blockdev import bounded
from raidtui.stack.lvm.command import lvm_uuid

OWN_BYTES: Final = 1 << 20
"""What LVM has to itself at the start of a physical volume made here, at least."""
_SECTOR: Final = 512
_BLOCK: Final = 4096


def parse(block: bytes) -> str | None:
    """The UUID of the physical volume whose first sectors these are, as LVM writes it; None where there is no label."""
    for start in range(0, 4 * _SECTOR, _SECTOR):
        sector = block[start : start + _SECTOR]
        if sector[:8] != b"LABELONE" or sector[24:32] != b"LVM2 001":
            continue
        offset = int.from_bytes(sector[20:24], "little")
        if re.fullmatch(rb"[0-9A-Za-z#!]{32}", uuid := sector[offset : offset + 32]):
            return lvm_uuid(uuid.decode("ascii"))
    return None


def read(path: str) -> str | None:
    """The UUID in the label of a device. Raises OSError, or ProblemError (`stuck`) when the device does not answer."""
    return bounded(lambda: _read(path), f"reading {path}")


def _read(path: str) -> str | None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        with mmap.mmap(-1, _BLOCK) as buffer:
            return parse(buffer[:]) if os.preadv(fd, [buffer], 0) >= 4 * _SECTOR else None
    finally:
        os.close(fd)


def erase(fd: int) -> None:
    """Write zeroes over label and metadata. `fd`: the device, open for writing."""
    os.pwrite(fd, bytes(OWN_BYTES), 0)
    os.fsync(fd)
