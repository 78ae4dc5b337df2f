"""Blanking of a disk, and the proof that it is blank."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from raidtui.gate.permit import DISK_GONE, Permit
from raidtui.inventory import ioctl
from raidtui.inventory.blocks import Node
from raidtui.inventory.content import find_signatures, open_node
from raidtui.inventory.sampling import EDGE_BYTES, MIB, SAMPLES, regions, sample
from raidtui.inventory.udev import wait_for_udev
from raidtui.inventory.waiting import require_disk_lock
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.model.refusals import CANCELLED

NOT_BLANK: Final = Refusal(
    "not-blank",
    "A disk could not be made blank",
    "After the teardown something was still on the disk, or the disk could not be written or read back.",
    "The message says what and where. Look at dmesg, then run `raidtui recover`.",
)

BLKRRPART, BLKFLSBUF, BLKDISCARD, BLKZEROOUT = 0x125F, 0x1261, 0x1277, 0x127F
DISCARD_CHUNK, ZERO_CHUNK = 4 << 30, 256 * MIB
"""Size of a step, in bytes; a cancel is noticed between two steps."""
SETTLE_S = 60

# Copies of superblocks outside head and tail: btrfs (64 MiB, 256 GiB), ext2-4 (block groups 1, 3, 5, 7 of 128 MiB),
# Ceph BlueStore (1, 10, 100, 1000 GiB).
_COPIES = tuple(m * MIB for m in (64, 128, 384, 640, 896)) + tuple(g << 30 for g in (1, 10, 100, 256, 1000))

Progress = Callable[[int, int], None]
"""Callback with the bytes done and the total bytes."""


def make_blank(
    permit: Permit, progress: Progress | None = None, cancelled: Callable[[], bool] | None = None
) -> dict[str, Any]:
    """Make the whole disk read as zeroes and verify that; the disk is held from then on.

    Discards where the disk promises zeroes after it, else writes them. Returns `{"method", "bytes", "samples", "seconds"}`,
    method `discard` or `written zeroes`. Raises ProblemError: `busy`, `disk-gone`, `cancelled`, `not-blank`.
    """
    began = time.monotonic()
    size = permit.disk.size_bytes
    permit.hold()
    fd = permit.open_for_writing()
    try:
        require_disk_lock(fd, permit.disk.id, Exit.REFUSED)
        method, samples = "written zeroes", 0
        os.fsync(fd)  # the kernel refuses to discard blocks that are still to be written
        if permit.disk.discard and promises_zeroes(permit):
            _in_chunks(fd, BLKDISCARD, DISCARD_CHUNK, permit, progress, cancelled)
            _flush(fd)
            with suppress(ProblemError):  # the disk broke its promise: zeroes are written and verified instead
                samples = prove_zero(permit)
                method = "discard"
        if not samples:
            _in_chunks(fd, BLKZEROOUT, ZERO_CHUNK, permit, progress, cancelled)
            _flush(fd)
            samples = prove_zero(permit)
        with suppress(OSError):  # a disk that cannot have partitions refuses to look for them
            fcntl.ioctl(permit.exclusive(fd), BLKRRPART)
    finally:
        os.close(fd)
    wait_for_udev([permit.disk.name], SETTLE_S)  # a slow udev is no failure: what follows reads the disk itself
    if _signed(permit):
        raise _not_blank(permit, "a signature came back")
    return {"method": method, "bytes": size, "samples": samples, "seconds": round(time.monotonic() - began, 3)}


def promises_zeroes(permit: Permit) -> bool:
    """Return True if the disk promises that discarded blocks read as zeroes; False if it does not report that."""
    try:
        return permit.disk.transport == "nvme" and ioctl.nvme_reads_zero_after_discard(permit.pin)
    except OSError:
        return False


def prove_zero(permit: Permit) -> int:
    """Read head, tail, all places of superblocks and random samples past all caches; return the number of regions read.

    Raises ProblemError `not-blank` where any of them is not zero.
    """
    node = _node(permit)
    fd = open_node(node, os.O_DIRECT)
    try:
        found = sample(fd, _places(node.size_bytes))
    except OSError as error:
        raise fail(DISK_GONE, f"cannot be read back: {error}", place=permit.disk.id, exit=Exit.BUILD_FAILED) from error
    finally:
        os.close(fd)
    if found.fill != "zeroes":
        raise _not_blank(permit, f"byte {found.data_at or 0} and after does not read as zero")
    return found.regions


def is_blank(permit: Permit) -> bool:
    """Return True if libblkid finds no signature and every sample is zero."""
    if _signed(permit):
        return False
    node = _node(permit)
    fd = open_node(node, os.O_DIRECT)
    try:
        return sample(fd, _places(node.size_bytes)).fill == "zeroes"
    finally:
        os.close(fd)


def _node(permit: Permit) -> Node:
    disk = permit.disk
    return Node(disk.name, os.makedev(disk.major, disk.minor), disk.name, 0, disk.size_bytes)


def _places(size: int) -> Iterator[tuple[int, int]]:
    yield from regions(size, SAMPLES, random.SystemRandom())
    for offset in _COPIES:
        if offset + MIB < size - EDGE_BYTES:
            yield offset, MIB


def _signed(permit: Permit) -> bool:
    """Return True if libblkid finds a signature on the disk itself, bypassing the page cache."""
    permit.verify()
    node = _node(permit)
    fd = open_node(node)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return bool(find_signatures(fd, node.size_bytes, [node]))
    finally:
        os.close(fd)


def _flush(fd: int) -> None:
    os.fsync(fd)
    fcntl.ioctl(fd, BLKFLSBUF)


def pieces(offset: int, length: int, most: int) -> Iterator[tuple[int, int]]:
    """Cut a range of a disk into pieces of at most `most` bytes; yield offset and length of each."""
    for at in range(offset, offset + length, most):
        yield at, min(most, offset + length - at)


def send(fd: int, request: int, offset: int, length: int) -> None:
    """Send BLKDISCARD or BLKZEROOUT for one piece of an open disk. Raises OSError."""
    fcntl.ioctl(fd, request, struct.pack("QQ", offset, length))


def _in_chunks(
    fd: int, request: int, chunk: int, permit: Permit, progress: Progress | None, cancelled: Callable[[], bool] | None
) -> None:
    size = permit.disk.size_bytes
    for offset, length in pieces(0, size, chunk):
        if cancelled is not None and cancelled():
            raise fail(CANCELLED, "making the disk blank was cancelled", place=permit.disk.id, exit=Exit.CANCELLED)
        try:
            send(fd, request, offset, length)
        except OSError as error:
            if request == BLKDISCARD and error.errno in (errno.EOPNOTSUPP, errno.EINVAL):
                return  # the read-back finds other data than zeroes, and zeroes are written instead
            text = f"could not be made blank at byte {offset}: {error.strerror}"
            raise fail(NOT_BLANK, text, place=permit.disk.id, remedy="look at dmesg", exit=Exit.BUILD_FAILED) from error
        if progress is not None:
            progress(offset + length, size)


def _not_blank(permit: Permit, what: str) -> Exception:
    remedy = "the disk does not keep what it is told; look at dmesg and its SMART log"
    return fail(NOT_BLANK, f"the disk is not blank: {what}", place=permit.disk.id, remedy=remedy, exit=Exit.BUILD_FAILED)
