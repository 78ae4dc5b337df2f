"""The list of disks as a stream: a look whenever something changed, and one every so often anyway."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from raidtui import inventory
from raidtui.engine import known_disks as recent
from raidtui.engine.known_disks import Look
from raidtui.engine.run import runs
from raidtui.engine.server import server
from raidtui.inventory.waiting import pause_s
from raidtui.model.protocol import DiskList

AGAIN_S: Final = 30.0
"""After so long the disks are looked at again though nothing is known to have changed."""
LONGEST_S: Final = 60.0
"""… or after up to so long where that costs much: a look reads 17 MB from every free disk."""
AT_WORK_S: Final = 300.0
"""… and while a run measures, which a look must not disturb."""
_SHARE: Final = 0.005
"""Largest share of all CPUs that these looks may use."""
_BETWEEN_S: Final = 3.0
"""Pause between two scans on a server where something changes all the time, in seconds."""


def watch_disks(stopped: Callable[[], bool]) -> Iterator[DiskList]:
    """Yield the list now, again whenever a disk or its use changed, whenever another request scanned, and regularly."""
    watched = server().watch(runs.standing, runs.any_at_work)
    next(watched)
    shown, changed = recent.look(), False
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
            recent.confirm(shown)
        newest = recent.newest() or shown
        if (changed and time.monotonic() - ended_s >= _BETWEEN_S) or newest.age_s >= again_s:
            newest, changed = recent.look(), False
        if newest.number != shown.number:
            shown, looked = newest, True
            ended_s, again_s = time.monotonic(), _again_s(newest)
            yield disk_list(shown, again_s)


def disk_list(seen: Look, again_s: float = 0.0) -> DiskList:
    """A look as the protocol has it. `again_s` is when the next one follows, where one does."""
    age_s = round(seen.age_s, 1)
    return DiskList("raidtui.disks/1", server().host, inventory.boot_id(), seen.disks, seen.at, age_s, again_s)


def _again_s(seen: Look) -> float:
    return AT_WORK_S if runs.any_at_work() else min(LONGEST_S, pause_s(seen.cpu_s, _SHARE, AGAIN_S))
