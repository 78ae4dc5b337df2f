"""From references in a step's arguments to devices that are there now, and to the partitions on them."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import NamedTuple

from raidtui.base.files import read_text
from raidtui.inventory import ioctl
from raidtui.inventory.blkid import signatures
from raidtui.stack.context import Context
from raidtui.stack.teardown import split_present
from raidtui.stack.zfs import gpt
from raidtui.stack.zfs.spec import PoolDevice, ZfsPool


class Device(NamedTuple):
    """A device of a pool."""

    ref: str
    path: str
    devno: int
    role: str
    table: gpt.Table | None
    """What is written on it; None where the pool takes the device as it is."""


def all_devices(context: Context, zpool: ZfsPool) -> list[Device]:
    """Raises ProblemError when any is not there, or is not what it was."""
    return [_device(entry, context.path(entry.ref)) for entry in zpool.devices]


def present_devices(context: Context, zpool: ZfsPool) -> tuple[list[Device], list[str]]:
    """The devices that are still there, and the references of those that are not."""
    return split_present(context, ((entry.ref, entry.path, partial(_device, entry)) for entry in zpool.devices))


def _device(entry: PoolDevice, path: str) -> Device:
    return Device(entry.ref, path, Path(path).stat().st_rdev, entry.role, table_of(entry))


def table_of(entry: PoolDevice) -> gpt.Table | None:
    """The partition table that this device of the arguments gets."""
    if not entry.disk_guid:
        return None
    return gpt.Table(entry.disk_guid, entry.part_guid, entry.start, entry.length)


def partition(device: Device) -> tuple[str, int] | None:
    """Node and number of what the pool takes of a device: its first partition, or itself; None where it is not there."""
    if device.table is None:
        return device.path, device.devno
    folder = _folder(device.devno)
    for path in folder.glob("*/partition"):
        if read_text(path) == "1" and (number := _number(path.parent)) is not None:
            return f"/dev/{path.parent.name}", number
    return None


def bounds(device: Device) -> tuple[int, int] | None:
    """First byte and length of the partition, as the kernel has it."""
    if (found := partition(device)) is None or device.table is None:
        return None
    folder = _folder(found[1])
    start, size = read_text(folder / "start"), read_text(folder / "size")
    return (int(start) * 512, int(size) * 512) if start and size else None


def whole(devno: int) -> int:
    """The number of the disk that a partition is on; of anything else its own."""
    folder = _folder(devno)
    return (_number(folder.parent) or devno) if (folder / "partition").exists() else devno


def kernel_name(devno: int) -> str:
    return _folder(devno).name


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
        return gpt.read(fd, ioctl.size_bytes(fd))
    except OSError:
        return None
    finally:
        os.close(fd)


def has_label(device: Device, name: str) -> bool:
    """Whether a device that is used as it is carries a label of the pool, or one of a cache device or spare."""
    with Path(device.path).open("rb", buffering=0) as file:
        found = signatures(file.fileno(), 0, ioctl.size_bytes(file.fileno()), device.path)
    return any(one.type == "zfs_member" and one.label in ("", name) for one in found)


def _folder(devno: int) -> Path:
    return Path(f"/sys/dev/block/{os.major(devno)}:{os.minor(devno)}").resolve()


def _number(folder: Path) -> int | None:
    major, _, minor = (read_text(folder / "dev") or "").partition(":")
    return os.makedev(int(major), int(minor)) if major.isdigit() and minor.isdigit() else None
