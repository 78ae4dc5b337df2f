"""Age of the shown data, and the age from which it is too old to be relied on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from raidtui.model.protocol import DiskList

_LATE_S: Final = 30.0
"""Delay of an expected scan after which the previous list is stale."""
_USUAL_S: Final = 60.0
"""Interval of scans if the engine does not announce the next one."""


class Seen(NamedTuple):
    """Time of a reading."""

    what: str
    """Noun of the listed objects: `disks`, `runs`."""
    at_s: float
    """Time by the application's clock."""
    limit_s: float | None = None
    """Age at which it is stale; None if only a change makes it old."""

    def stale(self, now_s: float) -> bool:
        return self.limit_s is not None and now_s - self.at_s >= self.limit_s

    def words(self, now_s: float) -> str:
        """`disks seen 3 s ago`; with a sign once it is stale."""
        age = _ago(max(0, int(now_s - self.at_s)))
        return f"! {self.what} last seen {age}: stale" if self.stale(now_s) else f"{self.what} seen {age}"


def of_disks(found: DiskList, now_s: float, before: Seen | None) -> Seen:
    """Return the time of a list of disks that has just arrived. A requested list keeps the interval announced `before`."""
    if found.again_s or before is None:
        return Seen("disks", now_s - found.age_s, (found.again_s or _USUAL_S) + _LATE_S)
    return before._replace(at_s=now_s - found.age_s)


def _ago(seconds: int) -> str:
    minutes, hours = seconds // 60, seconds // 3600
    return f"{hours} h ago" if hours else f"{minutes} min ago" if minutes else f"{seconds} s ago"
