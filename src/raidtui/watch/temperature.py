"""Temperatures of disks, read beside the frames and not within them.

Reading one asks the disk itself (NVMe: a SMART log, SATA: by the drivetemp module), which takes a command slot from what
is being measured, and blocks for as long as a disk that hangs does. So it happens seldom, in a thread nothing waits for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

from raidtui.base.files import read_int


class Thermometer:
    """Reads the disks' sensors every `interval_s`; `news` hands each reading out once."""

    def __init__(self, devices: Iterable[str], *, interval_s: float = 30.0, sys_block: Path = Path("/sys/block")) -> None:
        """Devices without a sensor are left out."""
        self._sensors = {name: path for name in devices if (path := sensor(name, sys_block)) is not None}
        self._interval_s = interval_s
        self._news: dict[str, float] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def start(self) -> None:
        if self._sensors:
            threading.Thread(target=self._run, name="thermometer", daemon=True).start()

    def stop(self) -> None:
        """No more readings. Does not wait for one that a hanging disk holds up."""
        self._stopped.set()

    def read(self) -> None:
        """Read every sensor now."""
        for name, path in self._sensors.items():
            millidegrees = read_int(path)
            if millidegrees is not None:
                with self._lock:
                    self._news[name] = millidegrees / 1000

    def news(self) -> dict[str, float]:
        """Readings in °C since the last call, by device."""
        if not self._news:
            return {}
        with self._lock:
            news, self._news = self._news, {}
        return news

    def _run(self) -> None:
        while True:
            self.read()
            if self._stopped.wait(self._interval_s):
                return


def sensor(name: str, sys_block: Path = Path("/sys/block")) -> Path | None:
    """The file with a disk's main temperature in 1/1000 °C (kernel Documentation/hwmon/sysfs-interface.rst), or None."""
    device = sys_block / name / "device"
    # A SCSI disk's sensor is in a folder named hwmon, an NVMe controller's is not, and with multipath a namespace's
    # device is the subsystem with its controllers below.
    patterns = ("hwmon/hwmon*/temp1_input", "hwmon*/temp1_input", "nvme*/hwmon*/temp1_input")
    found = [path for pattern in patterns for path in sorted(device.glob(pattern))]
    return found[0] if found else None
