"""Processes that use a disk or one of its partitions: virtual machines, databases, dd.

A process uses a device by a descriptor of any of its threads, a memory mapping, an io_uring, or a socket that carries a
descriptor. Nothing here changes the process. io_uring tells only the name of a file: it is matched by the kernel's name.
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
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.inventory.blocks import SYS, Blocks
from raidtui.inventory.mounts import PROC, command, pids

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
    """Return the namespace (`nvme0n1`) of a generic device: `ng0n1`, or `ng0c1n1` for one path to it."""
    return [re.sub(r"c\d+n", "n", f"nvme{folder.name.removeprefix('ng')}")]


def _namespaces(folder: Path) -> list[str]:
    return [re.sub(r"c\d+n", "n", path.name) for path in folder.glob("nvme*n*")]


class Look:
    """One look at all processes. Files and sockets that several of them share are asked for once."""

    def __init__(self, other_nodes: OtherNodes, proc: Path = PROC, remote: frozenset[int] = frozenset()) -> None:
        """`remote`: numbers of network filesystems; their files are not examined, since a dead server never answers."""
        self._other_nodes = other_nodes
        self._proc = proc
        self._remote = remote
        self._mapped: dict[bytes, int | None] = {}
        self._sockets: set[str] = set()

    def devices_of(self, pid: str) -> dict[int, str]:
        """Return how the process uses each device number; empty for a plain descriptor of the device."""
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
        """Yield the process, and each of its threads that does not share its table of descriptors."""
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
    """Parse the names of files registered with an io_uring from its fdinfo; the kernel shows the last part of the path."""
    _, _, listed = fdinfo.partition("\nUserFiles:")
    files = listed.partition("\nUserBufs:")[0]
    names = (match[1].removesuffix(" (deleted)").rpartition("/")[2] for match in _RING_FILE.finditer(files))
    return tuple(name for name in names if name and name != "<none>")


def _same_table(pid: int, thread: int) -> bool:
    """Return True if the thread shares the process's descriptors; False also if the kernel cannot compare them."""
    number = _KCMP.get(platform.machine())
    return number is not None and _libc.syscall(number, pid, thread, _KCMP_FILES, 0, 0) == 0


def _passed(pid: int, fd: int) -> list[os.stat_result]:
    """Return the files of descriptors in a socket's queue, without taking them out; only the first message's."""
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


_UDEV_PROGRAMS: Final = frozenset({"systemd-udevd", "udevadm", "udevd"})
_LOOKERS: Final = frozenset(
    {
        "lvm", "pvs", "lvs", "vgs", "pvscan", "blkid", "lsblk", "wipefs", "mdadm", "zpool", "zdb", "btrfs",
        "smartctl", "smartd", "nvme", "hdparm", "sdparm", "scsi_id", "ata_id", "sg_inq", "sg_vpd", "sg_persist", "lsscsi",
        "sg_readcap", "partx", "partprobe", "blockdev", "lshw", "udisksd", "ledmon", "ledctl", "multipath",
    }
)  # fmt: skip
"""Programs that open disks for a moment to look at them. They are waited for; one that stays is named like any other."""
PATIENCE_S: Final = 15.0
"""Longest wait for programs that inspect disks and for those of udev's rules: each has a changed disk open for a moment."""
_LOOK_EVERY_S: Final = 0.2


class Opener(NamedTuple):
    """A process that uses a block device."""

    pid: int
    command: str
    how: str = ""
    """Way of access in words if it is not a plain descriptor of the device: `mapped into memory`, `by /dev/sg2`."""


def read_openers(
    proc: Path = PROC,
    ours: Collection[int] = (),
    patience_s: float = PATIENCE_S,
    other_nodes: OtherNodes | None = None,
    remote: frozenset[int] = frozenset(),
) -> dict[int, tuple[Opener, ...]]:
    """Return the users of each device number, without this process, `ours`, udev, and tools that raidtui itself started.

    Waits up to `patience_s` for programs that udev started, such as probe-bcache: they end by themselves, and may change
    the disk until then. Waits for other programs that inspect disks too, and names those that stay on the same disk.
    """
    until = time.monotonic() + patience_s
    lasting: set[tuple[int, int]] | None = None
    while True:
        found: dict[int, list[Opener]] = {}
        udevs = False
        lookers: set[tuple[int, int]] = set()
        look = Look(other_nodes or OtherNodes(), proc, remote)
        skipped = {os.getpid(), *ours}
        for pid in pids(proc):
            if int(pid) in skipped or not (devices := look.devices_of(pid)) or _is_udev(pid, proc):
                continue
            if _is_looker(pid, proc):
                if _is_raidtuis(pid, proc):
                    continue
                lookers |= {(int(pid), devno) for devno in devices}
            udevs |= _is_udev(_parent(pid, proc), proc)
            name = command(pid, proc)
            for devno, how in devices.items():
                found.setdefault(devno, []).append(Opener(int(pid), name, how))
        lasting = lookers if lasting is None else lasting & lookers
        if not (udevs or lasting) or time.monotonic() >= until:
            gone = lookers - lasting
            told = ((devno, tuple(o for o in openers if (o.pid, devno) not in gone)) for devno, openers in found.items())
            return {devno: openers for devno, openers in told if openers}
        time.sleep(_LOOK_EVERY_S)


def _is_udev(pid: str, proc: Path) -> bool:
    return _program(pid, proc) in _UDEV_PROGRAMS and _is_roots(pid, proc)


def _is_looker(pid: str, proc: Path) -> bool:
    # A process that is being killed has no program any more, and its descriptors for a moment longer.
    return (_program(pid, proc) or command(pid, proc)) in _LOOKERS and _is_roots(pid, proc)


def _is_raidtuis(pid: str, proc: Path) -> bool:
    """Return True for a process that a raidtui started, also one that was killed for taking too long and lives on."""
    for _ in range(32):
        pid = _parent(pid, proc)
        if not pid.isdecimal() or int(pid) <= 1:
            return False
        if int(pid) == os.getpid() or (_is_roots(pid, proc) and _is_raidtui(pid, proc)):
            return True
    return False


def _is_raidtui(pid: str, proc: Path) -> bool:
    """Recognize raidtui by its command line: `/usr/bin/python3 -I …/raidtui/__main__.py engine`."""
    try:
        words = (proc / pid / "cmdline").read_bytes().split(b"\0")[:4]
    except OSError:
        return False
    return _program(pid, proc).startswith("python") and any(
        word.endswith((b"/raidtui", b"/raidtui/__main__.py")) for word in words
    )


def _program(pid: str, proc: Path) -> str:
    """Return the name of a process's program file, not the name that it gives itself; empty if it has none."""
    try:
        return (proc / pid / "exe").readlink().name.removesuffix(" (deleted)") if pid else ""
    except OSError:
        return ""


def _is_roots(pid: str, proc: Path) -> bool:
    try:
        return (proc / pid).stat().st_uid == 0
    except OSError:
        return False


def _parent(pid: str, proc: Path) -> str:
    """Return the parent of a process; empty if the process has ended."""
    try:
        # The command's name is in brackets and may hold anything, brackets too.
        return (proc / pid / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
    except (OSError, IndexError):
        return ""
