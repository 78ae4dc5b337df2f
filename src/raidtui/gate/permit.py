"""Permit: the only way to open a disk for writing, bound to one disk and to its present connection."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from raidtui.base.files import read_int
from raidtui.gate.locks import Lock
from raidtui.inventory import ioctl
from raidtui.inventory.reasons import REASONS
from raidtui.model.disk import Disk, Fingerprint
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail

DISK_GONE: Final = Refusal(
    "disk-gone",
    "The disk is gone",
    "The disk was present when it was planned or admitted, and the kernel does not have it any more.",
    "Look at dmesg and at the disk. When it is back: `raidtui recover`, then replay again.",
)
DISK_CHANGED: Final = Refusal(
    "disk-changed",
    "Another disk in its place",
    "Where the disk was, there is a disk of another identity now: it was pulled, swapped or renamed. It was not touched.",
    "Plan again with the disks that are present now.",
)
PERMIT_CLOSED: Final = Refusal(
    "permit-closed",
    "A disk was given back too early",
    "A step wanted a disk that the run had already given back. This is a bug; nothing was written to the disk.",
    "Report it with the run's journal.",
)

ISSUER: Final = object()
"""Capability that only `admit` uses: any other code that makes a permit is conspicuous in review."""
_PAUSE_S: Final = 0.05


class Permit:
    """Permission to write to one disk, valid until it is closed.

    It holds the disk's lock and an open descriptor (the pin): while the pin is open, the kernel gives the disk's device
    number to no other disk. From `hold` to `let_go` it also holds the disk exclusively (O_EXCL): no other program can mount
    it, build on it, or run mkfs or wipefs on it. Programs that open it without O_EXCL (dd, fio) still read and write.

    A disk that the run partitioned is held by its partitions (`divide`): each unless a layer uses it.
    """

    def __init__(self, issuer: object, disk: Disk, fingerprint: Fingerprint, lock: Lock) -> None:
        if issuer is not ISSUER:
            raise TypeError("a permit is issued by the gate only")
        self.disk = disk
        self.fingerprint = fingerprint
        self.run_id = lock.run_id
        self._lock: Lock | None = lock
        self._devno = os.makedev(disk.major, disk.minor)
        self._pin: int | None = _open_checked(disk, self._devno, os.O_RDONLY)
        self._hold: int | None = None
        self._parts: dict[str, int] = {}
        """Device numbers of the partitions by kernel name."""
        self._part_holds: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"Permit({self.disk.id!r}, run {self.run_id!r}, {'closed' if self.closed else 'open'})"

    @property
    def closed(self) -> bool:
        return self._pin is None

    @property
    def pin(self) -> int:
        """Return the read-only descriptor that pins the disk. Raises ProblemError on a closed permit."""
        if self._pin is None:
            raise fail(PERMIT_CLOSED, "the permit was given back", place=self.disk.id, exit=Exit.BUG)
        return self._pin

    @property
    def held(self) -> bool:
        """True while this permit holds the disk open exclusively, or all of its partitions."""
        return self._part_holds.keys() == self._parts.keys() if self._parts else self._hold is not None

    @property
    def divided(self) -> bool:
        """True while the disk is held by its partitions."""
        return bool(self._parts)

    def divide(self, parts: Mapping[str, int]) -> None:
        """Hold these partitions from the next `hold` on, in place of the whole disk. `parts`: numbers by kernel name."""
        self.let_go()
        self._parts = dict(parts)

    def unite(self) -> None:
        """Hold the disk itself again, from the next `hold` on."""
        self.let_go()
        self._parts = {}

    def holds_part(self, name: str) -> bool:
        """Return True if the permit holds this partition: no layer and no other process uses it."""
        return name in self._part_holds

    def hold_part(self, name: str) -> None:
        """Open a partition exclusively. Raises ProblemError: `busy` if something else uses it."""
        if name not in self._part_holds:
            self._part_holds[name] = self._open_part(name, os.O_RDONLY | os.O_EXCL)

    def open_part_for_writing(self, name: str) -> int:
        """Return an exclusive descriptor for writing to a partition, which the caller closes. Raises ProblemError."""
        self.verify()
        return self._open_part(name, os.O_RDWR if self.holds_part(name) else os.O_RDWR | os.O_EXCL)

    def _open_part(self, name: str, flags: int) -> int:
        return _open_checked(self.disk, self._parts[name], flags, f"/dev/{name}")

    def hold(self, patience_s: float = 0.0) -> None:
        """Open the disk exclusively, or each of its partitions that is free.

        Raises ProblemError: `busy` if something else uses it, or one of them, during all that time. Read-only, so that
        letting go of it is no change that udev would look at.
        """
        until = time.monotonic() + patience_s
        while not self.held and self.pin >= 0:  # a closed permit has no pin and raises
            try:
                self._hold_all()
            except ProblemError as error:
                if error.problems[0].code != "busy" or time.monotonic() >= until:
                    raise
                time.sleep(_PAUSE_S)

    def _hold_all(self) -> None:
        if not self._parts:
            self._hold = _open_checked(self.disk, self._devno, os.O_RDONLY | os.O_EXCL)
        problems: list[Problem] = []
        for name in self._parts:
            try:
                self.hold_part(name)
            except ProblemError as error:
                problems += error.problems
        if problems:
            raise ProblemError(*problems)

    def let_go(self) -> None:
        """Give up the exclusive access, for the tools of a layer that takes the disk. May be called twice."""
        for fd in self._part_holds.values():
            os.close(fd)
        self._part_holds.clear()
        if self._hold is not None:
            os.close(self._hold)
            self._hold = None

    def exclusive(self, fd: int) -> int:
        """Return the exclusive descriptor: the permit's, or `fd`, which the caller opened exclusively."""
        return fd if self._hold is None else self._hold

    def alive(self) -> bool:
        """Return True if the pinned disk is still present. Never raises."""
        try:
            self.verify()
        except ProblemError:
            return False
        return True

    def verify(self) -> None:
        """Check that pin, sysfs and device node still belong to the same connection of the disk. Raises ProblemError."""
        try:
            size = ioctl.size_bytes(self.pin)
        except OSError:
            size = 0
        folder = Path(f"/sys/dev/block/{self.disk.major}:{self.disk.minor}")
        if size == 0 or not folder.exists():
            raise gone(self.disk)
        if size != self.disk.size_bytes:
            raise changed(self.disk, f"its size is now {size} bytes")
        if self.disk.diskseq is None or ioctl.diskseq(self.pin) != self.disk.diskseq:
            raise changed(self.disk, "it is another appearance of the disk (diskseq)")
        if read_int(folder / "diskseq") != self.disk.diskseq:
            raise changed(self.disk, "its device number belongs to another disk now")
        try:
            info = os.lstat(self.disk.path)
        except OSError:
            raise gone(self.disk) from None
        if not stat.S_ISBLK(info.st_mode) or info.st_rdev != self._devno:
            raise changed(self.disk, f"{self.disk.path} is another device now")

    def path(self) -> str:
        """Return `/dev/NAME` right after `verify`, for tools that take only a name."""
        self.verify()
        return self.disk.path

    def open_for_writing(self) -> int:
        """Return an exclusive descriptor for writing, which the caller closes. Opening fails while the disk is claimed.

        While the disk is held it is exclusive by that, and the descriptor itself is not.

        Raises ProblemError `disk-gone`, `disk-changed` or `busy`, also for a disk that has partitions of the run.
        """
        self.verify()
        if self.divided:
            text = f"{self.disk.path} has partitions: {', '.join(self._parts)}"
            raise fail(REASONS["busy"], text, place=self.disk.id, remedy=f"lsblk {self.disk.path}", exit=Exit.REFUSED)
        return _open_checked(self.disk, self._devno, os.O_RDWR if self.held else os.O_RDWR | os.O_EXCL)

    def close(self) -> None:
        """Release hold, pin and lock. May be called twice."""
        self.let_go()
        if self._pin is not None:
            os.close(self._pin)
            self._pin = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _open_checked(disk: Disk, devno: int, flags: int, part: str = "") -> int:
    """Open the node of the disk, or of a partition, and verify by number and by diskseq that it is the intended one."""
    path = part or disk.path
    try:
        fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise gone(disk) from None
    except OSError as error:
        text = f"{path} cannot be opened: {error.strerror}"
        raise fail(REASONS["busy"], text, place=disk.id, remedy=f"lsblk {path}", exit=Exit.REFUSED) from error
    try:
        info = os.fstat(fd)
        if not stat.S_ISBLK(info.st_mode) or info.st_rdev != devno:
            raise changed(disk, f"{path} is another device now")
        if disk.diskseq is None or ioctl.diskseq(fd) != disk.diskseq:
            raise changed(disk, "it is another appearance of the disk (diskseq)")
        if not part and ioctl.size_bytes(fd) != disk.size_bytes:
            raise changed(disk, "its size is not what it was")
    except OSError:
        os.close(fd)
        raise gone(disk) from None
    except BaseException:
        os.close(fd)
        raise
    return fd


def gone(disk: Disk | Fingerprint) -> ProblemError:
    """Return the problem of a disk that is no longer present."""
    remedy = "re-seat the disk, then plan again: raidtui disks"
    return fail(DISK_GONE, "the disk is not there any more", place=disk.id, remedy=remedy, exit=Exit.REFUSED)


def changed(disk: Disk | Fingerprint, what: str) -> ProblemError:
    """Return the problem of a disk that is not the planned one."""
    return fail(DISK_CHANGED, what, place=disk.id, remedy="plan again: raidtui plan", exit=Exit.REFUSED)
