"""Estimated room in a pool before it exists, by the arithmetic of vdev.c, vdev_raidz.c, vdev_draid.c and spa_misc.c.

It was exact for OpenZFS 2.3 in all comparisons; other versions may differ slightly. It decides only the size that the plan
requests: `zfs create` refuses a volume that does not fit, and the size is read back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from raidtui.stack.zfs.spec import Group

MIB: Final = 1 << 20
PART_START_BYTES: Final = MIB
_TABLE_END_BYTES: Final = MIB
"""Upper limit of the backup of a partition table."""
FUZZ_BYTES: Final = 16 << 20
"""Largest difference in size of the devices of one vdev."""
SMALLEST_BYTES: Final = 64 * MIB
_LABELS_BYTES: Final = (4 << 20) + (512 << 10)
_ALIGN_BYTES: Final = 256 << 10
_TYPICAL_BLOCK: Final = 128 << 10
_DRAID_ROW_BYTES: Final = 16 << 20
_SLOP_SHIFT: Final = 5
_SLOP_LEAST, _SLOP_MOST = 128 << 20, 128 << 30
_EMBEDDED_LOG_SLABS: Final = 64
_INDIRECT_BYTES: Final = 128 << 10
_POINTERS_PER_INDIRECT: Final = 1024
_POOL_OWN_BYTES: Final = 8 << 20
"""Upper limit of a new pool's metadata."""


def part_bytes(device_bytes: int) -> int:
    """Return the length of the partition on a device: from 1 MiB to the last whole MiB before the backup table."""
    return max(0, (device_bytes - _TABLE_END_BYTES) // MIB * MIB - PART_START_BYTES)


def available_bytes(groups: Iterable[Group], leaf_bytes: Sequence[int], ashift: int) -> int:
    """Return the estimated `available` of the new pool; `leaf_bytes`: sizes of all devices, by position."""
    deflated = embedded = 0
    for group in groups:
        if group.role != "member":
            continue
        slab, count = slabs(group_bytes(group, [leaf_bytes[device] for device in group.devices]))
        ratio = _ratio(group, ashift)
        usable = _slab_bytes(group, slab, ashift)
        if count > _EMBEDDED_LOG_SLABS:
            count -= 1
            embedded += usable // 512 * ratio
        deflated += count * usable // 512 * ratio
    slop = min(deflated >> _SLOP_SHIFT, _SLOP_MOST)
    slop -= min(embedded, slop >> 1)
    slop = max(slop, min(deflated >> 1, _SLOP_LEAST))
    return max(0, deflated - slop - _POOL_OWN_BYTES)


def group_bytes(group: Group, leaves: Sequence[int]) -> int:
    """Return the bytes of one top-level vdev, parity included."""
    each = min(leaves) // _ALIGN_BYTES * _ALIGN_BYTES - _LABELS_BYTES
    if group.kind.startswith("raidz"):
        return each * len(leaves)
    if group.kind.startswith("draid"):
        rows = max(0, each - 2 * _DRAID_ROW_BYTES) // _DRAID_ROW_BYTES * _DRAID_ROW_BYTES
        stripe = (group.data + group.parity) * _DRAID_ROW_BYTES
        return rows * (len(leaves) - group.spares) // stripe * stripe
    return each


def slabs(size_bytes: int) -> tuple[int, int]:
    """Return size and number of a vdev's metaslabs; a remainder is not used."""
    shift = 29
    if size_bytes >> shift < 16:
        shift = (size_bytes // 16).bit_length()
    elif size_bytes >> shift > 200:
        shift = (size_bytes // 200).bit_length()
    shift = max(24, shift)
    if shift > 34:
        shift = 34 if size_bytes >> 34 <= 1 << 17 else (size_bytes >> 17).bit_length()
    return 1 << shift, size_bytes >> shift


def allocated_bytes(group: Group, block_bytes: int, ashift: int) -> int:
    """Return the bytes that one block takes of a vdev, parity and padding included."""
    sectors = max(1, -(-block_bytes // (1 << ashift)))
    if group.kind.startswith("raidz"):
        columns = len(group.devices) - group.parity
        whole = sectors + group.parity * -(-sectors // columns)
        step = group.parity + 1
        return -(-whole // step) * step << ashift
    if group.kind.startswith("draid"):
        return -(-sectors // group.data) * (group.data + group.parity) << ashift
    return sectors << ashift


def data_share(groups: Iterable[Group], block_bytes: int, ashift: int) -> float:
    """Return the share of data in the bytes written to the disks if whole blocks are written: the least of all vdevs."""
    return min(
        block_bytes / allocated_bytes(group, block_bytes, ashift) / (len(group.devices) if group.kind == "mirror" else 1)
        for group in groups
        if group.role == "member"
    )


def volume_room(groups: Sequence[Group], leaf_bytes: Sequence[int], ashift: int, block_bytes: int, copies: int) -> int:
    """Return the largest volume that can be written fully, in whole blocks."""
    room = available_bytes(groups, leaf_bytes, ashift)
    low, high = 0, room // block_bytes
    while low < high:
        middle = (low + high + 1) // 2
        if reservation_bytes(groups, middle * block_bytes, ashift, block_bytes, copies) <= room:
            low = middle
        else:
            high = middle - 1
    return low * block_bytes


def reservation_bytes(groups: Sequence[Group], volume_bytes: int, ashift: int, block_bytes: int, copies: int) -> int:
    """Return the available space that a volume takes at most: blocks as counted by `zfs create -V`."""
    blocks = volume_bytes // block_bytes
    worst = max(_inflation(group, ashift, block_bytes) for group in groups if group.role == "member")
    data = int(blocks * block_bytes * worst) * copies
    level, indirects = blocks, 7
    while level > 1:
        level = -(-level // _POINTERS_PER_INDIRECT)
        indirects += level
    return data + indirects * min(3, copies + 1) * _INDIRECT_BYTES


def _inflation(group: Group, ashift: int, block_bytes: int) -> float:
    """Return the ratio of a block's use of `available` to its length: `available` counts in blocks of 128 KiB."""
    typical = allocated_bytes(group, _TYPICAL_BLOCK, ashift) / _TYPICAL_BLOCK
    return max(1.0, allocated_bytes(group, block_bytes, ashift) / block_bytes / typical)


def _ratio(group: Group, ashift: int) -> int:
    """Return 512 × the share of data in the space of a typical block."""
    return _TYPICAL_BLOCK // (allocated_bytes(group, _TYPICAL_BLOCK, ashift) >> 9)


def _slab_bytes(group: Group, slab: int, ashift: int) -> int:
    """Return the usable bytes of a metaslab: draid rounds each to whole stripes."""
    if not group.kind.startswith("draid"):
        return slab
    stripe = (group.data + group.parity) << ashift
    return slab // stripe * stripe
