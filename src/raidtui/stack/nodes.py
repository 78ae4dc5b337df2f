"""Block devices by kernel name: their numbers and users."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from raidtui.base.files import read_text
from raidtui.inventory.mounts import read_own_mounts
from raidtui.inventory.openers import read_openers

_SYS_BLOCK: Final = Path("/sys/class/block")


def users_of(node: str) -> list[str]:
    """Return the users of a block device as sentences: mounts, devices above, processes."""
    number = devno(node)
    users = [f"{mount.point} is mounted from it" for mount in read_own_mounts() if mount.devno == number]
    holders = _SYS_BLOCK / node / "holders"
    users += [f"{path.name} is built on it" for path in (sorted(holders.iterdir()) if holders.is_dir() else ())]
    openers = read_openers().get(number, ()) if number is not None else ()
    return users + [f"pid {opener.pid} ({opener.command}) has it open" for opener in openers]


def is_suspended(node: str) -> bool:
    """Return True if device-mapper has suspended the device or one below: a reader would wait and keep it open."""
    if read_text(_SYS_BLOCK / node / "dm/suspended") == "1":
        return True
    below = _SYS_BLOCK / node / "slaves"
    return any(is_suspended(path.name) for path in (below.iterdir() if below.is_dir() else ()))


def devno(node: str) -> int | None:
    """Return the device number of a block device."""
    text = read_text(_SYS_BLOCK / node / "dev") or ""
    return os.makedev(*map(int, text.split(":"))) if re.fullmatch(r"\d+:\d+", text) else None
