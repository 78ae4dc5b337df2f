"""What a pool has room for, before it exists: the arithmetic of vdev.c, vdev_raidz.c, vdev_draid.c and spa_misc.c.

It was right to the byte for OpenZFS 2.3 wherever it was compared; other versions differ by little. So it is what a volume
is planned by, and building it finds out whether it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from raidtui.stack.zfs.spec import Group

MIB: Final = 1 << 20
PART_START_BYTES: Final = MIB
_TABLE_END_BYTES: Final = MIB
"""More than the backup of a partition table."""
FUZZ_BYTES: Final = 16 << 20
"""By how much devices of one vdev may differ."""
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
"""More than a fresh pool's own metadata."""


def part_bytes(device_bytes: int) -> int:
    """Length of the one partition on a device: from 1 MiB to the last whole MiB that leaves the backup table room."""
    return max(0, (device_bytes - _TABLE_END_BYTES) // MIB * MIB - PART_START_BYTES)


def available_bytes(groups: Iterable[Group], leaf_bytes: Sequence[int], ashift: int) -> int:
    """What `zfs get available` says of the fresh pool; `leaf_bytes`: of every device, by its place."""
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
    """Bytes of one top-level vdev, parity included."""
    each = min(leaves) // _ALIGN_BYTES * _ALIGN_BYTES - _LABELS_BYTES
    if group.kind.startswith("raidz"):
        return each * len(leaves)
    if group.kind.startswith("draid"):
        rows = max(0, each - 2 * _DRAID_ROW_BYTES) // _DRAID_ROW_BYTES * _DRAID_ROW_BYTES
        stripe = (group.data + group.parity) * _DRAID_ROW_BYTES
        return rows * (len(leaves) - group.spares) // stripe * stripe
    return each


def slabs(size_bytes: int) -> tuple[int, int]:
    """Size and number of a vdev's metaslabs; what does not make a whole one is not used."""
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
    """What one block takes of a vdev, parity and padding included."""
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
    """Of what is written to the disks, how much is data, where whole blocks are written: the least of all vdevs."""
    return min(
        block_bytes / allocated_bytes(group, block_bytes, ashift) / (len(group.devices) if group.kind == "mirror" else 1)
        for group in groups
        if group.role == "member"
    )


def volume_room(groups: Sequence[Group], leaf_bytes: Sequence[int], ashift: int, block_bytes: int, copies: int) -> int:
    """The largest volume that fits when every block of it is written, in whole blocks."""
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
    """What a volume takes of the pool's available space at most: its blocks as `zfs create -V` counts them."""
    blocks = volume_bytes // block_bytes
    worst = max(_inflation(group, ashift, block_bytes) for group in groups if group.role == "member")
    data = int(blocks * block_bytes * worst) * copies
    level, indirects = blocks, 7
    while level > 1:
        level = -(-level // _POINTERS_PER_INDIRECT)
        indirects += level
    return data + indirects * min(3, copies + 1) * _INDIRECT_BYTES


def _inflation(group: Group, ashift: int, block_bytes: int) -> float:
    """How much more of `available` a block takes than its length: `available` counts in blocks of 128 KiB."""
    typical = allocated_bytes(group, _TYPICAL_BLOCK, ashift) / _TYPICAL_BLOCK
    return max(1.0, allocated_bytes(group, block_bytes, ashift) / block_bytes / typical)


def _ratio(group: Group, ashift: int) -> int:
    """512 × what is left of a typical block's space for its data."""
    return _TYPICAL_BLOCK // (allocated_bytes(group, _TYPICAL_BLOCK, ashift) >> 9)


def _slab_bytes(group: Group, slab: int, ashift: int) -> int:
    """Usable bytes of a metaslab: draid rounds each to whole stripes."""
    if not group.kind.startswith("draid"):
        return slab
    stripe = (group.data + group.parity) << ashift
    return slab // stripe * stripe
