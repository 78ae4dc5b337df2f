"""How large a volume will be, to the extent, before it exists: LVM's own arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from raidtui.model.problem import Exit, fail
from raidtui.stack.lvm.spec import (
    DEFAULT_REGION_BYTES,
    MIB,
    PARITY,
    REDUNDANT,
    LvmSpec,
    extent_bytes,
    geometry,
)

MOST_REGIONS: Final = 1 << 21
"""Bits that a bitmap of dm-raid has room for."""


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


def rows(free: Sequence[int], areas: int, allocation: str) -> int:
    """How many extents each of `areas` parallel areas can have on devices with so many free extents.

    LVM takes the devices with the most room, uses them as far as the smallest of them goes, and takes the next ones.
    """
    left = sorted(free, reverse=True)
    if allocation in ("contiguous", "cling"):
        return left[areas - 1] if len(left) >= areas else 0
    total = 0
    while len(left) >= areas and (step := left[areas - 1]) > 0:
        total += step
        left = sorted([*(room - step for room in left[:areas]), *left[areas:]], reverse=True)
    return total


def metadata_extents(spec: LvmSpec) -> int:
    """Extents beside each image: superblock and bitmap of dm-raid."""
    return 1 if spec.type in REDUNDANT and spec.type != "mirror" else 0


def volume(spec: LvmSpec, free: Sequence[int], place: str) -> Volume:
    """The volume on devices with so many free extents. Raises ProblemError (`lvm-too-small`)."""
    extent = extent_bytes(spec)
    shape = geometry(spec, len(free))
    most = (rows(free, shape.areas, spec.allocation) - metadata_extents(spec)) * shape.stripes
    if spec.size.bytes is not None:
        wanted = -(-spec.size.bytes // extent)
        wanted = -(-wanted // shape.stripes) * shape.stripes
    else:
        wanted = max(shape.stripes, spec.size.of(most) // shape.stripes * shape.stripes)
    if wanted < 1 or wanted > most:
        raise fail("lvm-too-small", f"there is room for {max(0, most)} extents of {extent >> 10} KiB, not for {wanted}",
                   place=place, remedy="Bind larger disks, or ask for a smaller size.", exit=Exit.USAGE)  # fmt: skip
    return Volume(wanted, extent)


def region_bytes(spec: LvmSpec, size_bytes: int) -> int | None:
    """What a bit of the bitmap stands for; None where there is none. Larger for a volume with too many regions."""
    if spec.type not in REDUNDANT:
        return None
    region = spec.region_size.bytes if spec.region_size is not None else DEFAULT_REGION_BYTES
    while size_bytes > region * MOST_REGIONS:
        region *= 2
    return region


def stripe_bytes(spec: LvmSpec, devices: int, stripe: int | None) -> int | None:
    """Data in one full stripe; None where it does not stripe."""
    return stripe * geometry(spec, devices).stripes if stripe else None


def write_penalty(spec: LvmSpec, devices: int) -> float:
    """Device writes for one small random write: each copy, or data and parity."""
    return float(geometry(spec, devices).copies + PARITY.get(spec.type, 0))
