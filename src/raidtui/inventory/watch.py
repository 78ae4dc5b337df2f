"""Disks that come, go or change, as udev tells it, and who begins or ceases to use one, as cheap looks find it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from contextlib import nullcontext
from typing import NamedTuple

import pyudev

from raidtui.base.text import clean
from raidtui.inventory.glance import glance
from raidtui.inventory.openers import read_openers
from raidtui.inventory.others import is_root
from raidtui.inventory.pace import Pace
from raidtui.inventory.patience import bounded
from raidtui.inventory.turns import my_turn

QUIET_S = 0.3
"""A disk that appears sends several events; they are told once it has been quiet for so long."""
LONGEST_S = 3.0
"""… but not later than this, however noisy it is."""
_GLANCE_EVERY_S = 0.9
_OPENERS_EVERY_S = 5.0
_OPENERS_TIMEOUT_S = 10.0
"""A process may have a file of a dead server open, which never answers."""
_SHARE = 0.001
"""Largest share of all CPUs for each kind of cheap look; with very many processes or devices looks become rarer."""


class Change(NamedTuple):
    """A change of one disk, or of the users of disks."""

    action: str
    """`add`, `remove` or `change`; `use` where somebody began or ceased to use a disk."""
    name: str
    """The disk's; for `use` the kind of user: a field of `Glance`, `open files`, or `runs`."""


def watch(
    runs: Callable[[], object] = lambda: None, busy: Callable[[], bool] = lambda: False, *, tick_s: float = 1.0
) -> Generator[tuple[Change, ...], bool | None]:
    """Changes of whole disks and of their users, several at a time, each disk's last action only.

    The first, at once, is empty: what happens from then on is told. Yields an empty tuple after `tick_s` without any, so
    that the caller can do other things or stop. `runs` gives what differs whenever a run began or ended. While `busy`, open
    files are not looked at: a run opens and closes its disks with every cell. Who has scanned since the last changes sends
    True: users are looked at before anything else then, or what that scan saw would stay when it ended soon after. Raises
    OSError where udev's events cannot be listened to.
    """
    monitor = pyudev.Monitor.from_netlink(pyudev.Context(), source="udev" if _udevd_runs() else "kernel")
    monitor.filter_by("block", "disk")
    monitor.start()
    users = _Users(runs, busy)
    scanned = yield users.changes()
    gathered: dict[str, Change] = {}
    first = 0.0
    while True:
        if scanned and (found := users.changes(at_once=True)):
            scanned = yield found
            continue
        change = _next(monitor, QUIET_S if gathered else tick_s)
        if change is not None:
            first = first if gathered else time.monotonic()
            gathered[change.name] = change
            if time.monotonic() - first < LONGEST_S:
                scanned = False
                continue
        scanned = yield (*gathered.values(), *users.changes())
        gathered.clear()


class _Users:
    """The users of disks as they were seen last."""

    def __init__(self, runs: Callable[[], object], busy: Callable[[], bool]) -> None:
        self._sources: tuple[tuple[Pace, Callable[[], dict[str, object]]], ...] = (
            (Pace(_GLANCE_EVERY_S, _SHARE), lambda: {**glance()._asdict(), "runs": runs()}),
            (Pace(_OPENERS_EVERY_S, _SHARE), lambda: {} if busy() else {"open files": _openers()}),
        )
        self._seen: dict[str, object] = {}

    def changes(self, *, at_once: bool = False) -> tuple[Change, ...]:
        """Look at what is due, and say what changed since it was last looked at. `at_once`: whatever is cheap is due."""
        found: dict[str, object] = {}
        for number, (pace, look) in enumerate(self._sources):
            if pace.due or (at_once and number == 0):
                before_s = time.thread_time()
                found |= look()
                pace.done(time.thread_time() - before_s)
        changed = [name for name, now in found.items() if self._seen.get(name, now) != now]
        self._seen |= found
        return tuple(Change("use", name) for name in changed)


def _openers() -> object:
    """Who has which block device open, None where that cannot be seen. Not while somebody scans, who has them all open."""
    try:
        with my_turn() if is_root() else nullcontext():
            found = bounded(lambda: read_openers(patience_s=0.0), _OPENERS_TIMEOUT_S, "open files, watched")
    except OSError:  # a container without the right to trace; each scan says so of every disk
        return None
    return {devno: sorted(opener.pid for opener in openers) for devno, openers in found.items()}


def _next(monitor: pyudev.Monitor, timeout_s: float) -> Change | None:
    try:
        device = monitor.poll(timeout_s)
        if device is None:
            return None
        return Change(clean(device.action or "change"), clean(device.sys_name).replace("!", "/"))
    except UnicodeDecodeError:
        # Bytes from hardware in a property: something changed, and a new look will say what.
        return Change("change", "?")


def _udevd_runs() -> bool:
    return os.path.exists("/run/udev/control")  # noqa: PTH110
