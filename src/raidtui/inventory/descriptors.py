"""Block devices that a process uses: by descriptors of any of its threads, mappings, io_uring, or sockets that carry one.

Nothing here changes the process. What only its name is known of (io_uring tells no more) is matched by the kernel's name.
"""

from __future__ import annotations

import array
import ctypes
import errno
import os
import platform
import re
import socket
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.inventory.blocks import SYS, Blocks
from raidtui.inventory.mounts import PROC

_NOT_FILES: Final = ("pipe:[", "anon_inode:", "/proc/", "/sys/", "/memfd:", "/dev/null", "/dev/pts/", "/dev/tty")
_MAPPING: Final = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ ([0-9a-f]+:[0-9a-f]+ [1-9]\d* .*)$", re.MULTILINE)
_RING_FILE: Final = re.compile(r"^ *\d+: (.+)$", re.MULTILINE)
_GONE: Final = (FileNotFoundError, ProcessLookupError)
_KCMP: Final = {"x86_64": 312, "aarch64": 272, "riscv64": 272, "loongarch64": 272, "ppc64le": 354, "s390x": 343}
_KCMP_FILES: Final = 2
_PIDFD_GETFD: Final = 438
_SO_PEEK_OFF: Final = 42
_MAX_PASSED: Final = 253
_PEEK_BYTES: Final = 256 << 10
_libc = ctypes.CDLL(None, use_errno=True)


class OtherNodes(NamedTuple):
    """Other ways to a disk than its block device."""

    characters: Mapping[int, tuple[int, ...]] = {}
    """Number of a character device (NVMe generic, NVMe controller, SCSI generic, bsg) → numbers of the disks behind it."""
    names: Mapping[str, tuple[int, ...]] = {}
    """Last part of a device's name → numbers of the disks behind it."""


def read_other_nodes(blocks: Blocks, sys: Path = SYS) -> OtherNodes:
    """The character devices of all disks, and every device by its name."""
    names: dict[str, tuple[int, ...]] = {name.rpartition("/")[2]: (node.devno,) for name, node in blocks.nodes.items()}
    characters: dict[int, tuple[int, ...]] = {}
    for pattern, disks_behind in (
        ("class/scsi_generic/*", _scsi_disks),
        ("class/bsg/*", _scsi_disks),
        ("class/nvme-generic/*", _namespace),
        ("class/nvme/nvme*", _namespaces),
    ):
        for folder in sorted(sys.glob(pattern)):
            found = (blocks.nodes.get(name) for name in disks_behind(folder))
            disks = tuple(sorted({node.devno for node in found if node is not None}))
            number = re.fullmatch(r"(\d+):(\d+)", _text(folder / "dev").strip())
            if disks and number:
                characters[os.makedev(int(number[1]), int(number[2]))] = disks
                names.setdefault(folder.name, disks)
    return OtherNodes(characters, names)


def _scsi_disks(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("device/block/*")]


def _namespace(folder: Path) -> list[str]:
    """`ng0n1`, or `ng0c1n1` for one path to it, is the namespace `nvme0n1`."""
    return [re.sub(r"c\d+n", "n", f"nvme{folder.name.removeprefix('ng')}")]


def _namespaces(folder: Path) -> list[str]:
    return [re.sub(r"c\d+n", "n", path.name) for path in folder.glob("nvme*n*")]


class Look:
    """One look at all processes. Files and sockets that several of them share are asked for once."""

    def __init__(self, other_nodes: OtherNodes, proc: Path = PROC, remote: frozenset[int] = frozenset()) -> None:
        """`remote`: numbers of network filesystems, whose files are not asked for: a dead server never answers."""
        self._other_nodes = other_nodes
        self._proc = proc
        self._remote = remote
        self._mapped: dict[bytes, int | None] = {}
        self._sockets: set[str] = set()

    def devices_of(self, pid: str) -> dict[int, str]:
        """Device number → how the process uses it, empty for a plain descriptor of the device."""
        found: dict[int, str] = {}
        for devno, how in self._uses(pid):
            if devno not in found or not how:  # a plain descriptor says more than any other way
                found[devno] = how
        return found

    def _uses(self, pid: str) -> Iterator[tuple[int, str]]:
        for thread in self._tables(pid):
            for fd in _list(self._proc / thread / "fd"):
                with suppress(OSError):
                    yield from self._descriptor(pid, self._proc / thread, fd)
        yield from self._mappings(pid)

    def _tables(self, pid: str) -> Iterator[str]:
        """The process, and each of its threads that does not share its table of descriptors."""
        yield pid
        for thread in _list(self._proc / pid / "task"):
            if thread != pid and not _same_table(int(pid), int(thread)):
                yield f"{pid}/task/{thread}"

    def _descriptor(self, pid: str, folder: Path, fd: str) -> Iterator[tuple[int, str]]:
        link = str((folder / "fd" / fd).readlink())
        if link.startswith("socket:["):
            if link not in self._sockets and folder == self._proc / pid:
                self._sockets.add(link)
                passed = re.search(r"^scm_fds:\s*([1-9]\d*)", _text(folder / "fdinfo" / fd), re.MULTILINE)
                for info in _passed(int(pid), int(fd)) if passed else ():
                    yield from self._device(info, "sent over a socket and not received yet")
        elif link == "anon_inode:[io_uring]":
            for name in parse_ring(_text(folder / "fdinfo" / fd)):
                for devno in self._other_nodes.names.get(name, ()):
                    yield devno, f"registered with io_uring as {name}"
        # Most descriptors are sockets and pipes; a stat of a file on a dead NFS server would never come back.
        elif not link.startswith(_NOT_FILES):
            yield from self._device((folder / "fd" / fd).stat(), "", link)

    def _device(self, info: os.stat_result, how: str, link: str = "") -> Iterator[tuple[int, str]]:
        if stat.S_ISBLK(info.st_mode):
            yield info.st_rdev, how
        elif stat.S_ISCHR(info.st_mode):
            for devno in self._other_nodes.characters.get(info.st_rdev, ()):
                yield devno, f"{how} by {link or 'its character device'}".strip()

    def _mappings(self, pid: str) -> Iterator[tuple[int, str]]:
        # The first thread may have ended before the others, and has no memory then.
        for thread in (pid, *_list(self._proc / pid / "task")):
            if text := _bytes(self._proc / thread / "maps"):
                break
        else:
            return
        for match in _MAPPING.finditer(text):
            file = match[3]
            if file not in self._mapped:
                major, minor = (int(part, 16) for part in file.partition(b" ")[0].split(b":"))
                if os.makedev(major, minor) in self._remote:
                    continue
                place = self._proc / thread / "map_files" / f"{int(match[1], 16):x}-{int(match[2], 16):x}"
                try:
                    info = place.stat()
                except OSError as error:
                    if error.errno == errno.EPERM:  # this process may not look at all
                        raise
                    continue  # unmapped meanwhile, or a user's own filesystem, which keeps root out
                self._mapped[file] = info.st_rdev if stat.S_ISBLK(info.st_mode) else None
            if (devno := self._mapped[file]) is not None:
                yield devno, "mapped into memory"


def parse_ring(fdinfo: str) -> tuple[str, ...]:
    """Names of the files that are registered with an io_uring, of its fdinfo: the last part only, as the kernel has it."""
    _, _, listed = fdinfo.partition("\nUserFiles:")
    files = listed.partition("\nUserBufs:")[0]
    names = (match[1].removesuffix(" (deleted)").rpartition("/")[2] for match in _RING_FILE.finditer(files))
    return tuple(name for name in names if name and name != "<none>")


def _same_table(pid: int, thread: int) -> bool:
    """False where the thread has descriptors of its own, or where the kernel cannot tell."""
    number = _KCMP.get(platform.machine())
    return number is not None and _libc.syscall(number, pid, thread, _KCMP_FILES, 0, 0) == 0


def _passed(pid: int, fd: int) -> list[os.stat_result]:
    """Descriptors that wait in a socket's queue, without taking them out. Not all where several messages carry some."""
    passed = array.array("i")
    try:
        pidfd = os.pidfd_open(pid)
        try:
            copy = _libc.syscall(_PIDFD_GETFD, pidfd, fd, 0)
        finally:
            os.close(pidfd)
        if copy < 0:
            return []
        with socket.socket(fileno=copy) as queue:
            # Where the program itself peeks with an offset, a peek would move it.
            if queue.getsockopt(socket.SOL_SOCKET, _SO_PEEK_OFF) >= 0:
                return []
            flags = socket.MSG_PEEK | socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
            space = socket.CMSG_SPACE(_MAX_PASSED * passed.itemsize)
            for level, kind, data in queue.recvmsg(_PEEK_BYTES, space, flags)[1]:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    passed.frombytes(data[: len(data) - len(data) % passed.itemsize])
        return [os.fstat(number) for number in passed]
    except OSError:
        return []
    finally:
        for number in passed:
            os.close(number)


def _list(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - half a million descriptors need no Path each
    except _GONE:
        return []


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except _GONE:
        return b""


def _text(path: Path) -> str:
    return _bytes(path).decode("utf-8", "replace")
