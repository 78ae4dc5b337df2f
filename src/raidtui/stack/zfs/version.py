"""Which OpenZFS there is, and whether it is new enough.

2.3 is needed because `zpool status` gives JSON only from then on, and because it is the first that honours O_DIRECT on the
files of a dataset: an older one takes such reads from the ARC, and the numbers are those of memory.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from raidtui.base.files import read_text
from raidtui.base.text import clean
from raidtui.model.problem import Exit, fail
from raidtui.stack.zfs import pool

OLDEST: Final = (2, 3)
MODULE_VERSION: Final = Path("/sys/module/zfs/version")


def module_version() -> str | None:
    """Of the module that is loaded (`2.3.9-0+deb13u1`); None where none is."""
    text = read_text(MODULE_VERSION)
    return clean(text, 80) if text else None


def tools_version() -> str | None:
    """Of `zpool` and `zfs`; asking for it loads the module."""
    said = pool.call(("zpool", "version"), check=False).text
    match = re.search(r"^zfs-(\d\S*)$", said, re.MULTILINE)
    return clean(match.group(1), 80) if match else None


def insist_new_enough(found: str | None) -> None:
    """Raise ProblemError (`zfs-too-old`) for a version that is known, and too old."""
    match = re.match(r"(\d+)\.(\d+)", found or "")
    if match and (int(match[1]), int(match[2])) < OLDEST:
        raise fail("zfs-too-old", f"this is OpenZFS {found}, and raidtui needs 2.3 or newer", place="zpool",
                   remedy="Debian 13 and Ubuntu 25.04 have it; on Debian 12: apt install -t bookworm-backports "
                          "zfsutils-linux zfs-dkms", exit=Exit.REFUSED)  # fmt: skip
