"""A lab on this machine: the folder, QEMU process and sockets of each of its hosts."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from raidtui.base.files import lock_file, private_folder, read_text, write_atomic
from raidtui.base.paths import run_folder, state_folder
from raidtui.lab.disks import LabDisk
from raidtui.lab.links import LinkSpec
from raidtui.model.problem import Exit, Refusal, fail

LAB_BUSY: Final = Refusal(
    "lab.busy",
    "Another command works on the lab",
    "Only one command at a time may change a lab or build its image.",
    "Wait until the other command has ended, or end it.",
)
LAB_NAME: Final = Refusal(
    "lab.name",
    "Not a valid name for a lab",
    "A name has up to 32 of the characters a-z, 0-9 and -, and starts with a letter or digit. NAME/c1 is the first client "
    "of a lab with several hosts.",
    "Choose another name.",
)

DEFAULT_NAME: Final = "default"
DEFAULT_CPUS: Final = 2
MAX_CLIENTS: Final = 7
_NAME: Final = re.compile(r"([a-z0-9][a-z0-9-]{0,31})(?:/(c[1-7]))?")


class LabState(msgspec.Struct):
    """Saved description of one host of a lab (`lab.json`): of the storage server, or of a client."""

    name: str
    image: str
    """Folder of the image that it runs."""
    accel: str
    """`kvm` or `tcg`."""
    port: int
    """Port of the guest's sshd on this machine's loopback."""
    disks: list[LabDisk]
    """Disks of the lab, plugged in or not."""
    plugged: list[str]
    """Serials of the disks that are plugged in, in the order of plugging."""
    created: float
    ready: bool = False
    cpus: int = DEFAULT_CPUS
    clients: int = 0
    """Storage server only: the number of clients."""
    link: LinkSpec | None = None
    """Links between the storage server and its clients; None without clients."""
    cut: list[int] = []
    """Storage server only: the numbers of the clients whose link is cut."""
    flavour: str = ""
    """Name of the flavour of its image (`flavours.py`); empty for the plain one."""


class LabFiles:
    """Paths of one host: of a lab's storage server (`NAME`), or of a client (`NAME/c1`) inside of the lab's folders.

    The sockets are in another folder because their paths must be short.
    """

    def __init__(self, name: str) -> None:
        match = _NAME.fullmatch(name)
        if match is None:
            raise fail(LAB_NAME, f"{name!r} cannot be a lab's name", remedy="use up to 32 of a-z, 0-9 and -")
        self.name = name
        self.lab: str = match[1]
        """Name of the lab."""
        self.host: str = match[2] or ""
        """Name of the client; empty for the storage server."""
        self.folder = labs_folder() / name
        self.meta = self.folder / "lab.json"
        self.overlay = self.folder / "root.qcow2"
        self.pid_file = self.folder / "qemu.pid"
        self.serial_log = self.folder / "console.log"
        self.ssh_config = self.folder / "ssh_config"
        short = hashlib.sha256(str(labs_folder() / self.lab).encode()).hexdigest()[:10]
        self.lab_sockets = run_folder() / f"lab-{short}"
        self.sockets = self.lab_sockets / self.host
        self.qmp = self.sockets / "qmp"
        self.ssh_master = self.sockets / "ssh"

    @property
    def number(self) -> int:
        """Number of the client; 0 for the storage server."""
        return int(self.host[1:] or 0)

    @property
    def title(self) -> str:
        """Name of the host in a message."""
        return f"host {self.host} of lab {self.lab}" if self.host else f"lab {self.lab}"

    def server(self) -> LabFiles:
        """Return the files of the lab's storage server."""
        return LabFiles(self.lab)

    def clients(self, count: int) -> list[LabFiles]:
        """Return the files of the first `count` clients."""
        return [LabFiles(f"{self.lab}/c{number}") for number in range(1, count + 1)]

    def load(self) -> LabState | None:
        try:
            return msgspec.json.decode(self.meta.read_bytes(), type=LabState)
        except (OSError, msgspec.MsgspecError):
            return None

    def save(self, state: LabState) -> None:
        write_atomic(self.meta, msgspec.json.encode(state))

    def create(self) -> None:
        for folder in (labs_folder() / self.lab, self.folder, self.lab_sockets, self.sockets):
            private_folder(folder)

    def exists(self) -> bool:
        return self.folder.exists() or self.sockets.exists()

    def remove(self) -> None:
        for folder in (self.sockets, self.folder):
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def lock(self, timeout_s: float = 900.0) -> Iterator[None]:
        """Hold the lab's lock, so that one command at a time changes it. Its file is removed with the lab."""
        deadline = time.monotonic() + timeout_s
        path = labs_folder() / f".{self.lab}.lock"
        why = f"another command still works on lab {self.lab!r}"
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                take_lock(fd, deadline - time.monotonic(), why)
                # The previous holder may have removed the file; a lock on a removed file excludes no other process.
                if not _is_file(path, fd):
                    continue
                try:
                    yield
                finally:
                    if not self.server().exists():
                        path.unlink(missing_ok=True)
                return
            finally:
                os.close(fd)

    def pids(self) -> list[int]:
        """Return the processes of this host's QEMU, recognized by the pid file on their command line."""
        return _pids_of("qemu-system", (str(self.pid_file),))

    def lab_pids(self) -> list[int]:
        """Return the QEMU processes of all hosts of the lab. Files of the lab may be missing."""
        hosts = (self.server(), *self.clients(MAX_CLIENTS))
        return _pids_of("qemu-system", [str(files.pid_file) for files in hosts])

    def kill(self) -> bool:
        """Kill this host's QEMU, as a power cut does. Return True if no process of it is left."""
        return kill_all(self.pids)

    def kill_lab(self) -> bool:
        """Kill the QEMU processes of all hosts of the lab. Return True if none is left."""
        return kill_all(self.lab_pids)


def _is_file(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def labs_folder() -> Path:
    return private_folder(state_folder() / "labs")


def lab_names() -> list[str]:
    """Return the names of all labs, including incomplete ones."""
    return sorted(path.name for path in labs_folder().iterdir() if path.is_dir() and _NAME.fullmatch(path.name))


def take_lock(fd: int, timeout_s: float, why: str) -> None:
    """Lock `fd` exclusively. Raises ProblemError (`lab.busy`) after `timeout_s`."""
    if not lock_file(fd, timeout_s):
        raise fail(LAB_BUSY, why, remedy="wait for it, or end it", exit=Exit.REFUSED)


def all_pids() -> list[int]:
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]


def _pids_of(program: str, arguments: Sequence[str]) -> list[int]:
    """Return the processes of a program that were started with exactly one of these arguments."""
    found = []
    wanted = {argument.encode() for argument in arguments}
    for pid in all_pids():
        with suppress(OSError):
            argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if program.encode() in argv[0] and not wanted.isdisjoint(argv):
                found.append(pid)
    return found


def kill_all(pids: Callable[[], list[int]], timeout_s: float = 15.0) -> bool:
    """Kill the processes that `pids` finds until none is left. Return False if one survives (uninterruptible sleep)."""
    deadline = time.monotonic() + timeout_s
    killed: set[int] = set()
    while found := {*pids(), *filter(_lives, killed)}:
        for pid in found - killed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= found
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _lives(pid: int) -> bool:
    """Return True if a process exists and is not a zombie."""
    stat = read_text(f"/proc/{pid}/stat")
    return stat is not None and stat.rpartition(")")[2].split()[0] not in ("Z", "X")
