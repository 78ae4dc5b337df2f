"""Looks after the disks of a run once a second, and turns a signal into an event."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from raidtui.gate.permit import Permit
from raidtui.model.event import AnyEvent, CancelAsked, Noted
from raidtui.model.problem import Problem

_EVERY_S = 0.25
"""Longest delay until a signal is answered, in seconds."""
_LOOK_EVERY_S = 1.0
"""Interval between two looks at the disks, in seconds: each look costs time during a measurement."""
STOP_GRACE_S = 5.0
_GONE = ("disk-gone", "disk-changed", "disk-lost")


class Watchdog:
    """`stop_measuring` is set when a disk is lost, the run is cancelled, or its journal is full: a workload that goes on
    then is for nothing.
    """

    def __init__(
        self, permits: Mapping[str, Permit], cancel: threading.Event, emit: Callable[[AnyEvent], None],
        full: Callable[[], bool] = lambda: False
    ) -> None:  # fmt: skip
        self._permits = permits
        self._cancel = cancel
        self._emit = emit
        self._full = full
        self.stop_measuring = threading.Event()
        self.lost: list[str] = []
        """Ids of disks that went away, in the order in which they did."""
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(STOP_GRACE_S)

    def look(self) -> tuple[str, ...]:
        """Look at every disk now. Ids of those that are lost, in the order in which they were."""
        with self._lock:
            for disk, permit in self._permits.items():
                if disk not in self.lost and not permit.alive():
                    self.lost.append(disk)
                    self.stop_measuring.set()
                    self._emit(Noted(f"disk {disk} ({permit.disk.name}) was lost", "warning"))
            return tuple(self.lost)

    def is_of_lost(self, problem: Problem) -> bool:
        """Return True for a problem of a disk that is gone: it is no failure of what was to be done with it."""
        return problem.place in self._permits and (
            problem.code in _GONE or problem.place in self.lost or not self._permits[problem.place].alive()
        )

    def _run(self) -> None:
        told = False
        look_at_s = 0.0
        while not self._stopped.wait(_EVERY_S):
            if self._cancel.is_set() and not told:
                told = True
                self.stop_measuring.set()
                self._emit(CancelAsked("signal"))
            if self._full():
                self.stop_measuring.set()
            if time.monotonic() >= look_at_s:
                look_at_s = time.monotonic() + _LOOK_EVERY_S
                self.look()
