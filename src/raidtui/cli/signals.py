"""Signals as facts to look at, so that none of them ends raidtui in the middle of a line."""

from __future__ import annotations

import signal
from types import FrameType


class Signals:
    """While entered: SIGINT is counted; SIGTERM and SIGHUP are remembered."""

    def __init__(self) -> None:
        self.interrupts = 0
        self.leave = 0
        """The signal that asks raidtui to go, or 0."""
        self._before: dict[int, object] = {}

    def __enter__(self) -> Signals:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]

    def _note(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT:
            self.interrupts += 1
        else:
            self.leave = number
