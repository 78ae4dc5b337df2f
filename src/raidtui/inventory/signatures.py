"""Signatures on a device: those that libblkid finds, damaged ones too, and remains that it does not search for.

Remains are copies of superblocks of overwritten filesystems, and labels of overwritten ZFS pools.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import struct
import uuid
from collections.abc import Iterator
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import Any, NamedTuple

from raidtui.base.text import clean

_SUBLKS_FLAGS = 1 << 1 | 1 << 3 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10
"""LABEL, UUID, TYPE, USAGE, VERSION, MAGIC, BADCSUM."""
_PARTS_FLAGS = 1 << 1 | 1 << 3
"""FORCE_GPT (also where the protective MBR is missing), MAGIC."""
_FOUND, _NOTHING_MORE = 0, 1
_MAX_SIGNATURES = 64


class Signature(NamedTuple):
    """A superblock, partition table or other mark that was recognized on a device."""

    type: str
    """libblkid's name: `linux_raid_member`, `zfs_member`, `ext4`, `gpt`, …"""
    uuid: str = ""
    label: str = ""
    usage: str = ""
    """`raid`, `filesystem`, `crypto`, `other`, or `partitions` for a partition table."""
    version: str = ""
    where: str = ""
    """The block device: the disk or one of its partitions."""
    damaged: bool = False
    """True if the checksum of the signature is wrong."""
    remains: bool = False
    """True for a copy or a part in a place that libblkid does not read."""


@functools.cache
def _library() -> Any:
    library = ctypes.CDLL("libblkid.so.1", use_errno=True)
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "blkid_new_probe": (c_void_p, []),
        "blkid_free_probe": (None, [c_void_p]),
        "blkid_probe_set_device": (c_int, [c_void_p, c_int, c_int64, c_int64]),
        "blkid_probe_enable_superblocks": (c_int, [c_void_p, c_int]),
        "blkid_probe_set_superblocks_flags": (c_int, [c_void_p, c_int]),
        "blkid_probe_enable_partitions": (c_int, [c_void_p, c_int]),
        "blkid_probe_set_partitions_flags": (c_int, [c_void_p, c_int]),
        "blkid_do_probe": (c_int, [c_void_p]),
        "blkid_probe_lookup_value": (c_int, [c_void_p, c_char_p, POINTER(c_char_p), POINTER(c_size_t)]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def signatures(fd: int, offset: int, size: int, where: str) -> tuple[Signature, ...]:
    """Return every signature in `size` bytes from `offset` of an open device or image.

    Raises OSError when libblkid is missing or gives up: then nothing is known.
    """
    library = _library()
    probe = library.blkid_new_probe()
    if not probe:
        raise OSError("libblkid could not start")
    try:
        if library.blkid_probe_set_device(probe, fd, offset, size):
            raise OSError(f"libblkid cannot read {where}")
        library.blkid_probe_enable_superblocks(probe, 1)
        library.blkid_probe_set_superblocks_flags(probe, _SUBLKS_FLAGS)
        library.blkid_probe_enable_partitions(probe, 1)
        library.blkid_probe_set_partitions_flags(probe, _PARTS_FLAGS)
        found: list[Signature] = []
        while len(found) < _MAX_SIGNATURES:
            result = library.blkid_do_probe(probe)
            if result == _NOTHING_MORE:
                return tuple(found)
            if result != _FOUND:
                raise OSError(f"libblkid gave up on {where} ({result})")
            found.append(_named(_signature(library, probe, where), fd, offset))
        return tuple(found)
    finally:
        library.blkid_free_probe(probe)


def _signature(library: Any, probe: int, where: str) -> Signature:
    def value(name: bytes) -> str:
        data, length = c_char_p(), c_size_t()
        if library.blkid_probe_lookup_value(probe, name, byref(data), byref(length)) or not data.value:
            return ""
        return clean(data.value)

    if kind := value(b"TYPE"):
        damaged = value(b"SBBADCSUM") == "1"
        uuid = value(b"UUID") or value(b"LOGUUID")  # a log of XFS has the filesystem's
        return Signature(kind, uuid, value(b"LABEL"), value(b"USAGE"), value(b"VERSION"), where, damaged)
    return Signature(value(b"PTTYPE") or "unknown", value(b"PTUUID"), usage="partitions", where=where)


def _named(found: Signature, fd: int, offset: int) -> Signature:
    """Return the signature of dm-integrity, which has no UUID, with its geometry as its name."""
    if found.type != "DM_integrity":
        return found
    return found._replace(label=integrity_label(os.pread(fd, _HEAD_BYTES, offset)) or "")


def integrity_label(head: bytes) -> str | None:
    """Return the geometry of a superblock of dm-integrity (struct superblock); None for anything else."""
    if head[:8] != b"integrt\0":
        return None
    (tag_bytes,) = struct.unpack_from("<H", head, 10)
    return f"{tag_bytes} bytes per sector of {_SECTOR << head[28]}"


_EXT_GROUPS = (1, 3, 5, 7, 9, 25, 27, 49)
_BTRFS_COPIES = (64 << 20, 256 << 30)
_XFS_GROUPS = (4, 8, 16, 32)
_XFS_MAX_GROUP_BYTES = 1 << 40
_HEAD_BYTES = 512


def find_copies(fd: int, start_bytes: int, size_bytes: int, where: str) -> tuple[Signature, ...]:
    """Return one signature for each kind of filesystem of which a copy of the superblock is left. Raises OSError."""
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
    """Recognize a copy of an ext2-4 superblock, which contains the number of its block group."""
    if len(head) < _HEAD_BYTES or head[56:58] != b"\x53\xef":
        return None
    block_bytes = 1024 << min(struct.unpack_from("<I", head, 24)[0], 6)
    group = struct.unpack_from("<H", head, 90)[0]
    if not group or offset != (group * 8 * block_bytes + (block_bytes == 1024)) * block_bytes:
        return None
    return Signature("ext4", _uuid(head[104:120]), "", "filesystem", "copy of the superblock", where, remains=True)


def btrfs_copy(head: bytes, offset: int, where: str) -> Signature | None:
    """Recognize a mirror of a btrfs superblock, which contains its own offset."""
    if head[64:72] != b"_BHRfS_M" or struct.unpack_from("<Q", head, 48)[0] != offset:
        return None
    return Signature("btrfs", _uuid(head[32:48]), "", "filesystem", "copy of the superblock", where, remains=True)


def _xfs_offsets(size_bytes: int) -> Iterator[int]:
    blocks = size_bytes // 4096
    for groups in (*_XFS_GROUPS, -(-size_bytes // _XFS_MAX_GROUP_BYTES)):
        if groups > 1:
            yield -(-blocks // groups) * 4096


def xfs_copy(head: bytes, offset: int, where: str) -> Signature | None:
    """Recognize the superblock of the second allocation group of an XFS filesystem."""
    if head[:4] != b"XFSB" or len(head) < _HEAD_BYTES:
        return None
    block_bytes, group_blocks = struct.unpack_from(">I", head, 4)[0], struct.unpack_from(">I", head, 84)[0]
    if block_bytes * group_blocks != offset:
        return None
    return Signature("xfs", _uuid(head[32:48]), "", "filesystem", "copy of the superblock", where, remains=True)


def _uuid(raw: bytes) -> str:
    return str(uuid.UUID(bytes=raw))


_MIB = 1 << 20
_SECTOR = 512
_ZFS_HEAD_BYTES = 2 * _MIB
_TAIL_BYTES = 17 * _MIB
"""The reserved partition of `zpool` has 8 MiB; the tail that is searched leaves room for other partitioners."""
_CONFIG_BYTES = 112 << 10
_UBERBLOCKS = ((0x00BAB10C).to_bytes(8, "little"), (0x00BAB10C).to_bytes(8, "big"))
_CONFIG = b"\0\0\0\x07version\0\0\0\0\x08\0\0\0\x01"
"""The first pair of a configuration: name, type uint64, one element."""
_CONFIG_AT = 20
"""Bytes before that name: encoding, version and flags of the list, sizes of the pair."""
_UINT64, _STRING = 8, 9
_zeroes = ctypes.create_string_buffer(_MIB)
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes, _memcmp.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_int


def find_labels(fd: int, size_bytes: int, where: str) -> tuple[Signature, ...]:
    """Search head and tail of the device behind `fd` for a label of a ZFS pool. Raises OSError.

    A pool's name and GUID come from a configuration; if only uberblocks are left, both are empty.
    """
    uberblock = False
    for offset, chunk in _chunks(fd, size_bytes):
        for at in _places(chunk, _CONFIG, _CONFIG_AT):
            facts = parse_config(os.pread(fd, _CONFIG_BYTES, offset + at - _CONFIG_AT))
            if facts is not None:
                return (_zfs_signature(where, *facts),)
        uberblock = uberblock or any(True for magic in _UBERBLOCKS for _ in _places(chunk, magic, 0))
    return (_zfs_signature(where, "", "", "uberblock"),) if uberblock else ()


def _zfs_signature(where: str, guid: str, name: str, version: str) -> Signature:
    return Signature("zfs_member", guid, name, "filesystem", version, where, remains=True)


def _chunks(fd: int, size_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield head and tail in pieces that begin at a multiple of 1 MiB, without pieces of zeroes."""
    tail = max(0, size_bytes - _TAIL_BYTES) // _MIB * _MIB
    buffer = mmap.mmap(-1, _MIB)  # aligned, as O_DIRECT demands
    address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    direct = _past_the_cache(fd)
    try:
        for offset in (*range(0, min(_ZFS_HEAD_BYTES, tail), _MIB), *range(tail, size_bytes, _MIB)):
            size = min(_MIB, size_bytes - offset)
            with memoryview(buffer) as view:
                if os.preadv(direct, [view[:size]], offset) != size:
                    raise OSError(f"a read at byte {offset} ended early")
            if _memcmp(address, _zeroes, size) != 0:  # in place, without Python's lock
                yield offset, buffer[:size]
    finally:
        if direct != fd:
            os.close(direct)


def _past_the_cache(fd: int) -> int:
    """Open the file again with O_DIRECT, so that the search does not fill the page cache; return `fd` if that fails."""
    try:
        return os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_DIRECT)
    except OSError:
        return fd


def _places(chunk: bytes, pattern: bytes, before: int) -> Iterator[int]:
    """Yield the offsets at which `pattern` is found `before` bytes after the start of a sector."""
    at = chunk.find(pattern)
    while at >= 0:
        if at % _SECTOR == before:
            yield at
        at = chunk.find(pattern, at + 1)


def parse_config(nvlist: bytes) -> tuple[str, str, str] | None:
    """Parse GUID, name and version of the pool in an XDR nvlist (encoding 1); None if it names no pool."""
    if nvlist[:1] != b"\x01":
        return None
    found = {}
    at = 12
    try:
        while (pair_bytes := struct.unpack_from(">I", nvlist, at)[0]) > 0:
            name_bytes = struct.unpack_from(">I", nvlist, at + 8)[0]
            name = nvlist[at + 12 : at + 12 + name_bytes]
            value_at = at + 12 + (name_bytes + 3) // 4 * 4
            kind, elements = struct.unpack_from(">II", nvlist, value_at)
            if (kind, elements) == (_UINT64, 1):
                found[name] = str(struct.unpack_from(">Q", nvlist, value_at + 8)[0])
            elif (kind, elements) == (_STRING, 1):
                length = struct.unpack_from(">I", nvlist, value_at + 8)[0]
                found[name] = clean(nvlist[value_at + 12 : value_at + 12 + length])
            at += pair_bytes
    except struct.error:
        pass  # a list that is cut short still names its pool
    guid, version = found.get(b"pool_guid", ""), found.get(b"version", "")
    return (guid, found.get(b"name", ""), version) if guid or b"name" in found else None
