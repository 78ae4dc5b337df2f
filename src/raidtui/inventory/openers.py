"""Processes that use a disk or one of its partitions: virtual machines, databases, dd."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from raidtui.inventory.descriptors import Look, OtherNodes
from raidtui.inventory.mounts import PROC, command, pids
from raidtui.inventory.reasons import reason
from raidtui.model.disk import Reason

if TYPE_CHECKING:
    from raidtui.inventory.census import Census

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
"""How long lookers and the programs of udev's rules are waited for: each looks at a changed disk for a moment."""
_LOOK_EVERY_S: Final = 0.2


class Opener(NamedTuple):
    """A process that uses a block device."""

    pid: int
    command: str
    how: str = ""
    """In words where it has no plain descriptor of the device: `mapped into memory`, `by /dev/sg2`."""


def read_openers(
    proc: Path = PROC,
    ours: Collection[int] = (),
    patience_s: float = PATIENCE_S,
    other_nodes: OtherNodes | None = None,
    remote: frozenset[int] = frozenset(),
) -> dict[int, tuple[Opener, ...]]:
    """Device number → who uses it, without this process, `ours`, udev, and tools that raidtui itself started to look.

    Programs that udev started, such as probe-bcache, are waited for: they end by themselves, and until then may be about to
    make something of the disk. So are other programs that look at disks: of these is told only who stays on the same disk.
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
    """By its command line: `/usr/bin/python3 -I …/raidtui/__main__.py engine`."""
    try:
        words = (proc / pid / "cmdline").read_bytes().split(b"\0")[:4]
    except OSError:
        return False
    return _program(pid, proc).startswith("python") and any(
        word.endswith((b"/raidtui", b"/raidtui/__main__.py")) for word in words
    )


def _program(pid: str, proc: Path) -> str:
    """The name of its program file, not the name that a process gives itself; empty where it has none."""
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
    """The process that started it; empty when it is gone."""
    try:
        # The command's name is in brackets and may hold anything, brackets too.
        return (proc / pid / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
    except (OSError, IndexError):
        return ""


def check_openers(disk: str, census: Census) -> Iterator[Reason]:
    for node in census.blocks.family(disk):
        for opener in census.openers.get(node.devno, ()):
            how = f", {opener.how}" if opener.how else ""
            text = f"{node.name} is open in pid {opener.pid} ({opener.command}){how}"
            yield reason("open", text, f"end pid {opener.pid} ({opener.command})")
