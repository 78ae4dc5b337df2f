"""Estimated size of an array before it exists, by the arithmetic of mdadm's super1.c and of the kernel.

Another mdadm version may reserve more or less room on each member, so the size that is read back only has to be within
`tolerance_bytes` of the estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raidtui.model.problem import Exit, Refusal, fail
from raidtui.stack.md.spec import PARITY, MdSpec, chunk_bytes, consistency, copies, layout

SECTOR: Final = 512
_PPL_SECTORS: Final = (1 << 20) // SECTOR
_MEBIBYTE: Final = (1 << 20) // SECTOR
_SUPERBLOCK_AND_BADBLOCKS: Final = 24
_LARGEST_HEADROOM: Final = 128 * _MEBIBYTE
_SMALLEST_JOURNAL_SECTORS: Final = 16 * _MEBIBYTE

TOO_SMALL: Final = Refusal(
    "md-too-small",
    "A device is too small",
    "Superblock, bitmap or log, and at least one chunk of data have to fit on every member.",
    "Bind larger disks, or choose a smaller chunk.",
)


def tolerance_bytes(size_bytes: int, members: int) -> int:
    """Return how far the real size of an array may be from its estimate.

    For each member: 8 MiB for rounding, plus headroom of up to 1/512 of the size, at most twice the 128 MiB that mdadm
    keeps for reshapes.
    """
    return members * ((8 << 20) + min(256 << 20, size_bytes // 512))


def array_bytes(spec: MdSpec, members: Sequence[int], spares: Sequence[int], journal: int | None) -> int:
    """Return the estimated usable bytes of an array on devices of these sizes. Raises ProblemError (`md-too-small`)."""
    if journal is not None and journal // SECTOR < data_offset_sectors(spec, members[0]) + _SMALLEST_JOURNAL_SECTORS:
        raise fail(TOO_SMALL, f"{journal} bytes are too few for a write journal", place="md.journal",
                   remedy="A journal needs about 16 MiB beside its superblock; bind a larger disk.")  # fmt: skip
    rooms = _rooms(spec, (*members, *spares))
    if min(rooms) <= 0:
        raise fail(TOO_SMALL, "a disk is too small to hold the superblock and one chunk", place="md",
                   remedy="Bind larger disks, or choose a smaller chunk.", exit=Exit.USAGE)  # fmt: skip
    chunk_sectors, each = (chunk_bytes(spec) or 0) // SECTOR, min(rooms)
    if spec.level == "raid0":
        # The kernel also rounds by the chunk as if it were a power of two (raid0.c, raid0_size).
        return SECTOR * sum(room & -chunk_sectors for room in rooms)
    if spec.level == "raid10":
        kind, count = copies(layout(spec) or "") or ("near", 2)
        near, far = (count, 1) if kind == "near" else (1, count)
        return SECTOR * (each // chunk_sectors // far * len(members) // near * chunk_sectors)
    return SECTOR * each * (1 if spec.level == "raid1" else len(members) - PARITY[spec.level])


def component_sectors(spec: MdSpec, members: Sequence[int]) -> int:
    """Return the estimated sectors used of each member, for all levels but raid0."""
    return min(_rooms(spec, members))


def bitmap_chunk_minimum(member_sectors: int) -> int:
    """Return the smallest bitmap chunk (bytes) whose bitmap fits into the room that mdadm leaves for it."""
    most_bits = (_bitmap_sectors(member_sectors) * SECTOR - 256) * 8
    chunk, bits = 4096, member_sectors * SECTOR // 4096 + 1
    while bits > most_bits:
        chunk, bits = chunk * 2, (bits + 1) // 2
    return chunk


def data_offset_sectors(spec: MdSpec, first_member_bytes: int) -> int:
    """Return the data offset of every member; mdadm derives it from the first one and keeps room for later reshapes."""
    if spec.metadata == "1.0":
        return 0
    device = first_member_bytes // SECTOR
    chunk_sectors = (chunk_bytes(spec) or 0) // SECTOR
    headroom = _LARGEST_HEADROOM
    while headroom << 10 > device and (chunk_sectors == 0 or headroom // 2 >= chunk_sectors * 2):
        headroom >>= 1
    needed = _SUPERBLOCK_AND_BADBLOCKS + _log_sectors(spec, device) + headroom
    return -(-needed // _MEBIBYTE) * _MEBIBYTE


def _rooms(spec: MdSpec, sizes: Sequence[int]) -> list[int]:
    """Return the sectors of each device that hold data; the first device is the first member."""
    offset, chunk_sectors = data_offset_sectors(spec, sizes[0]), (chunk_bytes(spec) or 128 * SECTOR) // SECTOR
    rooms = []
    for size in sizes:
        sectors = size // SECTOR
        room = sectors - offset
        if spec.metadata == "1.0":
            room = (sectors - 16 & ~7) - 8 if spec.level == "raid0" else (sectors & ~7) - 24 - _log_sectors(spec, sectors)
        rooms.append(room // chunk_sectors * chunk_sectors)
    return rooms


def _log_sectors(spec: MdSpec, device_sectors: int) -> int:
    return _PPL_SECTORS if consistency(spec) == "ppl" else _bitmap_sectors(device_sectors)


def _bitmap_sectors(device_sectors: int) -> int:
    if device_sectors < 128:
        return 0
    if device_sectors - 128 >= 200 << 21:
        return 256
    return 128 if device_sectors - 8 > 8 << 21 else 8
