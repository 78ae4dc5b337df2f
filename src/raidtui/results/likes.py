"""Which disks are of one kind, by nothing but their names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

AT_LEAST: Final = 4
"""So many names of one kind are a row of disks; fewer may be like each other by accident."""
_DISK: Final = re.compile(
    r"(?:/dev/)?((?:nvme|sd|ssd|hdd|disk|drive|osd|member)[\s_-]?)(?:\d+(?:n\d+)?|[a-z]{1,2}|#\d+)", re.IGNORECASE
)
_MODEL_IN_BRACKETS: Final = re.compile(r"(.+?)\s*\(([^()]+)\)(.*)")
_SERIAL: Final = re.compile(r"(?=.*\d)(?=.*[A-Z])([A-Z0-9]{5})[A-Z0-9-]{3,25}")
_LAYOUT: Final = re.compile(
    r"(?<![a-z])(?:raid|md\d*(?!\w)|mdadm|lvm|zfs|zpool|ext[234]|xfs|btrfs|f2fs|mirror|stripe|luks|dm[-_ ]|ceph|drbd|bcache"
    r"|vdo|jbod|pool|volume|chunk|vdev)",
    re.IGNORECASE,
)
"""What such a name has in brackets or behind a hyphen is an option, not the number of a disk."""
_NUMBER: Final = re.compile(
    r"(?:(?i:slot|bay|port|disk|drive|no\.?|nr\.?|s/?n:?|serial)\s*)?#?(?:[\d:.]+|(?=[A-Z\d-]*\d)[A-Z\d][A-Z\d:.-]{3,})"
)
_SIZE: Final = re.compile(r".*\d\s?[KMGT](?:i?B)?")


def likes(names: Iterable[str]) -> dict[str, str]:
    """What each of several disks has in common with at least three others: model, serial or the row of its name."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if like := _like(name):
            groups.setdefault(like, []).append(name)
    return {name: like[:400] for like, group in groups.items() if len(group) >= AT_LEAST for name in group}


def _like(name: str) -> str:
    """What a disk of this name has in common with others, as far as a name tells it."""
    if (match := _DISK.fullmatch(name)) is not None:
        return match.group(1).strip(" _-").lower()
    both = _MODEL_IN_BRACKETS.fullmatch(name)
    if both is not None and _DISK.fullmatch(both.group(1)):
        return f"{both.group(2)}{both.group(3)}"  # NVMe1 (PM9A3)
    if _LAYOUT.search(name) is not None:
        return ""
    if both is not None:  # PM9A3 (0369), Physical
        return f"{both.group(1)}{both.group(3)}" if _NUMBER.fullmatch(both.group(2)) else ""
    serial = _SERIAL.fullmatch(name) if _SIZE.fullmatch(name) is None else None
    return serial.group(1) if serial is not None else ""
