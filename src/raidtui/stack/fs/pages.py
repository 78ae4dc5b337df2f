"""Blocks that are larger than a page: xfs mounts them from Linux 6.12 on (fs/xfs/xfs_super.c, xfs_fs_fill_super)."""

from __future__ import annotations

import os
import re
from typing import Final

from raidtui.base.text import clean
from raidtui.model.problem import Exit, fail
from raidtui.model.units import size_text

PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
FIRST: Final = (6, 12)
"""The Linux that mounts them."""


def release() -> str:
    """Of the running kernel: `6.12.0-1-amd64`."""
    return os.uname().release


def refuse(block: int) -> None:
    """Raises ProblemError (`fs-block`) where this kernel cannot mount blocks of so many bytes."""
    found = re.match(r"(\d+)\.(\d+)", release())
    if block <= PAGE_BYTES or found is None or (int(found[1]), int(found[2])) >= FIRST:
        return
    text = (
        f"blocks of {size_text(block)} are larger than a page of {size_text(PAGE_BYTES)}: Linux mounts them from "
        f"{FIRST[0]}.{FIRST[1]} on, and this is {clean(release(), 60)}"
    )
    raise fail("fs-block", text, place="filesystem.block_size", remedy="Write 4KiB, or leave block_size out.",
               exit=Exit.USAGE)  # fmt: skip
