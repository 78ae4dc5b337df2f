"""Copies of superblocks that stay where the first one was overwritten: ext2-4, btrfs, XFS. libblkid does not read these."""

from __future__ import annotations

import os
import struct
import uuid
from collections.abc import Iterator

from raidtui.inventory.blkid import Signature

_EXT_GROUPS = (1, 3, 5, 7, 9, 25, 27, 49)
_BTRFS_COPIES = (64 << 20, 256 << 30)
_XFS_GROUPS = (4, 8, 16, 32)
_XFS_MAX_GROUP_BYTES = 1 << 40
_HEAD_BYTES = 512


def find_copies(fd: int, start_bytes: int, size_bytes: int, where: str) -> tuple[Signature, ...]:
    """One signature for each kind of filesystem of which a copy of the superblock is left. Raises OSError."""
    kinds = ((ext_copy, _ext_offsets()), (btrfs_copy, iter(_BTRFS_COPIES)), (xfs_copy, _xfs_offsets(size_bytes)))
    found = []
    for finder, offsets in kinds:
        for offset in offsets:
            if offset + _HEAD_BYTES > size_bytes:
                continue
            head = os.pread(fd, _HEAD_BYTES, start_bytes + offset)
            if signature := finder(head, offset, where):
                found.append(signature)
                break
    return tuple(found)


def _ext_offsets() -> Iterator[int]:
    for group in _EXT_GROUPS:
        yield (group * 8192 + 1) << 10
        yield from (group * 8 * block * block for block in (2048, 4096))


def ext_copy(head: bytes, offset: int, where: str) -> Signature | None:
    """A copy of an ext2-4 superblock, which says itself in which block group it stands."""
    if len(head) < _HEAD_BYTES or head[56:58] != b"\x53\xef":
        return None
    block_bytes = 1024 << min(struct.unpack_from("<I", head, 24)[0], 6)
    group = struct.unpack_from("<H", head, 90)[0]
    if not group or offset != (group * 8 * block_bytes + (block_bytes == 1024)) * block_bytes:
        return None
    return Signature("ext4", _uuid(head[104:120]), "", "filesystem", "copy of the superblock", where, remains=True)


def btrfs_copy(head: bytes, offset: int, where: str) -> Signature | None:
    """A mirror of a btrfs superblock, which says itself at which byte it stands."""
    if head[64:72] != b"_BHRfS_M" or struct.unpack_from("<Q", head, 48)[0] != offset:
        return None
    return Signature("btrfs", _uuid(head[32:48]), "", "filesystem", "copy of the superblock", where, remains=True)


def _xfs_offsets(size_bytes: int) -> Iterator[int]:
    blocks = size_bytes // 4096
    for groups in (*_XFS_GROUPS, -(-size_bytes // _XFS_MAX_GROUP_BYTES)):
        if groups > 1:
            yield -(-blocks // groups) * 4096


def xfs_copy(head: bytes, offset: int, where: str) -> Signature | None:
    """The superblock of the second allocation group of an XFS filesystem."""
    if head[:4] != b"XFSB" or len(head) < _HEAD_BYTES:
        return None
    block_bytes, group_blocks = struct.unpack_from(">I", head, 4)[0], struct.unpack_from(">I", head, 84)[0]
    if block_bytes * group_blocks != offset:
        return None
    return Signature("xfs", _uuid(head[32:48]), "", "filesystem", "copy of the superblock", where, remains=True)


def _uuid(raw: bytes) -> str:
    return str(uuid.UUID(bytes=raw))
