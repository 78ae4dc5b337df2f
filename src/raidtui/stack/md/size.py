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


def array_bytes(spec: MdSpec, members: Sequence[int], spares: Sequence[int], journal: int | None, place: str) -> int:
    """Return the estimated usable bytes of an array on devices of these sizes. Raises ProblemError (`md-too-small`)."""
    chunk = chunk_bytes(spec)
    chunk_sectors = (chunk or 0) // SECTOR
    offset = data_offset_sectors(spec, members[0])
    if journal is not None and journal // SECTOR < offset + _SMALLEST_JOURNAL_SECTORS:
        raise fail(TOO_SMALL, f"{journal} bytes are too few for a write journal", place=f"{place}.journal",
                   remedy="A journal needs about 16 MiB beside its superblock; bind a larger disk.")  # fmt: skip
    rooms = [_room(spec, size, offset, chunk_sectors) for size in (*members, *spares)]
    if min(rooms) <= 0:
        raise fail(TOO_SMALL, "a disk is too small to hold the superblock and one chunk", place=place,
                   remedy="Bind larger disks, or choose a smaller chunk.", exit=Exit.USAGE)  # fmt: skip
    return SECTOR * _array_sectors(spec, rooms, len(members), chunk_sectors)


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


def bitmap_chunk_minimum(member_sectors: int) -> int:
    """Return the smallest bitmap chunk (bytes) whose bitmap fits into the room that mdadm leaves for it."""
    room_bytes = _bitmap_sectors(member_sectors) * SECTOR
    most_bits = (room_bytes - 256) * 8
    chunk, bits = 4096, member_sectors * SECTOR // 4096 + 1
    while bits > most_bits:
        chunk, bits = chunk * 2, (bits + 1) // 2
    return chunk


def component_sectors(spec: MdSpec, members: Sequence[int], spares: Sequence[int] = ()) -> int:
    """Return the estimated sectors used of each member, for all levels but raid0."""
    offset = data_offset_sectors(spec, members[0])
    return min(_room(spec, size, offset, (chunk_bytes(spec) or 0) // SECTOR) for size in (*members, *spares))


def _log_sectors(spec: MdSpec, device_sectors: int) -> int:
    return _PPL_SECTORS if consistency(spec) == "ppl" else _bitmap_sectors(device_sectors)


def _bitmap_sectors(device_sectors: int) -> int:
    if device_sectors < 128:
        return 0
    if device_sectors - 128 >= 200 << 21:
        return 256
    return 128 if device_sectors - 8 > 8 << 21 else 8


def _room(spec: MdSpec, device_bytes: int, offset: int, chunk_sectors: int) -> int:
    """Return the sectors of one member that hold data."""
    sectors = device_bytes // SECTOR
    if spec.metadata == "1.0" and spec.level == "raid0":
        room = (sectors - 16 & ~7) - 8
    elif spec.metadata == "1.0":
        room = (sectors & ~7) - (24 + _log_sectors(spec, sectors))
    else:
        room = sectors - offset
    room &= ~1
    return room // chunk_sectors * chunk_sectors if chunk_sectors else room & ~127


def _array_sectors(spec: MdSpec, rooms: Sequence[int], members: int, chunk_sectors: int) -> int:
    if spec.level == "raid0":
        # The kernel also rounds by the chunk as if it were a power of two (raid0.c, raid0_size).
        return sum(room & -chunk_sectors for room in rooms)
    each = min(rooms)
    if spec.level == "raid1":
        return each
    if spec.level != "raid10":
        return each * (members - PARITY[spec.level])
    kind, count = copies(layout(spec) or "") or ("near", 2)
    near, far = (count, 1) if kind == "near" else (1, count)
    return each // chunk_sectors // far * members // near * chunk_sectors
