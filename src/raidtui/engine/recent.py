"""The disks as they were a moment ago: a preview at every keystroke must not look at every disk again."""

from __future__ import annotations

import threading
import time
from typing import Final

from raidtui import inventory
from raidtui.engine import runs
from raidtui.model.disk import Disk

FRESH_S: Final = 5.0
STALE_S: Final = 60.0

_lock = threading.Lock()
_seen: tuple[float, tuple[Disk, ...]] | None = None
_looking = threading.Lock()


def look() -> tuple[Disk, ...]:
    """Every disk, now."""
    found = inventory.scan(held=runs.held_disks())
    global _seen
    with _lock:
        _seen = time.monotonic(), found
    return found


def recent() -> tuple[Disk, ...]:
    """Every disk as last seen: at once where that is not long ago, and then looked at again in the background."""
    with _lock:
        seen = _seen
    age_s = STALE_S if seen is None else time.monotonic() - seen[0]
    if seen is None or age_s >= STALE_S:
        return look()
    if age_s >= FRESH_S and _looking.acquire(blocking=False):
        threading.Thread(target=_look_again, name="recent", daemon=True).start()
    return seen[1]


def _look_again() -> None:
    try:
        look()
    finally:
        _looking.release()
