"""A partition table with one partition, written by ourselves: its GUID says whose it is, whatever became of the pool.

`zpool create` given a whole disk writes such a table itself, with random GUIDs: after a crash nobody could tell whose the
disk is, since labels of cache devices and spares carry no pool's name. With a table of our own ZFS only ever sees the
partition, and does not wait for udev. UEFI specification 2.10, chapter 5.3.
"""

from __future__ import annotations

import os
import struct
import uuid
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

MIB: Final = 1 << 20
ZFS_TYPE: Final = uuid.UUID("6a898cc3-1dd2-11b2-99a6-080020736631")
_SIGNATURE: Final = b"EFI PART"
_HEADER: Final = struct.Struct("<8sIIIIQQQQ16sQIII")
_ENTRIES, _ENTRY_BYTES = 128, 128
_NAME: Final = "raidtui".encode("utf-16-le")


class Table(NamedTuple):
    """Such a table: GUIDs as text, the partition by its first byte and its length."""

    disk_guid: str
    part_guid: str
    start: int
    length: int


def write(fd: int, size_bytes: int, sector: int, table: Table) -> None:
    """Write both copies to a device that is open for writing; what makes it a table comes last."""
    entries = _entries(table, sector)
    last = size_bytes // sector - 1
    entry_sectors = -(-len(entries) // sector)
    backup_entries = last - entry_sectors
    os.pwrite(fd, entries, backup_entries * sector)
    os.pwrite(fd, _header(table, entries, sector, last, 1, backup_entries, last, entry_sectors), last * sector)
    os.pwrite(fd, entries, 2 * sector)
    os.pwrite(fd, _header(table, entries, sector, 1, last, 2, last, entry_sectors), sector)
    os.pwrite(fd, _protective(sector, last), 0)
    os.fsync(fd)


def read(fd: int, size_bytes: int) -> str | None:
    """The disk GUID of either copy of a table, or None where there is none."""
    for sector in (512, 4096):
        for at in (sector, size_bytes // sector * sector - sector):
            if guid := _guid(os.pread(fd, sector, at)):
                return guid
    return None


def erase(fd: int, size_bytes: int, table: Table) -> None:
    """Write zeroes over everything around the partition; what makes it a table goes first."""
    os.pwrite(fd, bytes(4096), 0)
    os.pwrite(fd, bytes(table.start), 0)
    end = table.start + table.length
    for at in range(end, size_bytes, MIB):
        os.pwrite(fd, bytes(min(MIB, size_bytes - at)), at)
    os.fsync(fd)


def _entries(table: Table, sector: int) -> bytes:
    first, last = table.start // sector, (table.start + table.length) // sector - 1
    entry = struct.pack(
        "<16s16sQQQ72s", ZFS_TYPE.bytes_le, uuid.UUID(table.part_guid).bytes_le, first, last, 0, _NAME
    )  # fmt: skip
    return entry + bytes((_ENTRIES - 1) * _ENTRY_BYTES)


def _header(
    table: Table, entries: bytes, sector: int, own: int, other: int, entries_at: int, last: int, entry_sectors: int
) -> bytes:
    def packed(checksum: int) -> bytes:
        return _HEADER.pack(
            _SIGNATURE, 0x10000, 92, checksum, 0, own, other, 2 + entry_sectors, last - entry_sectors - 1,
            uuid.UUID(table.disk_guid).bytes_le, entries_at, _ENTRIES, _ENTRY_BYTES, zlib.crc32(entries),
        )  # fmt: skip

    return packed(zlib.crc32(packed(0))).ljust(sector, b"\0")


def _protective(sector: int, last: int) -> bytes:
    """A master boot record that says: all of it is in use by something newer."""
    entry = struct.pack("<B3sB3sII", 0, b"\x00\x02\x00", 0xEE, b"\xff\xff\xff", 1, min(last, 0xFFFFFFFF))
    return (bytes(446) + entry + bytes(48) + b"\x55\xaa").ljust(sector, b"\0")


def _guid(block: bytes) -> str | None:
    if len(block) < 92 or not block.startswith(_SIGNATURE):
        return None
    fields = _HEADER.unpack(block[:92])
    plain = bytes(block[:16]) + bytes(4) + bytes(block[20:92])
    return str(uuid.UUID(bytes_le=fields[9])) if zlib.crc32(plain) == fields[3] else None


def places_of_labels(start: int, length: int) -> Iterator[tuple[int, int]]:
    """Where ZFS keeps its four labels on a partition or device: (offset, length)."""
    label = 256 << 10
    end = start + length // label * label
    yield start, 2 * label
    yield end - 2 * label, 2 * label
