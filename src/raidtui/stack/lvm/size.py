"""Estimated size of a volume in extents before it exists, by LVM's arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from raidtui.model.problem import Exit, Refusal, fail
from raidtui.model.units import VirtualExtent, size_text, size_texts
from raidtui.stack.layer import Part
from raidtui.stack.lvm.spec import (
    DEFAULT_REGION_BYTES,
    IMAGED,
    MIB,
    PARITY,
    REDUNDANT,
    LvmSpec,
    extent_bytes,
    geometry,
    stripe_size_bytes,
    whole_extents,
)

MOST_EXTENTS: Final = (1 << 32) - 1
"""MAX_EXTENT_COUNT (lib/metadata/metadata-exported.h)."""
MOST_REGIONS: Final = 1 << 21
"""Largest number of bits in a bitmap of dm-raid."""


_CHECKED_BYTES: Final = 500 * MIB
"""Data for which LVM takes 4 MiB of checksums."""
_JOURNAL_BYTES: Final = 64 * MIB

TOO_SMALL: Final = Refusal(
    "lvm-too-small",
    "No room for the volume",
    "The devices have fewer extents than the volume needs with this allocation policy.",
    "Bind larger disks, or ask for a smaller size. Allocation contiguous and cling use only one device for each stripe.",
)
EXTENT_SIZE: Final = Refusal(
    "lvm-extent-size",
    "Wrong extent size",
    "An extent is a power of two from 1MiB to 1GiB, or else a multiple of 128KiB that holds whole stripes. LVM counts"
    " at most 2^32 extents.",
    'Write something like "4MiB", or leave extent_size out.',
)
REGION_SIZE: Final = Refusal(
    "lvm-region-size",
    "Wrong region size",
    "A region is the data of one bit in the write-intent bitmap: a power of two, not smaller than a stripe, and so "
    "large that there are at most 2^21 regions. Types without redundancy have none.",
    'Write something like "2MiB", or leave region_size out.',
)


def data_start(stripe_bytes: int | None) -> tuple[int, int]:
    """Return the position of the first extent of a physical volume, and its alignment, in bytes.

    LVM's label and metadata take the first MiB. Data is aligned to the stripes of the device below.
    """
    align = stripe_bytes or MIB
    return -(-MIB // align) * align, align


def rows(free: Sequence[int], areas: int, allocation: str, *, images: bool = False) -> int:
    """Return the number of extents that each of `areas` parallel areas can have on devices with so many free extents.

    LVM fills the devices with the most room up to the smallest of them, then takes the next ones. Two images never share
    a device: devices of different sizes are then used only for the first row.
    """
    left = sorted(free, reverse=True)
    if len(left) < areas:
        return 0
    if allocation in ("contiguous", "cling") or (images and left[0] != left[-1]):
        return left[areas - 1]
    total = 0
    while len(left) >= areas and (step := left[areas - 1]) > 0:
        total += step
        left = sorted([*(room - step for room in left[:areas]), *left[areas:]], reverse=True)
    return total


def volume_extents(spec: LvmSpec, free: Sequence[int], reserved: int) -> int:
    """Return the extents of data of each volume on devices with so many free extents, less `reserved` on each.

    Raises ProblemError (`lvm-too-small`).
    """
    extent = extent_bytes(spec)
    shape = geometry(spec, len(free))
    image = rows([max(0, each - reserved) for each in free], shape.areas, spec.allocation, images=spec.type in IMAGED)
    image //= spec.volumes
    if spec.type in REDUNDANT and not (spec.type == "mirror" and spec.mirror_log == "core"):
        image -= 1  # superblock and bitmap of dm-raid, or the log of an old mirror
    if spec.integrity is not None:
        # The most that LVM takes for checksums and their journal (lib/metadata/integrity_manip.c).
        checked = max(0, image) * extent // _CHECKED_BYTES + 1
        image -= -(-checked * 4 * MIB // extent) + -(-_JOURNAL_BYTES // extent)
    most = max(0, image) * shape.stripes
    if spec.size.bytes is not None:
        row_bytes = extent * shape.stripes
        wanted = -(-spec.size.bytes // row_bytes) * shape.stripes
    else:
        wanted = max(shape.stripes, spec.size.of(most) // shape.stripes * shape.stripes)
    if not 1 <= wanted <= most:
        asked, room = size_texts(wanted * extent, most * extent)
        text = f"there is room for {room}, not for {asked}: {most} extents of {extent >> 10} KiB, not {wanted}"
        remedy = "Bind larger disks, or ask for a smaller size."
        raise fail(TOO_SMALL, text, place="lvm.size", remedy=remedy, exit=Exit.USAGE)
    return wanted


def virtual_bytes(wanted: VirtualExtent, of_bytes: int, extent: int, place: str) -> int:
    """Return the size of a virtual volume. Raises ProblemError (`lvm-extent-size`)."""
    found = whole_extents(wanted, of_bytes, extent)
    if found // extent > MOST_EXTENTS:
        text = f"{size_text(found)} are {found // extent} extents of {extent >> 10} KiB; LVM counts up to {MOST_EXTENTS}"
        raise fail(EXTENT_SIZE, text, place=place, remedy="Choose a larger extent_size, or ask for less.",
                   exit=Exit.USAGE)  # fmt: skip
    return found


def region_bytes(spec: LvmSpec, size_bytes: int) -> int | None:
    """Return the data of one bit in the bitmap; None if there is no bitmap. It grows until the volume has few enough
    regions.

    Raises ProblemError (`lvm-region-size`) if the requested size results in too many.
    """
    if spec.type not in REDUNDANT:
        return None
    asked = spec.region_size
    region = asked.bytes if asked is not None else DEFAULT_REGION_BYTES
    while size_bytes > region * MOST_REGIONS:
        region *= 2
    if asked is not None and region != asked.bytes:
        text = f"{size_text(size_bytes)} have more than {MOST_REGIONS} regions of {asked.text}, the limit of a bitmap"
        raise fail(REGION_SIZE, text, place="lvm.region_size", remedy=f"At least {region >> 10}KiB.", exit=Exit.USAGE)
    return region


def stripes(spec: LvmSpec, on: Sequence[Part]) -> tuple[int | None, int | None]:
    """Return the chunk on one device and the data of a full stripe, as a filesystem above should know them.

    A volume without stripes shows those of its devices if its extents are aligned to them. A pool shows none: the place of
    its data is decided when it is written.
    """
    if spec.vdo is not None or spec.thin is not None:
        return None, None
    if (stripe := stripe_size_bytes(spec)) is not None:
        return stripe, stripe * geometry(spec, len(on)).stripes
    below = {(part.chunk_bytes, part.stripe_bytes) for part in on}
    chunk, width = below.pop()
    straight = spec.type == "linear" and len(on) == 1
    if below or not chunk or not width or not (straight or extent_bytes(spec) % width == 0):
        return None, None
    return chunk, width


def write_penalty(spec: LvmSpec, devices: int) -> float:
    """Return the device writes for one small random write: each copy, or data and parity; doubled by journaled checksums;
    plus one into a cache."""
    writes = float(geometry(spec, devices).copies + PARITY.get(spec.type, 0))
    if spec.integrity is not None and spec.integrity.mode == "journal":
        writes *= 2
    cached = spec.writecache is not None or (spec.cache is not None and spec.cache.mode != "passthrough")
    return writes + cached
