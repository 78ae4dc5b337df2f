"""md superblocks on devices: read past all caches, and erased.

`mdadm --zero-superblock` returns 0 even if it did nothing, so superblocks are read back. Sources: md_p.h, mdadm's
super0.c and super1.c.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from raidtui.stack.calls import bounded
from raidtui.stack.nodes import BLOCK, read_blocks

MAGIC: Final = 0xA92B4EFC


class Superblock(NamedTuple):
    """A superblock on a device."""

    metadata: str
    """`0.90`, `1.0`, `1.1` or `1.2`."""
    offset: int
    uuid: str


def places(size_bytes: int) -> Iterator[tuple[str, int]]:
    """Yield (version, byte offset) of each place for a superblock on a device of this size."""
    yield "1.1", 0
    yield "1.2", 4096
    if size_bytes >= 64 << 10:
        yield "1.0", (size_bytes // 512 - 16 & ~7) * 512
    if size_bytes >= 128 << 10:
        yield "0.90", (size_bytes & ~0xFFFF) - 0x10000


def parse(metadata: str, offset: int, block: bytes) -> Superblock | None:
    """Return the superblock at the beginning of `block`, or None."""
    little, big = int.from_bytes(block[:4], "little"), int.from_bytes(block[:4], "big")
    if metadata != "0.90":
        major = int.from_bytes(block[4:8], "little")
        return Superblock(metadata, offset, str(uuid.UUID(bytes=block[16:32]))) if (little, major) == (MAGIC, 1) else None
    if MAGIC not in (little, big):
        return None
    # Version 0.90 has the byte order of the machine that created it; its UUID is four numbers, the first one apart.
    order: Literal["little", "big"] = "little" if little == MAGIC else "big"
    words = [int.from_bytes(block[at : at + 4], order) for at in (20, 52, 56, 60)]
    return Superblock(metadata, offset, str(uuid.UUID(bytes=b"".join(word.to_bytes(4, "big") for word in words))))


def read(path: str) -> tuple[Superblock, ...]:
    """Return every md superblock on a device. Raises OSError, or ProblemError (`stuck`) if the device does not answer."""
    blocks = bounded(lambda: read_blocks(path, places), f"reading {path}")
    found = [parse(*block) for block in blocks if len(block[2]) >= 512]
    return tuple(superblock for superblock in found if superblock is not None)


def erase(fd: int, superblock: Superblock) -> None:
    """Overwrite a superblock with zeroes. `fd`: the device, open for writing."""
    os.pwrite(fd, bytes(BLOCK), superblock.offset)
    os.fsync(fd)
