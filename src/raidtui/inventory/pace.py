"""How often something may be done so that it takes no more than its share of the machine."""

from __future__ import annotations

import os
import time


class Pace:
    """Every `least_s` seconds, or less often where it costs more than `share` of all CPUs."""

    def __init__(self, least_s: float, share: float) -> None:
        self._least_s = least_s
        self._share = share
        self._due = 0.0

    @property
    def due(self) -> bool:
        return time.monotonic() >= self._due

    def done(self, cpu_s: float) -> None:
        """It was done just now, and took so much of a CPU."""
        self._due = time.monotonic() + pause_s(cpu_s, self._share, self._least_s)


def pause_s(cpu_s: float, share: float, least_s: float) -> float:
    """Seconds to wait after something that took `cpu_s` of a CPU."""
    return max(least_s, cpu_s / (share * (os.cpu_count() or 1)))
