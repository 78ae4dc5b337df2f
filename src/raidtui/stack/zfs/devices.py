"""Devices of a pool and their partition tables.

A table has one partition, and its GUID identifies the run's disk whatever became of the pool. `zpool create` given a whole
disk writes such a table itself, with random GUIDs: after a crash the disk could not be recognized, since labels of cache
devices and spares carry no pool name. With such a table ZFS sees only the partition, and does not wait for udev. The disk
stays open and locked by this process while the table is written.
"""

from __future__ import annotations

import os
import time
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
from raidtui.stack import gpt
from raidtui.stack.context import Context
from raidtui.stack.gpt import Table
from raidtui.stack.nodes import devno
from raidtui.stack.teardown import exclusive, open_for_writing, split_present
from raidtui.stack.zfs.commands import PoolDevice, ZfsPool, part_path

PARTITION: Final = Refusal(
    "zpool-partition",
    "A disk could not be partitioned",
    "The partition for the pool did not appear after its table was written.",
    "Look at the kernel's messages (dmesg) for the disk that is named.",
)


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
    if not entry.disk_guid:
        return None
    return Table(entry.disk_guid, (gpt.Partition(entry.part_guid, entry.start, entry.length, gpt.ZFS),))


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
    return gpt.guid_on(f"/dev/{kernel_name(devno)}", lambda found: found == devno)


def has_label(device: Device, name: str) -> bool:
    """Return True if a device without a table carries a label of the pool, or of a cache device or spare."""
    with Path(device.path).open("rb", buffering=0) as file:
        found = signatures(file.fileno(), 0, ioctl.size_bytes(file.fileno()), device.path)
    return any(one.type == "zfs_member" and one.label in ("", name) for one in found)


PARTITION_TIMEOUT_S: Final = 20.0


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
            gpt.write_table(fd, ioctl.size_bytes(fd), gpt.sector_bytes(fd), device.table)
            gpt.reread_partitions(exclusive(context, device.ref, fd))
        finally:
            os.close(fd)
    except OSError as error:
        raise fail(PARTITION, f"it could not be partitioned: {error.strerror}", place=device.ref,
                   remedy="Look at dmesg.", exit=Exit.BUILD_FAILED) from error  # fmt: skip
    until = time.monotonic() + PARTITION_TIMEOUT_S
    (planned,) = device.table.partitions
    while partition_bounds(device) != (planned.start, planned.length):
        if time.monotonic() > until:
            raise fail(PARTITION, "its partition did not appear", place=device.ref, remedy="Look at dmesg.",
                       exit=Exit.BUILD_FAILED)  # fmt: skip
        time.sleep(0.02)


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
