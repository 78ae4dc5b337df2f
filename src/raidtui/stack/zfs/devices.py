"""Devices of a pool and their partition tables.

A table has one partition, and its GUID identifies the run's disk whatever became of the pool. `zpool create` given a whole
disk writes such a table itself, with random GUIDs: after a crash the disk could not be recognized, since labels of cache
devices and spares carry no pool name. With such a table ZFS sees only the partition, and does not wait for udev. The table
is written here and not by sfdisk, because the disk stays open and locked by this process, and the signature that makes it
a table is written last. UEFI specification 2.10, chapter 5.3.
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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.files import read_int, read_text
from raidtui.gate.permit import DISK_CHANGED
from raidtui.inventory import ioctl
from raidtui.inventory.signatures import signatures
from raidtui.inventory.waiting import require_disk_lock
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.context import Context
from raidtui.stack.nodes import devno
from raidtui.stack.teardown import exclusive, open_for_writing, split_present
from raidtui.stack.zfs.commands import PoolDevice, ZfsPool, part_path

MIB: Final = 1 << 20
ZFS_TYPE: Final = uuid.UUID("6a898cc3-1dd2-11b2-99a6-080020736631")
_SIGNATURE: Final = b"EFI PART"
_HEADER: Final = struct.Struct("<8sIIIIQQQQ16sQIII")
_ENTRIES, _ENTRY_BYTES = 128, 128
_NAME: Final = "raidtui".encode("utf-16-le")

PARTITION: Final = Refusal(
    "zpool-partition",
    "A disk could not be partitioned",
    "The partition for the pool did not appear after its table was written.",
    "Look at the kernel's messages (dmesg) for the disk that is named.",
)


class Table(NamedTuple):
    """Such a table: GUIDs as text, the partition by its first byte and its length."""

    disk_guid: str
    part_guid: str
    start: int
    length: int


def write_table(fd: int, size_bytes: int, sector: int, table: Table) -> None:
    """Write both copies to a device that is open for writing; what makes it a table comes last."""
    entries = _entries(table, sector)
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


def read_table(fd: int, size_bytes: int) -> str | None:
    """The disk GUID of either copy of a table, or None where there is none."""
    for sector in (512, 4096):
        for at in (sector, size_bytes // sector * sector - sector):
            if guid := _guid(os.pread(fd, sector, at)):
                return guid
    return None


def erase_table(fd: int, size_bytes: int, table: Table) -> None:
    """Write zeroes over everything around the partition; what makes it a table goes first."""
    os.pwrite(fd, bytes(4096), 0)
    os.pwrite(fd, bytes(table.start), 0)
    end = table.start + table.length
    for at in range(end, size_bytes, MIB):
        os.pwrite(fd, bytes(min(MIB, size_bytes - at)), at)
    os.fsync(fd)


def _entries(table: Table, sector: int) -> bytes:
    first, last = table.start // sector, (table.start + table.length) // sector - 1
    guids = ZFS_TYPE.bytes_le, uuid.UUID(table.part_guid).bytes_le
    return struct.pack("<16s16sQQQ72s", *guids, first, last, 0, _NAME) + bytes((_ENTRIES - 1) * _ENTRY_BYTES)


def _header(
    table: Table, entries: bytes, sector: int, own: int, other: int, entries_at: int, last: int, entry_sectors: int
) -> bytes:
    def packed(checksum: int) -> bytes:
        return _HEADER.pack(
            _SIGNATURE, 0x10000, 92, checksum, 0, own, other, 2 + entry_sectors, last - entry_sectors - 1,
            uuid.UUID(table.disk_guid).bytes_le, entries_at, _ENTRIES, _ENTRY_BYTES, zlib.crc32(entries),
        )  # fmt: skip

    return packed(zlib.crc32(packed(0))).ljust(sector, b"\0")


def _guid(block: bytes) -> str | None:
    if len(block) < 92 or not block.startswith(_SIGNATURE):
        return None
    fields = _HEADER.unpack(block[:92])
    plain = bytes(block[:16]) + bytes(4) + bytes(block[20:92])
    return str(uuid.UUID(bytes_le=fields[9])) if zlib.crc32(plain) == fields[3] else None


def label_positions(start: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield offset and length of ZFS's four labels on a partition or device."""
    label = 256 << 10
    end = start + length // label * label
    yield start, 2 * label
    yield end - 2 * label, 2 * label


class Device(NamedTuple):
    """A device of a pool."""

    ref: str
    path: str
    devno: int
    role: str
    table: Table | None
    """Partition table of the device; None if the pool takes the device without one."""


def all_devices(context: Context, zpool: ZfsPool) -> list[Device]:
    """Raises ProblemError when any is not there, or is not what it was."""
    return [_device(entry, context.path(entry.ref)) for entry in zpool.devices]


def present_devices(context: Context, zpool: ZfsPool) -> tuple[list[Device], list[str]]:
    """The devices that are still there, and the references of those that are not."""
    return split_present(context, ((entry.ref, entry.path, partial(_device, entry)) for entry in zpool.devices))


def _device(entry: PoolDevice, path: str) -> Device:
    return Device(entry.ref, path, Path(path).stat().st_rdev, entry.role, table_of(entry))


def table_of(entry: PoolDevice) -> Table | None:
    """The partition table that this device of the arguments gets."""
    return Table(entry.disk_guid, entry.part_guid, entry.start, entry.length) if entry.disk_guid else None


def partition(device: Device) -> tuple[str, int] | None:
    """Node and number of what the pool takes of a device: its first partition, or itself; None where it is not there."""
    if device.table is None:
        return device.path, device.devno
    for path in _sys_folder(device.devno).glob("*/partition"):
        if read_text(path) == "1" and (number := devno(path.parent.name)) is not None:
            return f"/dev/{path.parent.name}", number
    return None


def partition_bounds(device: Device) -> tuple[int, int] | None:
    """First byte and length of the partition, as the kernel has it."""
    if (found := partition(device)) is None or device.table is None:
        return None
    folder = _sys_folder(found[1])
    start, size = read_int(folder / "start"), read_int(folder / "size")
    return (start * 512, size * 512) if start and size else None


def whole_device(number: int) -> int:
    """The number of the disk that a partition is on; of anything else its own."""
    folder = _sys_folder(number)
    return (devno(folder.parent.name) or number) if (folder / "partition").exists() else number


def kernel_name(devno: int) -> str:
    return _sys_folder(devno).name


def _sys_folder(devno: int) -> Path:
    return Path(f"/sys/dev/block/{os.major(devno)}:{os.minor(devno)}").resolve()


def disk_guid(devno: int) -> str | None:
    """The GUID of the partition table on a whole device, read from the device itself."""
    try:
        fd = os.open(f"/dev/{kernel_name(devno)}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if os.fstat(fd).st_rdev != devno:
            return None
        # What was written through another node may be newer than what is cached of this one.
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return read_table(fd, ioctl.size_bytes(fd))
    except OSError:
        return None
    finally:
        os.close(fd)


def has_label(device: Device, name: str) -> bool:
    """Return True if a device without a table carries a label of the pool, or of a cache device or spare."""
    with Path(device.path).open("rb", buffering=0) as file:
        found = signatures(file.fileno(), 0, ioctl.size_bytes(file.fileno()), device.path)
    return any(one.type == "zfs_member" and one.label in ("", name) for one in found)


PARTITION_TIMEOUT_S: Final = 20.0
REREAD_PATIENCE_S: Final = 10.0
BLKRRPART: Final = 0x125F
_BLKSSZGET: Final = 0x1268


@contextmanager
def udev_kept_away(context: Context, devices: list[Device]) -> Iterator[None]:
    """Hold every device's lock: udev leaves it alone, and would else drop and re-read its partitions at any moment."""
    with ExitStack() as stack:
        for device in devices:
            fd = os.open(device.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            stack.callback(os.close, fd)
            if os.fstat(fd).st_rdev != device.devno:
                raise _another(device)
            require_disk_lock(fd, device.ref, Exit.BUILD_FAILED)
        for device in devices:
            if device.ref.startswith("disk:"):
                context.permit(device.ref.removeprefix("disk:")).verify()
        yield


def give_partition(context: Context, device: Device) -> None:
    """Write the device's table, have the kernel read it, and check the resulting partition."""
    if device.table is None:
        return
    try:
        fd = open_for_writing(context, device.ref, device.path)
        try:
            sector_bytes = int.from_bytes(fcntl.ioctl(fd, _BLKSSZGET, bytes(4)), sys.byteorder)
            write_table(fd, ioctl.size_bytes(fd), sector_bytes, device.table)
            reread_partitions(exclusive(context, device.ref, fd))
        finally:
            os.close(fd)
    except OSError as error:
        raise fail(PARTITION, f"it could not be partitioned: {error.strerror}", place=device.ref,
                   remedy="Look at dmesg.", exit=Exit.BUILD_FAILED) from error  # fmt: skip
    until = time.monotonic() + PARTITION_TIMEOUT_S
    while partition_bounds(device) != (device.table.start, device.table.length):
        if time.monotonic() > until:
            raise fail(PARTITION, "its partition did not appear", place=device.ref, remedy="Look at dmesg.",
                       exit=Exit.BUILD_FAILED)  # fmt: skip
        time.sleep(0.02)


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


def pool_path(device: Device) -> str:
    """The node that zpool is given, checked to be the very partition."""
    found = partition(device)
    if found is None:
        raise _another(device)
    path, number = found
    for candidate in (part_path(device.path) if device.table else device.path, path):
        with suppress(OSError):
            if Path(candidate).stat().st_rdev == number:
                return candidate
    raise _another(device)


def _another(device: Device) -> ProblemError:
    return fail(DISK_CHANGED, f"{device.path} is another device now", place=device.ref.removeprefix("disk:"),
                remedy="plan again: raidtui plan", exit=Exit.BUILD_FAILED)  # fmt: skip
