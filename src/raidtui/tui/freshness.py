"""The age of what is shown: when it was looked at, and from when on it is too old to be relied on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from raidtui.model.protocol import DiskList

_LATE_S: Final = 30.0
"""A look may take so much longer than it should before what was seen last is stale."""
_USUAL_S: Final = 60.0
"""Within so long the disks are looked at again, where the engine does not say when."""


class Seen(NamedTuple):
    """Time of a reading."""

    what: str
    """Noun of the listed objects: `disks`, `runs`."""
    at_s: float
    """Time by the application's clock."""
    limit_s: float | None = None
    """At this age it is stale; None where only a change makes it old."""

    def stale(self, now_s: float) -> bool:
        return self.limit_s is not None and now_s - self.at_s >= self.limit_s

    def words(self, now_s: float) -> str:
        """`disks seen 3 s ago`; with a sign once it is stale."""
        age = _ago(max(0, int(now_s - self.at_s)))
        return f"! {self.what} last seen {age}: stale" if self.stale(now_s) else f"{self.what} seen {age}"


def of_disks(found: DiskList, now_s: float, before: Seen | None) -> Seen:
    """Age of a list of disks that has just come. A list that was asked for keeps the interval announced `before`."""
    if found.again_s or before is None:
        return Seen("disks", now_s - found.age_s, (found.again_s or _USUAL_S) + _LATE_S)
    return before._replace(at_s=now_s - found.age_s)


def _ago(seconds: int) -> str:
    minutes, hours = seconds // 60, seconds // 3600
    return f"{hours} h ago" if hours else f"{minutes} min ago" if minutes else f"{seconds} s ago"
