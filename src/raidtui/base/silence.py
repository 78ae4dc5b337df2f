"""Criterion for giving up a command: not its duration, but the lack of any progress.

Pure: `attention.py` reads the counters.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, NamedTuple

LIMIT_S: Final = 300.0
"""Longer than any pause without progress while the kernel handles errors of a disk: it tries a SCSI command for up to 180 s
(six times 30 s), and giving the disk up afterwards took 73 s where that was measured; an NVMe controller may take 127 s to
reset.
"""
AGAIN_S: Final = 10.0
"""Shorter limit for a disk that was already silent for LIMIT_S, until it completes a request."""
LONGEST_S: Final = 7 * 86400.0
"""Longest wait for a command that still moves; one that moves for a week is in a loop. A cancel ends it earlier."""
_MOST_BETWEEN_S: Final = 5.0
"""Largest silence that one look adds: time for which the whole machine stood still does not count."""


class Counters(NamedTuple):
    """Counters of a disk since it appeared."""

    completed: int
    """Requests of every kind: reads, writes, discards, flushes. Times and requests in flight also move while it hangs."""
    in_flight: int
    written_bytes: int
    discarded_bytes: int


class Silent(Exception):
    """Error of a command without progress. Its text continues a sentence: `has done nothing for 300 s; …`"""

    def __init__(self, text: str, disk: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.disk = disk
        """The kernel's name of the disk that does not answer, where one is known."""


class Hangs:
    """Knows for how long each disk has had requests in flight and completed none. Outlives the commands that wait."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, int, float]] = {}
        """State of each disk, by name: time of the last look, completed requests, and the time for which it has hung."""

    def look(self, now_s: float, disks: Mapping[str, Counters]) -> None:
        for name, now in disks.items():
            looked_s, completed, hung_s = self._seen.get(name, (now_s, -1, 0.0))
            hangs = now.in_flight > 0 and now.completed == completed
            hung_s = hung_s + min(now_s - looked_s, _MOST_BETWEEN_S) if hangs else 0.0
            self._seen[name] = (now_s, now.completed, hung_s)

    def hung_s(self, name: str) -> float:
        return self._seen[name][2] if name in self._seen else 0.0


class Silence:
    """Knows for how long nothing has moved around one command: neither its own work, nor the disks that it works on."""

    def __init__(self, limit_s: float, hangs: Hangs) -> None:
        self._limit_s = limit_s
        self._hangs = hangs
        self._looked_s: float | None = None
        self._work: Hashable = None
        self._disks: Mapping[str, Counters] = {}
        self._idle_s = 0.0
        """For how long the command itself has done nothing."""
        self._quiet_s = 0.0
        """For how long no disk has completed anything either."""

    def look(self, now_s: float, work: Hashable, disks: Mapping[str, Counters]) -> None:
        """Record the state at `now_s`; `work` is any value that differs whenever the command did something."""
        self._hangs.look(now_s, disks)
        span_s = 0.0 if self._looked_s is None else min(now_s - self._looked_s, _MOST_BETWEEN_S)
        works = work != self._work
        answered = {name: one.completed for name, one in disks.items()}
        moves = works or answered != {name: one.completed for name, one in self._disks.items()}
        self._idle_s = 0.0 if works else self._idle_s + span_s
        self._quiet_s = 0.0 if moves else self._quiet_s + span_s
        self._looked_s, self._work, self._disks = now_s, work, disks

    @property
    def hanging(self) -> dict[str, Counters]:
        """Disks that have had requests in flight for the whole limit and completed none."""
        return {name: one for name, one in self._disks.items() if self._hangs.hung_s(name) >= self._limit_s}

    @property
    def over(self) -> bool:
        """True when it is time to give up.

        One hanging disk is enough if the command does nothing, even while other disks go on (md check).
        """
        if self._quiet_s >= self._limit_s:
            return True
        again_s = min(AGAIN_S, self._limit_s)
        return bool(self.hanging) and (self._idle_s >= self._limit_s or self._quiet_s >= again_s)

    def silent(self) -> Silent:
        """Return the error with what was observed, once it is over."""
        text = f"has done nothing for {self._idle_s:.0f} s"
        asked = {name: one for name, one in self._disks.items() if one.in_flight}
        if hanging := self.hanging or asked:
            said = f"{text}; {hangs_text(hanging)}: the device does not answer"
            return Silent(said, next(iter(hanging)))
        return Silent(f"{text}, and no disk of the run has anything to do" if self._disks else text)


def hangs_text(hanging: Mapping[str, Counters]) -> str:
    """Return `nvme2n1 has 4 requests in flight and completes none`."""
    return ", ".join(
        f"{name} has {one.in_flight} request{'s' if one.in_flight > 1 else ''} in flight and completes none"
        for name, one in hanging.items()
    )
