"""Mounts of every mount namespace and swap areas, as the kernel lists them in /proc."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import NamedTuple

from raidtui.inventory.blocks import parse_devno

PROC = Path("/proc")


class Mount(NamedTuple):
    """One line of a mountinfo."""

    devno: int | None
    """None where the kernel gives an anonymous number that is not a block device's (never 0:0)."""
    point: str
    kind: str
    source: str
    namespace: str = ""
    """Empty for raidtui's own, else a process in it: `pid 812 (nginx)`."""
    id: int = 0
    """Number of the mount in its namespace, as fdinfo has it (`mnt_id`)."""
    options: tuple[str, ...] = ()
    """Options of the mount, then of the filesystem."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The source; for bcachefs, which lists all its devices, each of them."""
        return tuple(self.source.split(":")) if self.kind == "bcachefs" else (self.source,)


def is_remote(kind: str) -> bool:
    """Return True for a filesystem type whose files a server or a program provides, which may never answer."""
    return kind.startswith(("nfs", "cifs", "smb", "fuse", "ceph", "9p", "afs", "lustre", "beegfs", "virtiofs"))


def unescape(text: str) -> str:
    """Undo the kernel's octal escapes of blanks (`\\040`)."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda match: chr(int(match[1], 8)), text)


def parse_mountinfo(text: str, namespace: str = "") -> tuple[Mount, ...]:
    """Parse a mountinfo file, in the order of mounting.

    Raises ValueError for a line that is not: what is not understood must not pass as "not mounted".
    """
    mounts = []
    for line in text.split("\n"):
        if not line.strip():
            continue
        front, separator, back = line.partition(" - ")
        fields, tail = front.split(" "), back.split(" ")
        if not separator or len(fields) < 6 or len(tail) < 3 or not fields[0].isdecimal():
            raise ValueError(f"not a mountinfo line: {line!r}")
        options = tuple(dict.fromkeys((*fields[5].split(","), *tail[2].split(","))))
        devno, point, kind, source = parse_devno(fields[2]), unescape(fields[4]), unescape(tail[0]), unescape(tail[1])
        mounts.append(Mount(devno, point, kind, source, namespace, int(fields[0]), options))
    return tuple(mounts)


def read_own_mounts() -> tuple[Mount, ...]:
    """Return the mounts of this process's namespace. Raises OSError or ValueError."""
    return parse_mountinfo(_read(PROC / "self/mountinfo"))


def read_other_mounts() -> tuple[Mount, ...]:
    """Return the mounts of every other mount namespace that has a process.

    Raises OSError or ValueError if one cannot be read: an unknown namespace is not an empty one.
    """
    mounts: list[Mount] = []
    seen = {str((PROC / "self/ns/mnt").readlink())}
    for pid in pids():
        try:
            namespace = str((PROC / pid / "ns/mnt").readlink())
            if namespace in seen:
                continue
            text = _read(PROC / pid / "mountinfo")
        except (FileNotFoundError, ProcessLookupError):
            continue
        except OSError as error:
            if error.errno == errno.EINVAL:  # a zombie's namespace is gone already
                continue
            raise
        seen.add(namespace)
        mounts += parse_mountinfo(text, f"pid {pid} ({command(pid)})")
    return tuple(mounts)


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def pids(proc: Path = PROC) -> list[str]:
    """Return all process ids, ascending."""
    return sorted((path.name for path in proc.iterdir() if path.name.isdecimal()), key=int)


def command(pid: str, proc: Path = PROC) -> str:
    """Return the command name of a process; `?` if it has ended."""
    try:
        return (proc / pid / "comm").read_bytes().decode("utf-8", "backslashreplace").strip() or "?"
    except OSError:
        return "?"


class Swap(NamedTuple):
    """One line of /proc/swaps."""

    path: str
    kind: str
    """`partition` or `file`."""


def parse_swaps(text: str) -> tuple[Swap, ...]:
    """Parse the swap areas in use. Raises ValueError for a line that is not understood."""
    swaps = []
    for line in text.split("\n")[1:]:
        if not line.strip():
            continue
        fields = line.split()
        if len(fields) < 5 or fields[1] not in ("partition", "file"):
            raise ValueError(f"not a line of /proc/swaps: {line!r}")
        swaps.append(Swap(unescape(fields[0]).removesuffix(" (deleted)"), fields[1]))
    return tuple(swaps)
