"""Content of a disk: signatures, data of an unknown kind, or nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from raidtui.base.files import write_atomic
from raidtui.base.paths import run_folder
from raidtui.inventory.blocks import Node
from raidtui.inventory.reasons import reason
from raidtui.inventory.sampling import Content, Extent, look
from raidtui.inventory.signatures import Signature, find_copies, find_labels, signatures
from raidtui.model.disk import Disk, Reason

_CODES = {
    "LVM1_member": "lvm-pv", "LVM2_member": "lvm-pv", "linux_raid_member": "md-superblock", "zfs_member": "zfs-exported",
    "zfs": "zfs-exported", "crypto_LUKS": "luks", "bcache": "bcache-superblock", "swap": "swap-signature",
    "swsuspend": "swap-signature",
}  # fmt: skip
_REMEDIES = {
    "lvm-pv": "pvremove {}", "md-superblock": "mdadm --zero-superblock {}", "zfs-exported": "zpool labelclear {}",
    "luks": "cryptsetup erase {0} && wipefs -a {0}",
}  # fmt: skip
_NAMES = {
    "lvm-pv": "LVM physical volume", "md-superblock": "md superblock",
    "zfs-exported": "label of a ZFS pool that is not imported",
    "luks": "LUKS volume", "bcache-superblock": "bcache superblock", "swap-signature": "swap area",
    "firmware-raid": "firmware RAID metadata", "partition-table": "partition table", "filesystem": "filesystem",
    "signature": "signature",
}  # fmt: skip


def open_node(node: Node, flags: int = 0) -> int:
    """Open a block device read-only and check that it is the one that `node` describes."""
    fd = os.open(node.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | flags)
    info = os.fstat(fd)
    if not stat.S_ISBLK(info.st_mode) or info.st_rdev != node.devno:
        os.close(fd)
        raise OSError(f"{node.path} is not the device that the kernel calls {node.name}")
    return fd


def read_content(
    nodes: Sequence[Node],
    *,
    seconds: float = 0.0,
    first: int | None = None,
    allocated: Callable[[int], Sequence[Extent] | None] = lambda fd: None,
) -> Content:
    """Search a disk (the first node) and its partitions for signatures; without any, search the disk for data.

    `seconds`: duration of the search beyond `regions`. `first`: a place to read before all others. `allocated` asks the
    open disk for the extents in which it keeps data. Raises OSError if they cannot be read.
    """
    disk = nodes[0]
    fd = open_node(disk)
    try:
        # Writes to members of an array bypass the page cache of the disk, which may be stale.
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        found = find_signatures(fd, disk.size_bytes, nodes)
    finally:
        os.close(fd)
    if found:
        return Content(found)
    fd = open_node(disk, os.O_DIRECT)
    try:
        return look(fd, disk.size_bytes, seconds=seconds, first=first, allocated=allocated(fd))
    finally:
        os.close(fd)


def find_signatures(fd: int, size_bytes: int, nodes: Sequence[Node]) -> tuple[Signature, ...]:
    """Return every signature on the device behind `fd`: on the whole device and within each partition."""
    found: list[Signature] = []
    for node in nodes:
        if size := node.size_bytes if node.is_partition else size_bytes:
            within = signatures(fd, node.start_bytes, size, node.name)
            found += within or find_copies(fd, node.start_bytes, size, node.name)
    if size_bytes and not found:
        found += find_labels(fd, size_bytes, nodes[0].disk)
    return tuple(found)


def signature_code(signature: Signature) -> str:
    """Return the reason code for a signature."""
    if signature.usage == "partitions":
        return "partition-table"
    if code := _CODES.get(signature.type):
        return code
    if signature.type.endswith("_raid_member"):
        return "firmware-raid"
    return "filesystem" if signature.usage == "filesystem" else "signature"


def describe(signature: Signature) -> str:
    """Return `md superblock linux_raid_member 1.2 (uuid …, name stor1:0) on nvme0n1`."""
    facts = [
        text
        for name, value in (("uuid", signature.uuid), ("name", signature.label))
        if value and (text := f"{name} {value}")
    ]
    damaged = ", damaged" if signature.damaged else ""
    version = f" {signature.version}" if signature.version else ""
    about = f" ({', '.join(facts)}{damaged})" if facts or damaged else ""
    return f"{_NAMES[signature_code(signature)]} {signature.type}{version}{about} on {signature.where}"


def clearing_command(signature: Signature) -> str:
    """Return the command that destroys what a signature stands for."""
    if signature.remains:  # the tools do not find these, nor would they clear them
        return zeroing_command(signature.where)
    return _REMEDIES.get(signature_code(signature), "wipefs -a {}").format(f"/dev/{signature.where}")


def zeroing_command(name: str) -> str:
    """Return the command that destroys data of an unknown kind: wipefs clears only what it knows."""
    return f"blkdiscard -z /dev/{name}"


def content_reasons(disk: str, content: Content) -> Iterator[Reason]:
    """Yield the reasons that come from the content of a disk."""
    for signature in content.signatures:
        remedy = f"if nobody needs it: {clearing_command(signature)}"
        yield reason(signature_code(signature), describe(signature), remedy)
    if content.fill == "data":
        text = f"data of an unknown kind near byte {content.data_at}, under no known signature"
        yield reason("unknown-data", text, f"if nobody needs it: {zeroing_command(disk)}")
    elif not content.signatures and not content.fill:
        yield reason("unchecked", "could not check the content: nothing was read", "solve this and look again")


_DATA_SEEN_NAME = "data-seen.json"


class DataSeen:
    """Places where earlier scans found data, by disk. To be used by one scan at a time."""

    def __init__(self) -> None:
        self._path = run_folder() / _DATA_SEEN_NAME
        try:
            self._places = msgspec.json.decode(self._path.read_bytes(), type=dict[str, int])
        except (OSError, ValueError, msgspec.DecodeError):  # none was found yet, or the file was damaged
            self._places = {}

    def get(self, disk: Disk) -> int | None:
        return self._places.get(_disk_key(disk))

    def update(self, found: Mapping[Disk, Content]) -> None:
        """Store the places where these disks hold data; remove those of disks that are blank now."""
        places = dict(self._places)
        for disk, content in found.items():
            if content.data_at is not None:
                places[_disk_key(disk)] = content.data_at
            elif content.blank:
                places.pop(_disk_key(disk), None)
        if places != self._places:
            self._places = places
            with suppress(OSError):  # then the next look depends on chance again, as this one did
                write_atomic(self._path, msgspec.json.encode(places))


def _disk_key(disk: Disk) -> str:
    """Key of a disk by identity and size: a position means nothing on another disk."""
    return f"{disk.wwid or disk.serial or disk.name} {disk.size_bytes}"
