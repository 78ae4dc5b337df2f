"""Stripes, room and limits of a filesystem, from what it stands on and the kernel."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from math import inf
from typing import Final, Literal, NamedTuple

from raidtui.base.text import clean
from raidtui.model.problem import fail
from raidtui.model.units import size_text, size_texts
from raidtui.stack.fs.rules import BLOCK, GROUPS, LOG, STRIPE, TOO_LARGE, TOO_SMALL
from raidtui.stack.fs.spec import COPIES, KIB, MIB, PARITY, FilesystemSpec
from raidtui.stack.layer import Part

LEAST_BYTES: Final = {"xfs": 320 * MIB, "ext4": 64 * MIB, "btrfs": 256 * MIB, "f2fs": 256 * MIB}
"""Smallest device of each type that leaves room for files."""
_OWN_SHARE: Final = {"xfs": 0.03, "ext4": 0.09, "btrfs": 0.05, "f2fs": 0.12}
"""Largest share of a device for inode tables, reserves and room for cleaning, by type."""
_OWN_BYTES: Final = {"xfs": 160 * MIB, "ext4": 160 * MIB, "btrfs": 48 * MIB, "f2fs": 160 * MIB}
"""And beside that, on any device: log or journal."""
SMALL_BLOCK: Final = 4 * KIB
_KINDS: Final[tuple[Literal["data", "metadata"], ...]] = ("data", "metadata")
_LARGE_BTRFS: Final = 50 << 30
"""Size from which btrfs allocates chunks of 1 GiB."""
LEAST_LOG: Final = 64 * MIB
"""xfs: what mkfs.xfs gives a log at least."""
LARGEST_GROUP: Final = 1 << 40
LARGEST_F2FS: Final = 16 << 40
LARGEST_WIDTH: Final = (1 << 31) - 1
"""xfs: the width is an `int` in mkfs.xfs."""
MOST_STRIDE: Final = (1 << 16) - 1
"""ext4: `s_raid_stride`, in blocks."""
_GROUP_OWN_BYTES: Final = 1 * MIB
"""xfs: of an allocation group, more than its headers and the roots of its trees."""
_JOURNAL_BLOCKS: Final = 10_240_000
"""ext4: the most that a journal has."""
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
FIRST_WITH_LARGE_BLOCKS: Final = (6, 12)
"""The first Linux that mounts blocks of xfs larger than a page."""


class Stripes(NamedTuple):
    """Stripe geometry for mkfs, in bytes, with its source."""

    unit: int
    width: int
    source: str


def stripes(spec: FilesystemSpec, part: Part) -> Stripes | None:
    """Return the stripes that mkfs is told of; None for none."""
    if spec.type not in ("xfs", "ext4") or spec.geometry == "none":
        return None
    if spec.stripe_unit is not None:
        return Stripes(spec.stripe_unit.bytes, (spec.stripe_width or spec.stripe_unit).bytes, "as given")
    if not part.chunk_bytes or not part.stripe_bytes:
        return None
    if part.chunk_bytes % spec.block_bytes or part.stripe_bytes % part.chunk_bytes:
        return None
    return Stripes(part.chunk_bytes, part.stripe_bytes, f"chunk and stripe of {part.ref.partition(':')[0]} below")


def buffered_under(spec: FilesystemSpec) -> float:
    """Return `Shape.buffered_under`. Source: ext4_should_use_dio, btrfs and f2fs alignment checks in the kernel's fs/."""
    if spec.type == "ext4" and spec.journal_mode == "journal":
        return inf
    return SMALL_BLOCK if spec.type in ("btrfs", "f2fs") else 0.0


def room_bytes(spec: FilesystemSpec, parts: Sequence[Part]) -> int:
    """Return the estimated least room for files, before the filesystem exists. Raises ProblemError (`fs-too-small`)."""
    sizes = [part.size_bytes for part in parts]
    if min(sizes) < LEAST_BYTES[spec.type]:
        least, there = size_texts(LEAST_BYTES[spec.type], min(sizes))
        text = f"{spec.type} needs at least {least}, and there are {there}"
        raise fail(TOO_SMALL, text, place="filesystem.on", remedy="Bind larger disks.")
    share = _OWN_SHARE[spec.type]
    if spec.type == "xfs" and spec.block_bytes < SMALL_BLOCK:
        share += 0.07  # what it keeps for its trees grows as blocks get smaller
    if spec.overprovision is not None:
        share = max(share, spec.overprovision / 100 + 0.05)
    usable = int(_data_bytes(spec, sizes) * (1 - share)) - _own_bytes(spec, sizes)
    if usable < 16 * MIB:
        text = f"{size_text(min(sizes))} leave no room for files"
        raise fail(TOO_SMALL, text, place="filesystem.on", remedy="Bind larger disks.")
    return usable - usable % MIB


def _blocks_factor(spec: FilesystemSpec) -> int:
    """Return the factor of the sizes of log and trees of xfs, which have a fixed number of blocks."""
    return max(1, spec.block_bytes // SMALL_BLOCK) if spec.type == "xfs" else 1


def _own_bytes(spec: FilesystemSpec, sizes: Sequence[int]) -> int:
    """Return the fixed bytes on any device: log or journal, or the first chunks of metadata."""
    own = _OWN_BYTES[spec.type] * _blocks_factor(spec)
    if spec.log_size is not None:
        return max(own, spec.log_size.bytes + 32 * MIB)
    if spec.type != "btrfs":
        return min(own + int(sizes[0] * 0.002), max(own, 2200 * MIB))
    chunk = min(int(sum(sizes) * 0.1), 1024 * MIB if sum(sizes) > _LARGE_BTRFS else 256 * MIB)
    copies = {what: COPIES.get(spec.profile(what, len(sizes)), 1) for what in _KINDS}
    return own + chunk * copies["metadata"] // copies["data"]


def _data_bytes(spec: FilesystemSpec, sizes: Sequence[int]) -> int:
    """Return the room that the profile leaves for data; every device contributes as much as the smallest."""
    if spec.type != "btrfs":
        return sizes[0]
    kind = spec.profile("data", len(sizes))
    if kind == "single":
        return sum(sizes)
    whole = min(sizes) * len(sizes)
    if kind in PARITY:
        return whole * (len(sizes) - PARITY[kind]) // len(sizes)
    return whole // COPIES[kind]


def refuse(spec: FilesystemSpec, parts: Sequence[Part], found: Stripes | None) -> None:
    """Raises ProblemError (`fs-block`, `fs-log`, `fs-groups`, `fs-stripe`, `fs-too-small`, `fs-too-large`)."""
    sector, size, block = max(part.logical_sector_bytes for part in parts), parts[0].size_bytes, spec.block_bytes
    if spec.type in ("xfs", "ext4") and block < sector:
        text = f"blocks of {block} bytes on a device with sectors of {sector} bytes"
        raise fail(BLOCK, text, place="filesystem.block_size", remedy="Leave block_size out.")
    if spec.type == "xfs":
        refuse_large_blocks(block)
        _refuse_groups(spec, size, found)
    elif spec.type == "f2fs" and size > LARGEST_F2FS:
        text = f"f2fs is at most {size_text(LARGEST_F2FS)}, and there are {size_text(size)}"
        raise fail(TOO_LARGE, text, place="filesystem.on", remedy="Give it a smaller volume, or use xfs.")
    if found is not None:
        _refuse_stripes(spec, found)
    if spec.type == "ext4" and spec.log_size is not None:
        # mke2fs takes half of what is left beside the tables.
        most = min(size // 2 - size // 64, _JOURNAL_BLOCKS * block)
        if spec.log_size.bytes > most:
            text = f"a journal of {spec.log_size.text} is more than the {size_text(most)} that ext4 can have here"
            raise fail(LOG, text, place="filesystem.log_size", remedy="Leave log_size out.")


def _refuse_stripes(spec: FilesystemSpec, found: Stripes) -> None:
    """mkfs.xfs keeps the width, ext4 the unit, in too few bits for more: mke2fs cuts it off without a word."""
    largest_unit = MOST_STRIDE * spec.block_bytes
    if spec.type == "xfs" and found.width > LARGEST_WIDTH:
        what, size, option = "a stripe", found.width, "stripe_width"
        most = f"{size_text(LARGEST_WIDTH + 1)} and more are too large for xfs"
    elif spec.type == "ext4" and found.unit > largest_unit:
        what, size, option = "a chunk", found.unit, "stripe_unit"
        most = f"ext4 takes at most {size_text(largest_unit)}"
    else:
        return
    text, remedy = f"{what} of {size_text(size)} ({found.source}): {most}", "Use a smaller one."
    if spec.stripe_unit is None:
        option, remedy = "geometry", 'Set "geometry": "none", or use smaller chunks below.'
    raise fail(STRIPE, text, place=f"filesystem.{option}", remedy=remedy)


def _refuse_groups(spec: FilesystemSpec, size: int, found: Stripes | None) -> None:
    """The log lies within one allocation group."""
    groups = spec.allocation_groups or default_groups(size, striped=found is not None)
    each, factor, log = size // groups, _blocks_factor(spec), spec.log_size
    least, room = LEAST_LOG * factor, each - _GROUP_OWN_BYTES * factor - (found.width if found is not None else 0)
    if spec.allocation_groups is None and room < least:
        text = f"xfs makes {groups} allocation groups of {size_text(each)} here, and its log does not fit into one"
        remedy = 'Bind larger disks, or set "geometry": "none".'
        raise fail(TOO_SMALL, text, place="filesystem.on", remedy=remedy)
    if spec.allocation_groups is not None and not least <= room < LARGEST_GROUP:
        text = (
            f"{groups} allocation groups have {size_text(each)} each; a group is at most 1 TiB, and one of them holds "
            f"the log, of {size_text(least)} at least"
        )
        raise fail(GROUPS, text, place="filesystem.allocation_groups", remedy="Leave allocation_groups out.")
    if log is not None and log.bytes < least:
        text = f"a log of {log.text} may be too small for blocks of {size_text(spec.block_bytes)}"
        raise fail(LOG, text, place="filesystem.log_size", remedy=f"Leave it out, or use {least >> 20}MiB.")
    if log is not None and log.bytes > room:
        text = f"a log of {log.text} does not fit into one of {groups} allocation groups of {size_text(each)}"
        raise fail(LOG, text, place="filesystem.log_size", remedy="Leave log_size out, or have fewer groups.")


def default_groups(size: int, *, striped: bool) -> int:
    """Allocation groups that mkfs.xfs makes where it is not told: more where several devices work side by side."""
    usual = 4 if not striped else 8 if size <= 8 << 30 else 16 if size <= 512 << 30 else 32
    return max(usual, -(-size // LARGEST_GROUP))


def release() -> str:
    """Return the release of the running kernel: `6.12.0-1-amd64`."""
    return os.uname().release


def refuse_large_blocks(block: int) -> None:
    """Raises ProblemError (`fs-block`) where this kernel cannot mount blocks of so many bytes."""
    found = re.match(r"(\d+)\.(\d+)", release())
    if block <= PAGE_BYTES or found is None or (int(found[1]), int(found[2])) >= FIRST_WITH_LARGE_BLOCKS:
        return
    text = (
        f"blocks of {size_text(block)} are larger than a page of {size_text(PAGE_BYTES)}: Linux mounts them from 6.12 on, "
        f"and this is {clean(release(), 60)}"
    )
    raise fail(BLOCK, text, place="filesystem.block_size", remedy="Write 4KiB, or leave block_size out.")
