"""Estimated room in a pool before it exists, by the arithmetic of vdev.c, vdev_raidz.c, vdev_draid.c and spa_misc.c.

It decides only the size that a plan requests. Other versions of OpenZFS may leave up to 1/16 less room than estimated: a
volume or dataset whose size is a share of the room then gets what there is, and that is read back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from raidtui.stack.zfs.spec import Group

MIB: Final = 1 << 20
FUZZ_BYTES: Final = 16 << 20
"""Largest difference in size of the devices of one vdev."""
SMALLEST_BYTES: Final = 64 * MIB
_LABELS_BYTES: Final = (4 << 20) + (512 << 10)
_ALIGN_BYTES: Final = 256 << 10
_TYPICAL_BLOCK: Final = 128 << 10
_DRAID_ROW_BYTES: Final = 16 << 20
_SLOP_LEAST, _SLOP_MOST = 128 << 20, 128 << 30
_INDIRECT_BYTES: Final = 128 << 10
_POINTERS_PER_INDIRECT: Final = 1024
_EXTRA_INDIRECTS: Final = 10
"""Indirect blocks of a volume that has hardly any data: more than `zfs create -V` counts."""
_POOL_OWN_BYTES: Final = 8 << 20
"""Upper limit of a new pool's metadata."""


def least_bytes(estimated_bytes: int) -> int:
    """Return the least room that a pool must have for a share of it to be built; the rest is the estimate's tolerance."""
    return estimated_bytes - estimated_bytes // 16


def available_bytes(groups: Iterable[Group], leaf_bytes: Sequence[int], ashift: int) -> int:
    """Return the estimated `available` of the new pool; `leaf_bytes`: sizes of all devices, by position."""
    deflated = 0
    for group in groups:
        if group.role != "member":
            continue
        slab, count = slabs(group_bytes(group, [leaf_bytes[device] for device in group.devices]))
        if group.kind.startswith("draid"):
            stripe = (group.data + group.parity) << ashift
            slab = slab // stripe * stripe
        # `available` counts in 512ths of the space that a block of 128 KiB takes.
        deflated += count * slab // 512 * (_TYPICAL_BLOCK // (allocated_bytes(group, _TYPICAL_BLOCK, ashift) >> 9))
    slop = max(min(deflated // 32, _SLOP_MOST), min(deflated // 2, _SLOP_LEAST))
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
    """Return size and number of a vdev's metaslabs: 16 to 200 of 16 MiB to 16 GiB; a remainder is not used."""
    shift = 29
    if size_bytes >> shift < 16:
        shift = (size_bytes // 16).bit_length()
    elif size_bytes >> shift > 200:
        shift = (size_bytes // 200).bit_length()
    shift = min(max(24, shift), 34)
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


def volume_room(
    groups: Sequence[Group], leaf_bytes: Sequence[int], ashift: int, block_bytes: int, copies: int, volumes: int = 1
) -> int:
    """Return the largest size of so many volumes that can be written fully, in whole blocks: with its indirect blocks, and
    with the blocks as `zfs create -V` counts them, in `available` bytes.
    """
    worst = max(
        allocated_bytes(group, block_bytes, ashift)
        / block_bytes
        * (_TYPICAL_BLOCK / allocated_bytes(group, _TYPICAL_BLOCK, ashift))
        for group in groups
        if group.role == "member"
    )
    indirect = min(3, copies + 1) * _INDIRECT_BYTES
    each = block_bytes * max(1.0, worst) * copies + indirect / (_POINTERS_PER_INDIRECT - 1)
    room = available_bytes(groups, leaf_bytes, ashift) // volumes - _EXTRA_INDIRECTS * indirect
    return max(0, int(room / each)) * block_bytes
