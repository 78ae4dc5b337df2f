"""Stripes and room of a filesystem, from what it stands on."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final, Literal, NamedTuple

from raidtui.model.problem import fail
from raidtui.model.units import size_text, size_texts
from raidtui.stack.fs.rules import TOO_SMALL
from raidtui.stack.fs.spec import COPIES, MIB, PARITY, FilesystemSpec, block_bytes, profile
from raidtui.stack.layer import Part

LEAST_BYTES: Final = {"xfs": 320 * MIB, "ext4": 64 * MIB, "btrfs": 256 * MIB, "f2fs": 256 * MIB}
"""Smallest device of each type that leaves room for files."""
_OWN_SHARE: Final = {"xfs": 0.03, "ext4": 0.09, "btrfs": 0.05, "f2fs": 0.12}
"""Largest share of a device for inode tables, reserves and room for cleaning, by type."""
_OWN_BYTES: Final = {"xfs": 160 * MIB, "ext4": 160 * MIB, "btrfs": 48 * MIB, "f2fs": 160 * MIB}
"""And beside that, on any device: log or journal."""

SMALL_BLOCK: Final = 4 << 10
_KINDS: Final[tuple[Literal["data", "metadata"], ...]] = ("data", "metadata")
_LARGE_BTRFS: Final = 50 << 30
"""Size from which btrfs allocates chunks of 1 GiB."""


class Stripes(NamedTuple):
    """Stripe geometry for mkfs, in bytes, with its source."""

    unit: int
    width: int
    source: str


def stripes(spec: FilesystemSpec, part: Part | None) -> Stripes | None:
    """None where it is told of none."""
    if spec.type not in ("xfs", "ext4") or spec.geometry == "none":
        return None
    if spec.stripe_unit is not None:
        width = spec.stripe_width.bytes if spec.stripe_width is not None else spec.stripe_unit.bytes
        return Stripes(spec.stripe_unit.bytes, width, "as given")
    if part is None or not part.chunk_bytes or not part.stripe_bytes:
        return None
    if part.chunk_bytes % block_bytes(spec) or part.stripe_bytes % part.chunk_bytes:
        return None
    return Stripes(part.chunk_bytes, part.stripe_bytes, f"chunk and stripe of {part.ref.partition(':')[0]} below")


def sector_bytes(spec: FilesystemSpec, parts: Sequence[Part]) -> int | None:
    """Return the unit of direct I/O; None if other sizes are buffered, as btrfs and f2fs do."""
    return max(part.logical_sector_bytes for part in parts) if spec.type in ("xfs", "ext4") else None


def buffered_under(spec: FilesystemSpec) -> float:
    """Return `Shape.buffered_under`. Source: ext4_should_use_dio, btrfs and f2fs alignment checks in the kernel's fs/."""
    if spec.type == "ext4" and spec.journal_mode == "journal":
        return inf
    return SMALL_BLOCK if spec.type in ("btrfs", "f2fs") else 0.0


def room_bytes(spec: FilesystemSpec, parts: Sequence[Part]) -> int:
    """Return the least room for files, before the filesystem exists. Raises ProblemError (`fs-too-small`)."""
    smallest = min(part.size_bytes for part in parts)
    if smallest < LEAST_BYTES[spec.type]:
        least, there = size_texts(LEAST_BYTES[spec.type], smallest)
        text = f"{spec.type} needs at least {least}, and there are {there}"
        raise fail(TOO_SMALL, text, place="filesystem.on", remedy="Bind larger disks.")
    share = _OWN_SHARE[spec.type]
    if spec.type == "xfs" and block_bytes(spec) < SMALL_BLOCK:
        share += 0.07  # what it keeps for its trees grows as blocks get smaller
    if spec.overprovision is not None:
        share = max(share, spec.overprovision / 100 + 0.05)
    sizes = [part.size_bytes for part in parts]
    usable = int(_data_bytes(spec, sizes) * (1 - share)) - _own_bytes(spec, sizes)
    if usable < 16 * MIB:
        raise fail(TOO_SMALL, f"{size_text(smallest)} leave no room for files", place="filesystem.on",
                   remedy="Bind larger disks.")  # fmt: skip
    return usable - usable % MIB


def blocks_factor(spec: FilesystemSpec) -> int:
    """Return the factor of the sizes of log and trees of xfs, which have a fixed number of blocks."""
    return max(1, block_bytes(spec) // SMALL_BLOCK) if spec.type == "xfs" else 1


def _own_bytes(spec: FilesystemSpec, sizes: Sequence[int]) -> int:
    """Return the fixed bytes on any device: log or journal, or the first chunks of metadata."""
    own = _OWN_BYTES[spec.type] * blocks_factor(spec)
    if spec.log_size is not None:
        return max(own, spec.log_size.bytes + 32 * MIB)
    if spec.type != "btrfs":
        return min(own + int(sizes[0] * 0.002), max(own, 2200 * MIB))
    chunk = min(int(sum(sizes) * 0.1), 1024 * MIB if sum(sizes) > _LARGE_BTRFS else 256 * MIB)
    copies = {what: COPIES.get(profile(spec, what, len(sizes)), 1) for what in _KINDS}
    return own + chunk * copies["metadata"] // copies["data"]


def _data_bytes(spec: FilesystemSpec, sizes: Sequence[int]) -> int:
    """Return the room that the profile leaves for data; every device contributes as much as the smallest."""
    if spec.type != "btrfs":
        return sizes[0]
    kind = profile(spec, "data", len(sizes))
    if kind == "single":
        return sum(sizes)
    whole = min(sizes) * len(sizes)
    if kind in PARITY:
        return whole * (len(sizes) - PARITY[kind]) // len(sizes)
    return whole // COPIES[kind]
