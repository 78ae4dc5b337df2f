"""The newest list of disks, shared by all requests of this engine, and the stream of lists that is kept true."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from raidtui import inventory
from raidtui.engine.run import runs
from raidtui.engine.server import server
from raidtui.inventory.waiting import pause_s
from raidtui.model.disk import Disk
from raidtui.model.protocol import DiskList

FRESH_S: Final = 5.0
"""Age in seconds (since the scan, or a cheap look that confirmed it) from which a list is renewed in the background."""
STALE_S: Final = 60.0
"""Age in seconds from which a list is not returned any more: the request waits for a new scan."""


class Look(NamedTuple):
    """All disks at one moment."""

    disks: tuple[Disk, ...]
    at: str
    """Begin of the scan by this server's clock (ISO 8601, UTC)."""
    began_s: float
    """Begin of the scan by the monotonic clock."""
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


AGAIN_S: Final = 30.0
"""Longest time between two scans in seconds, if nothing is known to have changed."""
LONGEST_S: Final = 60.0
"""Limit of that time where scans cost much CPU: a scan reads 17 MB from every free disk."""
AT_WORK_S: Final = 300.0
"""Time between two scans while a run measures, so that they hardly disturb it."""
_SHARE: Final = 0.005
"""Largest share of all CPUs that these looks may use."""
_BETWEEN_S: Final = 3.0
"""Pause between two scans on a server where something changes all the time, in seconds."""


def watch_disks(stopped: Callable[[], bool]) -> Iterator[DiskList]:
    """Yield the list now, again whenever a disk or its use changed, whenever another request scanned, and regularly."""
    watched = server().watch(runs.standing, runs.any_at_work)
    next(watched)
    shown, changed = look(), False
    ended_s, again_s = time.monotonic(), _again_s(shown)
    yield disk_list(shown, again_s)
    looked = True
    while True:
        changes, looked = watched.send(looked), False
        if stopped():
            return
        gone = {change.name for change in changes if change.action == "remove"}
        if any(disk.name in gone for disk in shown.disks):
            # That a disk is gone is known before the others have been looked at.
            shown = shown._replace(disks=tuple(disk for disk in shown.disks if disk.name not in gone))
            yield disk_list(shown, again_s)
        changed = changed or bool(changes)
        if not changed:
            confirm(shown)
        latest = newest() or shown
        if (changed and time.monotonic() - ended_s >= _BETWEEN_S) or latest.age_s >= again_s:
            latest, changed = look(), False
        if latest.number != shown.number:
            shown, looked = latest, True
            ended_s, again_s = time.monotonic(), _again_s(latest)
            yield disk_list(shown, again_s)


def disk_list(seen: Look, again_s: float = 0.0) -> DiskList:
    """A look as the protocol has it. `again_s` is when the next one follows, where one does."""
    age_s = round(seen.age_s, 1)
    return DiskList("raidtui.disks/1", server().host, inventory.boot_id(), seen.disks, seen.at, age_s, again_s)


def _again_s(seen: Look) -> float:
    return AT_WORK_S if runs.any_at_work() else min(LONGEST_S, pause_s(seen.cpu_s, _SHARE, AGAIN_S))
