"""What lies on a disk: signatures, or data of no known kind, or nothing."""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import stat
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from raidtui.inventory import blkid
from raidtui.inventory.blkid import Signature
from raidtui.inventory.blocks import Node
from raidtui.inventory.reasons import reason
from raidtui.inventory.superblock_copies import find_copies
from raidtui.inventory.zfs_labels import find_labels
from raidtui.model.disk import Reason

MIB = 1 << 20
EDGE_BYTES = 4 * MIB
SAMPLES = 128
SAMPLE_BYTES = 64 << 10
"""What finds data is the number of places looked at, not how much is read at each: many small ones find more for less."""
_READ_WHOLE_BYTES = 72 * MIB
_ALIGN = 4096
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes, _memcmp.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_int
_FILLS = {b"\0": "zeroes", b"\xff": "ones"}

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


class Content(NamedTuple):
    """What was found on a disk, and how much of it was looked at."""

    signatures: tuple[Signature, ...] = ()
    fill: str = ""
    """`zeroes` or `ones` where every region read holds nothing else, `data` where one does, empty where none was read."""
    data_at: int | None = None
    """Where the first region with data begins, in bytes."""
    regions: int = 0
    """How many regions of up to 4 MiB were read."""

    @property
    def blank(self) -> bool:
        return not self.signatures and self.fill in ("zeroes", "ones")

    def has_table(self, disk: str) -> bool:
        """Whether a partition table was found on the disk itself."""
        return any(signature.usage == "partitions" and signature.where == disk for signature in self.signatures)


def open_node(node: Node, flags: int = 0) -> int:
    """Open a block device read-only and insist that it is the one that `node` describes."""
    fd = os.open(node.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | flags)
    info = os.fstat(fd)
    if not stat.S_ISBLK(info.st_mode) or info.st_rdev != node.devno:
        os.close(fd)
        raise OSError(f"{node.path} is not the device that the kernel calls {node.name}")
    return fd


def read_content(nodes: Sequence[Node]) -> Content:
    """Look at a disk (the first node) and its partitions. Raises OSError where they cannot be read."""
    disk = nodes[0]
    fd = open_node(disk)
    try:
        # Members of an array are written behind the back of the disk's own page cache.
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        found = find_signatures(fd, disk.size_bytes, nodes)
    finally:
        os.close(fd)
    if found:
        return Content(found)
    fd = open_node(disk, os.O_DIRECT)
    try:
        return sample(fd, regions(disk.size_bytes))
    finally:
        os.close(fd)


def find_signatures(fd: int, size_bytes: int, nodes: Sequence[Node]) -> tuple[Signature, ...]:
    """Every signature on the device behind `fd`: on the whole of it and within each partition."""
    found: list[Signature] = []
    for node in nodes:
        if size := node.size_bytes if node.is_partition else size_bytes:
            within = blkid.signatures(fd, node.start_bytes, size, node.name)
            found += within or find_copies(fd, node.start_bytes, size, node.name)
    if size_bytes and not found:
        found += find_labels(fd, size_bytes, nodes[0].disk)
    return tuple(found)


def regions(size_bytes: int, samples: int = SAMPLES, rng: random.Random | None = None) -> Iterator[tuple[int, int]]:
    """Head, tail, middle, and one place at random in each of `samples` equal parts: (offset, length), in 4 KiB steps."""
    chance = rng or random.SystemRandom()
    end = size_bytes - size_bytes % _ALIGN
    if size_bytes <= _READ_WHOLE_BYTES:
        yield 0, size_bytes
        return
    yield 0, EDGE_BYTES
    yield end - EDGE_BYTES, size_bytes - (end - EDGE_BYTES)
    yield size_bytes // 2 // MIB * MIB, MIB
    part = size_bytes // samples
    for index in range(samples):
        yield (index * part + chance.randrange(max(1, part - SAMPLE_BYTES))) // _ALIGN * _ALIGN, SAMPLE_BYTES


def sample(fd: int, places: Iterable[tuple[int, int]]) -> Content:
    """Read these places of an open device and say whether they hold anything. Ends at the first that does."""
    buffer = mmap.mmap(-1, MIB)  # aligned, as O_DIRECT demands
    view = memoryview(buffer)
    address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    first = b""
    count = 0
    for offset, length in places:
        for at in range(offset, offset + length, MIB):
            size = min(MIB, offset + length - at)
            if os.preadv(fd, [view[:size]], at) != size:
                raise OSError(f"a read at byte {at} ended early")
            first = first or buffer[:1]
            # Every byte like its neighbour, and the first like the first of all: compared in place, without Python's lock.
            uniform = buffer[:1] == first and _memcmp(address, address + 1, size - 1) == 0
            if first not in _FILLS or not uniform:
                return Content(fill="data", data_at=at, regions=count + 1)
        count += 1
    return Content(fill=_FILLS[first] if first else "", regions=count)


def signature_code(signature: Signature) -> str:
    """The reason code that a signature stands for."""
    if signature.usage == "partitions":
        return "partition-table"
    if code := _CODES.get(signature.type):
        return code
    if signature.type.endswith("_raid_member"):
        return "firmware-raid"
    return "filesystem" if signature.usage == "filesystem" else "signature"


def describe(signature: Signature) -> str:
    """`md superblock linux_raid_member 1.2 (uuid …, name stor1:0) on nvme0n1`."""
    facts = [
        text
        for name, value in (("uuid", signature.uuid), ("name", signature.label))
        if value and (text := f"{name} {value}")
    ]
    damaged = ", damaged" if signature.damaged else ""
    version = f" {signature.version}" if signature.version else ""
    about = f" ({', '.join(facts)}{damaged})" if facts or damaged else ""
    return f"{_NAMES[signature_code(signature)]} {signature.type}{version}{about} on {signature.where}"


def content_reasons(disk: str, content: Content) -> Iterator[Reason]:
    """Why what lies on a disk keeps it from being free."""
    for signature in content.signatures:
        code = signature_code(signature)
        remedy = _REMEDIES.get(code, "wipefs -a {}").format(f"/dev/{signature.where}")
        if signature.remains:  # the tools do not find these, nor would they clear them
            remedy = f"blkdiscard -z /dev/{signature.where}"
        yield reason(code, describe(signature), f"if nobody needs it: {remedy}")
    if content.fill == "data":
        text = f"data of an unknown kind near byte {content.data_at}, under no known signature"
        yield reason("unknown-data", text, f"if nobody needs it: blkdiscard -z /dev/{disk}")
    elif not content.signatures and not content.fill:
        yield reason("unchecked", "could not check the content: nothing was read", "solve this and look again")
