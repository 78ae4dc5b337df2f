"""Waiting until udev has processed the events of certain devices, whatever happens to other ones.

`udevadm settle` waits for the events of the whole server, which never end on a busy one. udev processes the events of one
device in their order, so a synthetic event with a UUID of its own (Documentation/ABI/testing/sysfs-uevent) tells when all
that came before it has been processed.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

_SYS_BLOCK: Final = Path("/sys/class/block")
_CONTROL: Final = Path("/run/udev/control")
_TICK_S: Final = 0.2


def udevd_runs() -> bool:
    """Return True if systemd-udevd runs."""
    return _CONTROL.exists()


def wait_for_udev(names: Iterable[str], limit_s: float) -> bool:
    """Wait until udev has processed all events so far of these devices, by kernel name; return False after `limit_s`.

    Returns at once without udev, and for devices that are gone.
    """
    if not udevd_runs():
        return True
    import pyudev  # here: simulated servers run where it is not installed

    token = str(uuid.uuid4())
    monitor = pyudev.Monitor.from_netlink(pyudev.Context())
    monitor.filter_by("block")
    monitor.start()
    waited: set[str] = set()
    for name in names:
        with suppress(OSError):
            (_SYS_BLOCK / name / "uevent").write_text(f"change {token}\n")
            waited.add(name)
    until_s = time.monotonic() + limit_s
    while waited and time.monotonic() < until_s:
        device = monitor.poll(_TICK_S)
        # The properties of a device may be no text (pyudev raises then); ours is.
        with suppress(UnicodeDecodeError):
            if device is not None and device.properties.get("SYNTH_UUID") == token:
                waited.discard(device.sys_name)
        waited = {name for name in waited if (_SYS_BLOCK / name).exists()}
    return not waited
