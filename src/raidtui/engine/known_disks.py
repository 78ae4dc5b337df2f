"""The newest look at all disks: shared by all who ask this engine, so that a preview at every keystroke costs none."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime
from typing import Final, NamedTuple

from raidtui.engine.run import runs
from raidtui.engine.server import server
from raidtui.model.disk import Disk

FRESH_S: Final = 5.0
"""A list that was made, or confirmed by a cheap look, so long ago is made anew while the old one is still given."""
STALE_S: Final = 60.0
"""One of so long ago is not given any more: who asks waits for a new one."""


class Look(NamedTuple):
    """All disks at one moment."""

    disks: tuple[Disk, ...]
    at: str
    """Begin of the scan by this server's clock (ISO 8601, UTC)."""
    began_s: float
    """The same by the monotonic clock."""
    cpu_s: float
    """CPU time of the look, with the tools that it ran."""
    number: int = 0
    """Number of the look in this engine, from 1 in the order in which they began."""

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.began_s


_turn = threading.Lock()
"""Held by who looks."""
_state = threading.Lock()
_begun = 0
"""Looks so far, the one under way included."""
_newest: Look | None = None
_confirmed_s = 0.0
_again = threading.Lock()
"""Held while a look in the background is under way."""


def look() -> Look:
    """Scan all disks now. Requests during a scan share the next one."""
    global _begun, _newest, _confirmed_s
    asked = _begun
    with _turn:
        if _newest is not None and _newest.number > asked:
            return _newest
        _begun += 1
        cpu_s, began_s, at = _cpu_s(), time.monotonic(), datetime.now(UTC).isoformat(timespec="milliseconds")
        found = server().scan(runs.held_disks())
        made = Look(found, at, began_s, _cpu_s() - cpu_s, _begun)
        with _state:
            _newest, _confirmed_s = made, began_s
        return made


def newest() -> Look | None:
    """Latest scan of any request."""
    return _newest


def confirm(seen: Look) -> None:
    """Note that nothing has changed since the last scan."""
    global _confirmed_s
    with _state:
        if seen is _newest:
            _confirmed_s = time.monotonic()


def recent() -> tuple[Disk, ...]:
    """Return all disks as last seen; a recent list is returned at once and renewed in the background."""
    with _state:
        seen, confirmed_s = _newest, _confirmed_s
    if seen is None or seen.age_s >= STALE_S:
        return look().disks
    if time.monotonic() - confirmed_s >= FRESH_S and _again.acquire(blocking=False):
        threading.Thread(target=_look_again, name="recent", daemon=True).start()
    return seen.disks


def _look_again() -> None:
    try:
        look()
    finally:
        _again.release()


def _cpu_s() -> float:
    """CPU time of this process and of all tools that it has run."""
    return sum(os.times()[:4])
