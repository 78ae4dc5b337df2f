"""Temperatures of disks, read beside the frames and not within them.

Reading one asks the disk itself (NVMe: a SMART log, SATA: by the drivetemp module), which takes a command slot from what
is being measured, and blocks for as long as a disk that hangs does. So it happens seldom, in a thread that is not waited
for long.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.files import read_int
from raidtui.inventory import ioctl
from raidtui.inventory.hardware import read_celsius, temperature_sensors

PATIENCE_S: Final = 2.0


class Heat(NamedTuple):
    """Temperature data reported by a disk. None: not reported."""

    limit_c: float | None = None
    """Temperature from which the disk warns, and may slow down to cool: `temp1_max` of the kernel's hwmon, WCTEMP of NVMe.
    """
    too_hot: bool | None = None
    """True if a temperature is beyond its limits now: the critical warning of an NVMe SMART log."""
    slowed_s: int | None = None
    """Seconds in which it slowed itself down to cool, in its life: counters of an NVMe SMART log."""
    over_minutes: int | None = None
    """Minutes in which it was at or above its warning threshold, in its life: counters of an NVMe SMART log."""


class Thermometer:
    """Reads the disks' sensors every `interval_s`; `news` hands each reading out once."""

    def __init__(
        self, devices: Iterable[str], *, interval_s: float = 30.0, sys_block: Path = Path("/sys/block"),
        dev: Path = Path("/dev"),
    ) -> None:  # fmt: skip
        """Devices without a sensor are left out."""
        names = tuple(devices)
        sensors = {name: next(temperature_sensors(sys_block / name), None) for name in names}
        self._sensors = {name: path for name, path in sensors.items() if path is not None}
        self._nvme = [name for name in names if name.startswith("nvme")]
        self._dev = dev
        self._interval_s = interval_s
        self._news: dict[str, float] = {}
        self._heat: dict[str, Heat] = {}
        self._limits: dict[str, float] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._answer = threading.Condition(self._lock)
        self._asked = self._answered = 0
        self._thread: threading.Thread | None = None
        self._stopped = False

    def start(self) -> None:
        if self._sensors or self._nvme:
            self._thread = threading.Thread(target=self._run, name="thermometer", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """No more readings. Does not wait for one that a hanging disk holds up."""
        self._stopped = True
        self._wake.set()

    def read(self) -> None:
        """Read every sensor now."""
        for name, path in self._sensors.items():
            celsius = read_celsius(path)
            if celsius is not None:
                with self._lock:
                    self._news[name] = celsius
        for name in {*self._sensors, *self._nvme}:
            found = self._ask(name)
            with self._lock:
                before = self._heat.get(name, Heat()).limit_c
                if found.limit_c is not None and found.limit_c != before:
                    self._limits[name] = found.limit_c
                self._heat[name] = found

    def news(self) -> dict[str, float]:
        """Readings in °C since the last call, by device."""
        if not self._news:
            return {}
        with self._lock:
            news, self._news = self._news, {}
        return news

    def new_limits(self) -> dict[str, float]:
        """Warning temperatures in °C that were not returned yet, by device."""
        if not self._limits:
            return {}
        with self._lock:
            limits, self._limits = self._limits, {}
        return limits

    def heat(self, patience_s: float = PATIENCE_S) -> dict[str, Heat]:
        """Return the current reading of each disk; the previous one for a disk that does not answer within `patience_s`."""
        if self._thread is not None:
            with self._answer:
                self._asked += 1
                # Only a reading that began after the question answers it: one that was under way is older.
                question = self._asked
                self._wake.set()
                self._answer.wait_for(lambda: self._answered >= question, patience_s)
        with self._lock:
            return dict(self._heat)

    def _run(self) -> None:
        while not self._stopped:
            with self._lock:
                asked = self._asked
            self.read()
            with self._answer:
                self._answered = asked
                self._answer.notify_all()
            self._wake.wait(self._interval_s)
            self._wake.clear()

    def _ask(self, name: str) -> Heat:
        path = self._sensors.get(name)
        limit = read_int(path.with_name("temp1_max")) if path is not None else None
        found = Heat(limit / 1000 if limit else None)
        if name in self._nvme:
            with suppress(OSError):  # an emulated or old controller need not have a SMART log
                fd = os.open(self._dev / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
                try:
                    warning = ioctl.nvme_heat(fd)
                finally:
                    os.close(fd)
                found = Heat(found.limit_c, *warning) if warning is not None else found
        return found
