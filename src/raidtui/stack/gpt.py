"""GUID partition tables with GUIDs that are known before (UEFI specification 2.10, chapter 5.3).

The GUID of a table identifies a disk of a run, whatever became of what stood in its partitions. Tables are written here,
because parted and `zpool create` choose random GUIDs: after a crash nobody could tell whose table it is. What makes it a
table is written last, and erased first.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
import time
import uuid
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.files import read_int
from raidtui.inventory import ioctl

MIB: Final = 1 << 20
ZFS: Final = "6a898cc3-1dd2-11b2-99a6-080020736631"
LINUX_DATA: Final = "0fc63daf-8483-4772-8e79-3d69d8477de4"
"""Types of partitions."""
FIRST_BYTE: Final = MIB
"""Start of the first partition."""
END_BYTES: Final = MIB
"""Space after the last partition; the backup of a table needs less."""
REREAD_PATIENCE_S: Final = 10.0
BLKRRPART: Final = 0x125F
_BLKSSZGET: Final = 0x1268
_SIGNATURE: Final = b"EFI PART"
_HEADER: Final = struct.Struct("<8sIIIIQQQQ16sQIII")
_ENTRY: Final = struct.Struct("<16s16sQQQ72s")
_ENTRIES, _ENTRY_BYTES = 128, 128
_NAME: Final = "raidtui".encode("utf-16-le")


class Partition(NamedTuple):
    """A partition by its first byte and its length in bytes."""

    guid: str
    start: int
    length: int
    kind: str = LINUX_DATA


class Table(NamedTuple):
    """A partition table."""

    guid: str
    partitions: tuple[Partition, ...] = ()


def room_bytes(size_bytes: int) -> int:
    """Return the space for partitions on a device: whole MiB, from the first one to the last before the backup table."""
    return max(0, (size_bytes - END_BYTES) // MIB * MIB - FIRST_BYTE)


def sector_bytes(fd: int) -> int:
    """Return the size of the device's logical sectors."""
    return int.from_bytes(fcntl.ioctl(fd, _BLKSSZGET, bytes(4)), sys.byteorder)


def write_table(fd: int, size_bytes: int, sector: int, table: Table) -> None:
    """Write both copies to a device that is open for writing; what makes it a table comes last."""
    entries = _packed_entries(table, sector)
    last = size_bytes // sector - 1
    entry_sectors = -(-len(entries) // sector)
    backup_entries = last - entry_sectors
    os.pwrite(fd, entries, backup_entries * sector)
    os.pwrite(fd, _header(table, entries, sector, last, 1, backup_entries, last, entry_sectors), last * sector)
    os.pwrite(fd, entries, 2 * sector)
    os.pwrite(fd, _header(table, entries, sector, 1, last, 2, last, entry_sectors), sector)
    # A master boot record that says: all of it is in use by something newer.
    entry = struct.pack("<B3sB3sII", 0, b"\x00\x02\x00", 0xEE, b"\xff\xff\xff", 1, min(last, 0xFFFFFFFF))
    os.pwrite(fd, (bytes(446) + entry + bytes(48) + b"\x55\xaa").ljust(sector, b"\0"), 0)
    os.fsync(fd)


def read_guid(fd: int, size_bytes: int) -> str | None:
    """Return the GUID of either copy of a table, or None if there is none."""
    for sector in (512, 4096):
        for at in (sector, size_bytes // sector * sector - sector):
            if (fields := _fields(os.pread(fd, sector, at))) is not None:
                return _guid(fields[9])
    return None


def read_copies(fd: int, size_bytes: int, sector: int) -> tuple[Table | None, Table | None]:
    """Return the table as its primary and its backup copy have it; None for a copy that is missing or damaged."""
    primary, backup = (_read_copy(fd, sector, at) for at in (sector, size_bytes // sector * sector - sector))
    return primary, backup


def copies_on(path: str) -> tuple[Table | None, Table | None]:
    """Return both copies as they are on the device itself, not in a cache of its node. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return read_copies(fd, ioctl.size_bytes(fd), sector_bytes(fd))
    finally:
        os.close(fd)


def erase_table(fd: int, size_bytes: int, first: int, end: int) -> None:
    """Write zeroes before the byte `first` and from the byte `end` on; what makes it a table goes first."""
    os.pwrite(fd, bytes(4096), 0)
    os.pwrite(fd, bytes(first), 0)
    for at in range(end, size_bytes, MIB):
        os.pwrite(fd, bytes(min(MIB, size_bytes - at)), at)
    os.fsync(fd)


def guid_on(path: str, is_it: Callable[[int], bool] = lambda _: True) -> str | None:
    """Return the GUID of the table on a whole device, read from the device itself; None also if it cannot be read.

    `is_it` decides by the device number if the device is the intended one.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not is_it(os.fstat(fd).st_rdev):
            return None
        # What was written through another node may be newer than what is cached of this one.
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return read_guid(fd, ioctl.size_bytes(fd))
    except OSError:
        return None
    finally:
        os.close(fd)


def reread_partitions(fd: int) -> None:
    """Have the kernel read the partition table again. Raises OSError while a partition is in use for too long."""
    until = time.monotonic() + REREAD_PATIENCE_S
    while True:
        try:
            fcntl.ioctl(fd, BLKRRPART)
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > until:
                raise
            time.sleep(0.05)


def partitions_of(disk: str) -> dict[int, Path]:
    """Return the partitions that the kernel has of a disk, by number, as folders in sysfs. `disk`: kernel name."""
    found = Path("/sys/class/block", disk).resolve().glob("*/partition")
    numbers = ((path.read_text().strip(), path.parent) for path in found)
    return {int(number): folder for number, folder in sorted(numbers) if number.isdigit()}


def extents_of(disk: str) -> dict[int, tuple[int, int]]:
    """Return first byte and length of the partitions that the kernel has of a disk, by number."""
    return {
        number: (512 * (read_int(folder / "start") or 0), 512 * (read_int(folder / "size") or 0))
        for number, folder in partitions_of(disk).items()
    }


def _packed_entries(table: Table, sector: int) -> bytes:
    entries = b"".join(_packed_entry(one, sector) for one in table.partitions)
    return entries + bytes((_ENTRIES - len(table.partitions)) * _ENTRY_BYTES)


def _packed_entry(one: Partition, sector: int) -> bytes:
    first, last = one.start // sector, (one.start + one.length) // sector - 1
    guids = (uuid.UUID(guid).bytes_le if guid else bytes(16) for guid in (one.kind, one.guid))
    return _ENTRY.pack(*guids, first, last, 0, _NAME) if one.length else bytes(_ENTRY_BYTES)


def _header(
    table: Table, entries: bytes, sector: int, own: int, other: int, entries_at: int, last: int, entry_sectors: int
) -> bytes:
    def packed(checksum: int) -> bytes:
        return _HEADER.pack(
            _SIGNATURE, 0x10000, 92, checksum, 0, own, other, 2 + entry_sectors, last - entry_sectors - 1,
            uuid.UUID(table.guid).bytes_le, entries_at, _ENTRIES, _ENTRY_BYTES, zlib.crc32(entries),
        )  # fmt: skip

    return packed(zlib.crc32(packed(0))).ljust(sector, b"\0")


def _fields(block: bytes) -> Sequence[int | bytes] | None:
    """Return the fields of a header; None if it is none, or damaged."""
    if len(block) < 92 or not block.startswith(_SIGNATURE):
        return None
    fields = _HEADER.unpack(block[:92])
    plain = bytes(block[:16]) + bytes(4) + bytes(block[20:92])
    return fields if zlib.crc32(plain) == fields[3] else None


def _guid(raw: int | bytes) -> str:
    assert isinstance(raw, bytes)
    return str(uuid.UUID(bytes_le=raw))


def _read_copy(fd: int, sector: int, at: int) -> Table | None:
    if (fields := _fields(os.pread(fd, sector, at))) is None:
        return None
    entries_at, count, size, checksum = (int(fields[index]) for index in (10, 11, 12, 13))
    if (count, size) != (_ENTRIES, _ENTRY_BYTES):
        return None
    entries = os.pread(fd, count * size, entries_at * sector)
    if zlib.crc32(entries) != checksum:
        return None
    found = []
    for index in range(count):
        kind, guid, first, last, _, _ = _ENTRY.unpack_from(entries, index * size)
        if any(kind):
            found.append(Partition(_guid(guid), first * sector, (last - first + 1) * sector, _guid(kind)))
    return Table(_guid(fields[9]), tuple(found))
