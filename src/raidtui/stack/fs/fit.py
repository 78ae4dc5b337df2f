"""Limits of sizes and blocks that depend on the devices and the kernel."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final

from raidtui.base.text import clean
from raidtui.model.problem import Exit, fail
from raidtui.model.units import size_text
from raidtui.stack.fs.geometry import Stripes, blocks_factor
from raidtui.stack.fs.rules import BLOCK, GROUPS, LOG, STRIPE, TOO_LARGE, TOO_SMALL
from raidtui.stack.fs.spec import MIB, FilesystemSpec, block_bytes
from raidtui.stack.layer import Part

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


def refuse(spec: FilesystemSpec, parts: Sequence[Part], stripes: Stripes | None) -> None:
    """Raises ProblemError (`fs-block`, `fs-log`, `fs-groups`, `fs-stripe`, `fs-too-small`, `fs-too-large`)."""
    sector, size = max(part.logical_sector_bytes for part in parts), parts[0].size_bytes
    if spec.type in ("xfs", "ext4") and block_bytes(spec) < sector:
        raise fail(BLOCK, f"blocks of {block_bytes(spec)} bytes on a device with sectors of {sector} bytes",
                   place="filesystem.block_size", remedy="Leave block_size out.", exit=Exit.USAGE)  # fmt: skip
    if spec.type == "xfs":
        refuse_large_blocks(block_bytes(spec))
        _refuse_groups(spec, size, stripes)
    elif spec.type == "f2fs" and size > LARGEST_F2FS:
        raise fail(TOO_LARGE, f"f2fs is at most {size_text(LARGEST_F2FS)}, and there are {size_text(size)}",
                   place="filesystem.on", remedy="Give it a smaller volume, or use xfs.", exit=Exit.USAGE)  # fmt: skip
    if stripes is not None:
        _refuse_stripes(spec, stripes)
    if spec.type == "ext4" and spec.log_size is not None:
        # mke2fs takes half of what is left beside the tables.
        most = min(size // 2 - size // 64, _JOURNAL_BLOCKS * block_bytes(spec))
        if spec.log_size.bytes > most:
            text = f"a journal of {spec.log_size.text} is more than the {size_text(most)} that ext4 can have here"
            raise fail(LOG, text, place="filesystem.log_size", remedy="Leave log_size out.", exit=Exit.USAGE)


def _refuse_stripes(spec: FilesystemSpec, stripes: Stripes) -> None:
    """mkfs.xfs keeps the width, ext4 the unit, in too few bits for more: mke2fs cuts it off without a word."""
    if spec.type == "xfs" and stripes.width > LARGEST_WIDTH:
        what, size, most = "a stripe", stripes.width, f"{size_text(LARGEST_WIDTH + 1)} and more are too large for xfs"
    elif spec.type == "ext4" and stripes.unit > (largest := MOST_STRIDE * block_bytes(spec)):
        what, size, most = "a chunk", stripes.unit, f"ext4 takes at most {size_text(largest)}"
    else:
        return
    option, remedy = "geometry", 'Set "geometry": "none", or use smaller chunks below.'
    if spec.stripe_unit is not None:
        option, remedy = "stripe_width" if what == "a stripe" else "stripe_unit", "Use a smaller one."
    raise fail(STRIPE, f"{what} of {size_text(size)} ({stripes.source}): {most}", place=f"filesystem.{option}",
               remedy=remedy, exit=Exit.USAGE)  # fmt: skip


def _refuse_groups(spec: FilesystemSpec, size: int, stripes: Stripes | None) -> None:
    """The log lies within one allocation group."""
    groups = spec.allocation_groups or default_groups(size, striped=stripes is not None)
    each = size // groups
    least = LEAST_LOG * blocks_factor(spec)
    room = each - _GROUP_OWN_BYTES * blocks_factor(spec) - (stripes.width if stripes is not None else 0)
    if spec.allocation_groups is None and room < least:
        text = f"xfs makes {groups} allocation groups of {size_text(each)} here, and its log does not fit into one"
        raise fail(TOO_SMALL, text, place="filesystem.on", exit=Exit.USAGE,
                   remedy='Bind larger disks, or set "geometry": "none".')  # fmt: skip
    if spec.allocation_groups is not None and not least <= room < LARGEST_GROUP:
        text = (
            f"{groups} allocation groups have {size_text(each)} each; a group is at most 1 TiB, and one of them holds "
            f"the log, of {size_text(least)} at least"
        )
        raise fail(GROUPS, text, place="filesystem.allocation_groups", remedy="Leave allocation_groups out.",
                   exit=Exit.USAGE)  # fmt: skip
    if spec.log_size is not None and spec.log_size.bytes < least:
        text = f"a log of {spec.log_size.text} may be too small for blocks of {size_text(block_bytes(spec))}"
        raise fail(LOG, text, place="filesystem.log_size", remedy=f"Leave it out, or use {least >> 20}MiB.",
                   exit=Exit.USAGE)  # fmt: skip
    if spec.log_size is not None and spec.log_size.bytes > room:
        text = f"a log of {spec.log_size.text} does not fit into one of {groups} allocation groups of {size_text(each)}"
        raise fail(LOG, text, place="filesystem.log_size", remedy="Leave log_size out, or have fewer groups.",
                   exit=Exit.USAGE)  # fmt: skip


def default_groups(size: int, *, striped: bool) -> int:
    """Allocation groups that mkfs.xfs makes where it is not told: more where several devices work side by side."""
    if not striped:
        return max(4, -(-size // LARGEST_GROUP))
    return max(8 if size <= 8 << 30 else 16 if size <= 512 << 30 else 32, -(-size // LARGEST_GROUP))


PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
FIRST: Final = (6, 12)
"""The Linux that mounts them."""


def release() -> str:
    """Return the release of the running kernel: `6.12.0-1-amd64`."""
    return os.uname().release


def refuse_large_blocks(block: int) -> None:
    """Raises ProblemError (`fs-block`) where this kernel cannot mount blocks of so many bytes."""
    found = re.match(r"(\d+)\.(\d+)", release())
    if block <= PAGE_BYTES or found is None or (int(found[1]), int(found[2])) >= FIRST:
        return
    text = (
        f"blocks of {size_text(block)} are larger than a page of {size_text(PAGE_BYTES)}: Linux mounts them from "
        f"{FIRST[0]}.{FIRST[1]} on, and this is {clean(release(), 60)}"
    )
    raise fail(BLOCK, text, place="filesystem.block_size", remedy="Write 4KiB, or leave block_size out.",
               exit=Exit.USAGE)  # fmt: skip
