"""Hot-plug: disks that come, go or change, as udev tells it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

import pyudev

from raidtui.base.text import clean

QUIET_S = 0.3
"""A disk that appears sends several events; they are told once it has been quiet for so long."""
LONGEST_S = 3.0
"""… but not later than this, however noisy it is."""


class Change(NamedTuple):
    """What happened to one disk."""

    action: str
    """`add`, `remove` or `change`."""
    name: str


def watch(*, tick_s: float = 1.0) -> Iterator[tuple[Change, ...]]:
    """Changes of whole disks, several at a time, each disk's last action only.

    Yields an empty tuple after `tick_s` without any, so that the caller can do other things or stop. Raises OSError where
    udev's events cannot be listened to.
    """
    monitor = pyudev.Monitor.from_netlink(pyudev.Context(), source="udev" if _udevd_runs() else "kernel")
    monitor.filter_by("block", "disk")
    monitor.start()
    gathered: dict[str, Change] = {}
    first = 0.0
    while True:
        change = _next(monitor, QUIET_S if gathered else tick_s)
        if change is not None:
            first = first if gathered else time.monotonic()
            gathered[change.name] = change
            if time.monotonic() - first < LONGEST_S:
                continue
        yield tuple(gathered.values())
        gathered.clear()


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
