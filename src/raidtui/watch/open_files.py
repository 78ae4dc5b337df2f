"""Disks that a process may be writing to: those below the files and devices that it holds open for writing.

Formats: the kernel's Documentation/filesystems/proc.rst, /proc/PID/fdinfo and /proc/PID/mountinfo.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from raidtui.base.files import read_text
from raidtui.inventory.blocks import SYS, Blocks, read_blocks
from raidtui.inventory.hardware import hardware_folder
from raidtui.inventory.mounts import PROC, Mount, parse_mountinfo

_MEMORY: Final = ("devtmpfs", "tmpfs")
_FLAGS: Final = re.compile(r"^flags:\s*([0-7]+)$", re.MULTILINE)
_MOUNT: Final = re.compile(r"^mnt_id:\s*(\d+)$", re.MULTILINE)
_PCI: Final = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


class OpenFiles:
    """Looks into the descriptors of single processes. Files are not examined: a dead NFS server never answers."""

    def __init__(self, proc: Path = PROC, blocks: Blocks | None = None) -> None:
        self._proc = proc
        self._blocks = blocks

    def disks(self, pid: int) -> frozenset[str]:
        """Return the kernel names of the disks that the process can write to, by what it holds open now."""
        folder = self._proc / str(pid)
        blocks = self._blocks or read_blocks()
        found: frozenset[str] = frozenset()
        try:
            mounts = {mount.id: mount for mount in parse_mountinfo(read_text(folder / "mountinfo") or "")}
            names = os.listdir(folder / "fd")  # noqa: PTH208
        except (OSError, ValueError):
            return found
        for name in names:
            devno = _written_device(folder, name, mounts)
            if devno is not None:
                found |= blocks.disks_below(devno)
        return found


def _written_device(folder: Path, name: str, mounts: Mapping[int, Mount]) -> int | None:
    """Return the number of the block device behind a descriptor that is open for writing; None if there is none."""
    info = read_text(folder / "fdinfo" / name) or ""
    flags, number = _FLAGS.search(info), _MOUNT.search(info)
    if flags is None or number is None or int(flags[1], 8) & os.O_ACCMODE == os.O_RDONLY:
        return None
    mount = mounts.get(int(number[1]))
    if mount is None:
        return None  # a pipe, a socket
    if mount.kind not in _MEMORY:
        return mount.devno if mount.devno is not None else _number_of(mount.source)
    return _number_of(folder / "fd" / name)


def _number_of(path: str | Path) -> int | None:
    """Return the number of a block device; None if it is none. A filesystem of several devices names one of them."""
    if not str(path).startswith("/dev/") and not isinstance(path, Path):
        return None
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_rdev if stat.S_ISBLK(found.st_mode) else None


def same_root_port(disks: Collection[str], sys: Path = SYS) -> frozenset[str]:
    """Return the other disks behind the same PCIe root port: those of one controller, or of one PCIe switch."""
    folders = (folder for folder in (sys / "block").glob("*") if (folder / "device").exists())
    ports = {folder.name: root_port(hardware_folder(folder)) for folder in folders}
    own = {ports[name] for name in disks if ports.get(name)}
    return frozenset(name for name, port in ports.items() if port in own and name not in disks)


def root_port(hardware: Path) -> str:
    """Return the PCI function of the root bus through which a device is reached; empty if it is no PCI device."""
    return next((part for part in hardware.parts if _PCI.fullmatch(part)), "")
