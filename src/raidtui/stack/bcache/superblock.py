"""bcache's superblock as it stands on a device: read from the disk itself, past all caches.

make-bcache gives each device a UUID by chance. Here it gets the one that the plan chose, before the kernel sees it, so that
an undo knows whose it is even when nothing but the UUID is left: the kernel takes the set's UUID out of the backing
device's superblock when it detaches it, as it does on its own when the cache device is lost. Source: uapi/linux/bcache.h.
"""

from __future__ import annotations

import os
import uuid
from typing import Final, NamedTuple

from raidtui.stack.calls import bounded
from raidtui.stack.nodes import read_blocks

OFFSET: Final = 4096
BLOCK: Final = 4096
MAGIC: Final = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
_POLYNOMIAL: Final = 0x42F0E1EBA9EA3693
_MASK: Final = (1 << 64) - 1
_KEYS_AT: Final = 206
_KEYS_FROM: Final = 208
_MOST_KEYS: Final = 256
_UUID: Final = slice(40, 56)
_SET_UUID: Final = slice(56, 72)


class Superblock(NamedTuple):
    """One superblock that was found."""

    uuid: str
    """UUID of the device, as libblkid shows it."""
    set_uuid: str
    """UUID of its set; all zeroes on a detached backing device."""
    sound: bool
    """True if its checksum is correct."""


def parse(block: bytes) -> Superblock | None:
    """The superblock in the 4 KiB from byte 4096 of a device, or None."""
    if len(block) < _KEYS_FROM or block[24:40] != MAGIC:
        return None
    own, of_set = (str(uuid.UUID(bytes=bytes(block[place]))) for place in (_UUID, _SET_UUID))
    return Superblock(own, of_set, _checksum(block) == block[:8])


def stamped(block: bytes, own: str) -> bytes:
    """The same superblock with another UUID of the device. Raises ValueError where `block` is no sound superblock."""
    found = parse(block)
    if found is None or not found.sound:
        raise ValueError("no sound superblock of bcache")
    changed = bytearray(block)
    changed[_UUID] = uuid.UUID(own).bytes
    changed[:8] = _checksum(changed) or b""
    return bytes(changed)


def read(path: str, silence_s: float | None = None) -> Superblock | None:
    """The superblock on a device. Raises OSError, or ProblemError (`stuck`) when the device does not answer."""
    ((_, _, block),) = bounded(lambda: read_blocks(path, lambda _: [("", OFFSET)]), f"reading {path}", silence_s=silence_s)
    return parse(block)


def stamp(fd: int, own: str) -> None:
    """Give the superblock on a device the UUID that was planned. `fd`: open for writing. Raises OSError, ValueError."""
    os.pwrite(fd, stamped(os.pread(fd, BLOCK, OFFSET), own), OFFSET)
    os.fsync(fd)


def erase(fd: int) -> None:
    """Write zeroes over the superblock. `fd`: the device, open for writing."""
    os.pwrite(fd, bytes(BLOCK), OFFSET)
    os.fsync(fd)


def _checksum(block: bytes | bytearray) -> bytes | None:
    """Over everything behind the checksum itself, as far as there are keys; None where there cannot be so many."""
    keys = int.from_bytes(block[_KEYS_AT : _KEYS_AT + 2], "little")
    end = _KEYS_FROM + 8 * keys
    if keys > _MOST_KEYS or end > len(block):
        return None
    return _crc64(block[8:end]).to_bytes(8, "little")


def _crc64(data: bytes | bytearray) -> int:
    crc = _MASK
    for byte in data:
        crc ^= byte << 56
        for _ in range(8):
            crc = (crc << 1 ^ (_POLYNOMIAL if crc >> 63 else 0)) & _MASK
    return crc ^ _MASK
