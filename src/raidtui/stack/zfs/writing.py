"""Writing partition tables to the devices of a pool, with udev kept away, each device known to be the right one."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from raidtui.gate.permit import DISK_CHANGED
from raidtui.inventory import ioctl, locks
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack.context import Context
from raidtui.stack.teardown import exclusive, open_for_writing
from raidtui.stack.zfs import gpt
from raidtui.stack.zfs.command import part_path
from raidtui.stack.zfs.devices import Device, bounds, partition

NODE_TIMEOUT_S: Final = 20.0
BUSY_PATIENCE_S: Final = 10.0
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
            locks.require_disk_lock(fd, device.ref, Exit.BUILD_FAILED)
        for device in devices:
            if device.ref.startswith("disk:"):
                context.permit(device.ref.removeprefix("disk:")).verify()
        yield


def give_partition(context: Context, device: Device) -> None:
    """Write the device's table, have the kernel read it, and insist on the partition that comes of it."""
    if device.table is None:
        return
    try:
        fd = open_for_writing(context, device.ref, device.path)
        try:
            gpt.write(fd, ioctl.size_bytes(fd), _sector_bytes(fd), device.table)
            reread(exclusive(context, device.ref, fd))
        finally:
            os.close(fd)
    except OSError as error:
        raise fail("zpool-partition", f"it could not be partitioned: {error.strerror}", place=device.ref,
                   remedy="Look at dmesg.", exit=Exit.BUILD_FAILED) from error  # fmt: skip
    until = time.monotonic() + NODE_TIMEOUT_S
    while bounds(device) != (device.table.start, device.table.length):
        if time.monotonic() > until:
            raise fail("zpool-partition", "its partition did not appear", place=device.ref, remedy="Look at dmesg.",
                       exit=Exit.BUILD_FAILED)  # fmt: skip
        time.sleep(0.02)


def reread(fd: int) -> None:
    """Have the kernel read the partition table again. Raises OSError while a partition is in use for too long."""
    until = time.monotonic() + BUSY_PATIENCE_S
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
    named = part_path(device.path) if device.table else device.path
    for candidate in (named, path):
        with suppress(OSError):
            if Path(candidate).stat().st_rdev == number:
                return candidate
    raise _another(device)


def _another(device: Device) -> ProblemError:
    return fail(DISK_CHANGED, f"{device.path} is another device now", place=device.ref.removeprefix("disk:"),
                remedy="plan again: raidtui plan", exit=Exit.BUILD_FAILED)  # fmt: skip


def _sector_bytes(fd: int) -> int:
    """The size of the sectors that it is addressed in."""
    return int.from_bytes(fcntl.ioctl(fd, _BLKSSZGET, bytes(4)), sys.byteorder)
