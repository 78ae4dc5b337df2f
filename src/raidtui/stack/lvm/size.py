"""How large a volume will be, to the extent, before it exists: LVM's own arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

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
"""Bits that a bitmap of dm-raid has room for."""


_CHECKED_BYTES: Final = 500 * MIB
"""For every so many bytes, LVM takes 4 MiB for checksums."""
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


class Volume(NamedTuple):
    """A volume in extents."""

    extents: int
    """Of data, as the volume's user sees it."""
    extent_bytes: int

    @property
    def size_bytes(self) -> int:
        return self.extents * self.extent_bytes


def data_start(stripe_bytes: int | None) -> tuple[int, int]:
    """Where the first extent of a physical volume begins, and what it is aligned to (bytes).

    LVM's label and metadata take the first MiB; data that begins on a stripe of the device below is written faster.
    """
    align = stripe_bytes or MIB
    return -(-MIB // align) * align, align


def extents_of(size_bytes: int, stripe_bytes: int | None, extent: int) -> int:
    """Extents that a physical volume on a device of this size offers."""
    return max(0, size_bytes - data_start(stripe_bytes)[0]) // extent


def rows(free: Sequence[int], areas: int, allocation: str, *, images: bool = False) -> int:
    """How many extents each of `areas` parallel areas can have on devices with so many free extents.

    LVM takes the devices with the most room, uses them as far as the smallest of them goes, and takes the next ones. Of
    images no two may ever meet on one device: devices of different sizes are then used as far as the first row goes.
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


def metadata_extents(spec: LvmSpec) -> int:
    """Extents beside each image: superblock and bitmap of dm-raid, or the log of an old mirror."""
    return 1 if spec.type in REDUNDANT and not (spec.type == "mirror" and spec.mirror_log == "core") else 0


def checksum_extents(image: int, extent: int) -> int:
    """Extents that LVM takes for the checksums and journal of an image, at most (lib/metadata/integrity_manip.c)."""
    return -(-(image * extent // _CHECKED_BYTES + 1) * 4 * MIB // extent) + -(-_JOURNAL_BYTES // extent)


def volume(spec: LvmSpec, free: Sequence[int], place: str, reserved: int = 0) -> Volume:
    """The volume on devices with so many free extents, of which `reserved` on each are for others.

    Raises ProblemError (`lvm-too-small`).
    """
    extent = extent_bytes(spec)
    shape = geometry(spec, len(free))
    room = [max(0, each - reserved) for each in free]
    image = rows(room, shape.areas, spec.allocation, images=spec.type in IMAGED) - metadata_extents(spec)
    if spec.integrity is not None:
        image -= checksum_extents(max(0, image), extent)
    most = image * shape.stripes
    if spec.size.bytes is not None:
        wanted = -(-spec.size.bytes // extent)
        wanted = -(-wanted // shape.stripes) * shape.stripes
    else:
        wanted = max(shape.stripes, spec.size.of(most) // shape.stripes * shape.stripes)
    if wanted < 1 or wanted > most:
        asked, room_text = size_texts(wanted * extent, max(0, most) * extent)
        text = f"there is room for {room_text}, not for {asked}: {max(0, most)} extents of {extent >> 10} KiB, not {wanted}"
        raise fail(TOO_SMALL, text, place=place, remedy="Bind larger disks, or ask for a smaller size.",
                   exit=Exit.USAGE)  # fmt: skip
    return Volume(wanted, extent)


def virtual_bytes(wanted: VirtualExtent, of_bytes: int, extent: int, place: str) -> int:
    """Of a volume that shows more or less than there is. Raises ProblemError (`lvm-extent-size`)."""
    found = whole_extents(wanted, of_bytes, extent)
    if found // extent > MOST_EXTENTS:
        text = f"{size_text(found)} are {found // extent} extents of {extent >> 10} KiB; LVM counts up to {MOST_EXTENTS}"
        raise fail(EXTENT_SIZE, text, place=place, remedy="Choose a larger extent_size, or ask for less.",
                   exit=Exit.USAGE)  # fmt: skip
    return found


def region_bytes(spec: LvmSpec, size_bytes: int) -> int | None:
    """What a bit of the bitmap stands for; None where there is none. Larger for a volume with too many regions.

    Raises ProblemError (`lvm-region-size`) where a size was asked for with which there would be too many.
    """
    if spec.type not in REDUNDANT:
        return None
    asked = spec.region_size
    region = asked.bytes if asked is not None else DEFAULT_REGION_BYTES
    while size_bytes > region * MOST_REGIONS:
        region *= 2
    if asked is not None and region != asked.bytes:
        text = f"{size_text(size_bytes)} have more than {MOST_REGIONS} regions of {asked.text}: a bitmap holds no more"
        raise fail(REGION_SIZE, text, place="lvm.region_size", remedy=f"At least {region >> 10}KiB.", exit=Exit.USAGE)
    return region


def stripes(spec: LvmSpec, on: Sequence[Part]) -> tuple[int | None, int | None]:
    """What lies in a row on one device, and data of one full stripe, as a filesystem above should know them.

    What does not stripe itself shows the stripes of what it stands on, where its extents begin on them. A pool shows none:
    what lies where in it is decided when it is written.
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
    """Device writes for one small random write: each copy, or data and parity; twice where checksums are journaled; and
    once more into a cache, which every written block passes on its way."""
    writes = float(geometry(spec, devices).copies + PARITY.get(spec.type, 0))
    if spec.integrity is not None and spec.integrity.mode == "journal":
        writes *= 2
    cached = spec.writecache is not None or (spec.cache is not None and spec.cache.mode != "passthrough")
    return writes + cached
