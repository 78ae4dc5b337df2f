"""The kernel's map of block devices: whole devices, their partitions, and what stands on what (`/sys/class/block`)."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from raidtui.base.files import read_int, read_text

SYS = Path("/sys")
SECTOR_BYTES = 512
"""The unit of `size` and `start` in sysfs, whatever the disk's own sectors are."""
_NOT_DISKS = re.compile(r"(loop|ram|zram|sr|fd|md|dm-|nbd|drbd|rbd|zd|bcache|nullb|pmem|mtdblock|ublkb|zloop)\d*")
_HIDDEN_PATH = re.compile(r"nvme\d+c\d+n\d+")


class Node(NamedTuple):
    """One block device of the kernel."""

    name: str
    """Name under /dev (`nvme0n1p1`, `cciss/c0d0`)."""
    devno: int
    """`os.makedev(major, minor)`."""
    disk: str
    """The name of the whole device: the node's own for a whole device."""
    start_bytes: int = 0
    size_bytes: int = 0
    holders: tuple[str, ...] = ()
    slaves: tuple[str, ...] = ()
    folder: str = ""
    """Folder of the device in sysfs, all links resolved."""

    @property
    def path(self) -> str:
        return f"/dev/{self.name}"

    @property
    def is_partition(self) -> bool:
        return self.disk != self.name


class Blocks:
    """All nodes at one moment, by name and by device number."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes: Mapping[str, Node] = {node.name: node for node in nodes}
        self.by_devno: Mapping[int, Node] = {node.devno: node for node in self.nodes.values()}
        self._family: dict[str, list[Node]] = {}
        for node in sorted(self.nodes.values(), key=lambda node: (node.is_partition, node.name)):
            self._family.setdefault(node.disk, []).append(node)

    def family(self, disk: str) -> tuple[Node, ...]:
        """Return the whole device, then its partitions."""
        return tuple(self._family.get(disk, ()))

    def partitions(self, disk: str) -> tuple[Node, ...]:
        return tuple(node for node in self.family(disk) if node.is_partition)

    def disks_below(self, devno: int) -> frozenset[str]:
        """Return the whole devices at the bottom of a stack: below partitions, md, device-mapper, bcache, at any depth."""
        found: set[str] = set()
        seen: set[str] = set()
        start = self.by_devno.get(devno)
        todo = [start.name] if start else []
        while todo:
            name = todo.pop()
            node = self.nodes.get(name)
            if node is None or name in seen:
                continue
            seen.add(name)
            found.add(node.disk)
            todo += node.slaves
            if node.is_partition:
                todo.append(node.disk)
        return frozenset(found)


def read_blocks() -> Blocks:
    """Read the map. Raises OSError if sysfs cannot be read at all. Devices that disappear meanwhile are left out."""
    nodes = (_read_node(link) for link in sorted((SYS / "class/block").iterdir()))
    return Blocks(node for node in nodes if node is not None)


def read_family(disk: str) -> tuple[Node, ...]:
    """Return one whole device by its kernel name, then its partitions; nothing if it does not exist."""
    folder = SYS / "class/block" / disk.replace("/", "!")
    links = (folder, *sorted(path.parent for path in folder.glob("*/partition")))
    return tuple(node for link in links if (node := _read_node(link)) is not None)


def _read_node(link: Path) -> Node | None:
    devno = parse_devno(read_text(link / "dev") or "")
    if devno is None:
        return None
    folder = link.resolve()
    name = device_name(link.name)
    partition = (folder / "partition").exists()
    return Node(
        name,
        devno,
        device_name(folder.parent.name) if partition else name,
        (read_int(link / "start") or 0) * SECTOR_BYTES if partition else 0,
        (read_int(link / "size") or 0) * SECTOR_BYTES,
        _listed(link / "holders"),
        _listed(link / "slaves"),
        str(folder),
    )


def _listed(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(device_name(path.name) for path in folder.iterdir()))
    except OSError:
        return ()


def device_name(sysfs_name: str) -> str:
    """Return the name under /dev: sysfs writes `!` for its `/`."""
    return sysfs_name.replace("!", "/")


def parse_devno(text: str) -> int | None:
    """Parse `259:3` as a device number; None for anything else and for 0:0."""
    match = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text.strip())
    if match is None:
        return None
    major, minor = int(match[1]), int(match[2])
    if (major, minor) == (0, 0) or major >= 1 << 12 or minor >= 1 << 20:
        return None
    return os.makedev(major, minor)


def is_physical_disk(node: Node) -> bool:
    """Return True for a whole physical disk, or the head of one that NVMe reaches over several paths."""
    if node.is_partition or _NOT_DISKS.fullmatch(node.name) or _HIDDEN_PATH.fullmatch(node.name):
        return False
    if read_int(f"{node.folder}/hidden"):
        return False
    return "/devices/virtual/" not in node.folder or "/devices/virtual/nvme-subsystem/" in node.folder


def boot_id() -> str:
    """Return the kernel's random name for this boot."""
    return read_text("/proc/sys/kernel/random/boot_id") or ""


def machine_id(file: str = "/etc/machine-id") -> str:
    """Return a hash of this machine's id; empty if it has none.

    machine-id(5) asks not to show the id itself; a keyed hash is what sd_id128_get_machine_app_specific(3) makes of it.
    """
    found = read_text(file) or ""
    if not re.fullmatch(r"[0-9a-f]{32}", found):
        return ""
    return hmac.new(bytes.fromhex(found), b"raidtui", hashlib.sha256).hexdigest()[:32]


def is_root() -> bool:
    return os.geteuid() == 0
