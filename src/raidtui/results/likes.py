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


def likes(names: Iterable[str]) -> dict[str, str]:
    """What each of several disks has in common with at least three others: model, serial or the row of its name."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if (match := _DISK.fullmatch(name)) is not None:
            groups.setdefault(match.group(1).strip(" _-").lower(), []).append(name)
        elif (serial := _SERIAL.fullmatch(name)) is not None:
            groups.setdefault(serial.group(1), []).append(name)
        elif (both := _MODEL_IN_BRACKETS.fullmatch(name)) is not None:
            before, inside, after = both.groups()
            # NVMe1 (PM9A3), or PM9A3 (0369), Physical: what several have in common is the model.
            groups.setdefault(f"{inside}{after}" if _DISK.fullmatch(before) else f"{before}{after}", []).append(name)
    return {name: like[:400] for like, group in groups.items() if len(group) >= AT_LEAST for name in group}
