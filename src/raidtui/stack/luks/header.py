"""The LUKS2 header: two copies with UUID and label, and the key slots (LUKS2 On-Disk Format Specification, 2)."""

from __future__ import annotations

import mmap
import os
from typing import Final, NamedTuple

from raidtui.stack.calls import bounded
from raidtui.stack.nodes import read_blocks

MIB: Final = 1 << 20
COPIES: Final = {0: b"LUKS\xba\xbe", 0x4000: b"SKUL\xba\xbe"}
"""Magic by offset: the header has 16 KiB, and its copy comes right behind it."""
_LABEL, _UUID = slice(24, 72), slice(168, 208)


class Header(NamedTuple):
    """Owner of a header."""

    uuid: str
    label: str


def parse_header(block: bytes, magic: bytes) -> Header | None:
    """Return UUID and label of a header of version 2, None for anything else."""
    if block[:6] != magic or block[6:8] != b"\x00\x02":
        return None
    return Header(*(block[part].split(b"\0")[0].decode("ascii", "replace") for part in (_UUID, _LABEL)))


def read_headers(path: str) -> list[Header]:
    """Return the copies of the header on a device, read past all caches. Raises OSError, ProblemError (`stuck`)."""
    blocks = bounded(lambda: read_blocks(path, lambda _: [(str(at), at) for at in COPIES]), f"reading {path}")
    found = (parse_header(block, COPIES[at]) for _, at, block in blocks)
    return [header for header in found if header is not None]


def overwrite(fd: int, length: int) -> None:
    """Write zeroes over `length` bytes from the start of a device: key slots first, the headers that name them last.

    Raises OSError if they do not read as zeroes afterwards. The key is lost with the process that made it, and not needed.
    """
    edge = max(COPIES) * 2
    for start in (*range(edge, length, MIB), 0):
        os.pwrite(fd, bytes(min(MIB, length - start) if start else edge), start)
    os.fsync(fd)
    if not is_zero(f"/proc/self/fd/{fd}", length):
        raise OSError("the key slots do not read as zeroes")


def is_zero(path: str, length: int) -> bool:
    """Return True if the first `length` bytes of a device read as zeroes, past all caches."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        with mmap.mmap(-1, MIB) as buffer:
            for start in range(0, length, MIB):
                count = os.preadv(fd, [buffer], start)
                if any(buffer[: min(count, length - start)]):
                    return False
        return True
    finally:
        os.close(fd)
