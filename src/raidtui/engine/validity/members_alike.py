"""Like members of one layer did like work in like time: one slow disk makes all of them slow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Final, NamedTuple

from raidtui.engine.validity.check import Check, Meaning
from raidtui.engine.validity.evidence import Evidence
from raidtui.model.mark import Mark
from raidtui.model.statistics.centre import robust_z

FEWEST: Final = 3
FEWEST_REQUESTS: Final = 100
LEAST_Z: Final = 3.5
BUSY_RATIO: Final = 1.5
"""Share of the others' median rate below which a busy disk counts as slow."""
BUSY_PERCENT: Final = 60.0
IDLE_RATIO: Final = 2.0
"""The same of a disk that has time left: it holds up only those who wait for it."""
LEAST_APART_MS: Final = 0.1
FEWEST_SECONDS: Final = 5
SECOND_RATIO: Final = 1.25
SECONDS_SHARE: Final = 0.75
"""Share of seconds in which a slow disk must have been slower than the others by `SECOND_RATIO`."""
LIKE_WORK: Final = 0.25
"""Tolerated difference of number and size of requests from the median; disks with other work are not compared."""

SLOW = Meaning(
    "slow-member",
    "caution",
    "One disk is slower than those beside it",
    "Members of an array or pool that do the same work should take the same time for it. One that takes longer holds up "
    "all the others, and the number is that of a sick disk, not of the layout.",
    "Look at that disk: smartctl, its slot, its cable, its link (`raidtui disks`), its firmware. Measure it by itself.",
)


class Work(NamedTuple):
    """Work of one member in one direction."""

    disk: str
    requests: int
    bytes: int
    await_ms: float
    util_percent: float
    flushes: int
    seconds_ms: Sequence[float | None]
    """The same mean for each second."""


def find(evidence: Evidence) -> Iterator[Mark]:
    said: set[str] = set()
    for direction, alike in _groups(evidence):
        works = _like_work(alike)
        if len(works) < FEWEST:
            continue
        for work, z in zip(works, robust_z([work.await_ms for work in works]), strict=True):
            others = median(other.await_ms for other in works if other is not work)
            ratio = BUSY_RATIO if work.util_percent >= BUSY_PERCENT else IDLE_RATIO
            clear = work.await_ms >= ratio * others and work.await_ms - others >= LEAST_APART_MS
            if z > LEAST_Z and clear and work.disk not in said and _always(work, works):
                said.add(work.disk)
                yield SLOW.mark(
                    f"disk {work.disk} took {work.await_ms:.2f} ms for a {direction}, the {len(works) - 1} others "
                    f"{others:.2f} ms (z = {_z_text(z)}; it was busy {work.util_percent:.0f} % of the time)",
                    about=work.disk,
                )


def _z_text(z: float) -> str:
    """Infinite where the others do not differ at all."""
    return f"{z:.0f}" if z < 1000 else "over 1000"


def _always(slow: Work, works: Sequence[Work]) -> bool:
    """Return True if the disk was slow from second to second, not once for a long time."""
    seen = slower = 0
    others = [work.seconds_ms for work in works if work is not slow]
    for own, *theirs in zip(slow.seconds_ms, *others, strict=False):
        known = [ms for ms in theirs if ms is not None]
        if own is not None and known:
            seen += 1
            slower += own >= SECOND_RATIO * median(known)
    return seen >= FEWEST_SECONDS and slower >= SECONDS_SHARE * seen


def _groups(evidence: Evidence) -> Iterator[tuple[str, Sequence[Work]]]:
    """Disks of one role and one model, by direction, the one with more requests first."""
    groups: dict[tuple[str, str, int], list[tuple[Work | None, Work | None]]] = defaultdict(list)
    for use in evidence.members.values():
        disk = evidence.disks[use.disk]
        own = (use.mean_utilisation_percent or 0.0, use.flushes or 0)
        read, write = use.mean_read_await_ms, use.mean_write_await_ms
        read_ms, write_ms = (use.series.get(f"{direction}_await_ms", ()) for direction in ("read", "write"))
        groups[use.role, disk.model, disk.size_bytes].append((
            Work(use.disk, use.reads, use.read_bytes, read, *own, read_ms) if read is not None else None,
            Work(use.disk, use.writes, use.written_bytes, write, *own, write_ms) if write is not None else None,
        ))  # fmt: skip
    for both in groups.values():
        reads, writes = ([one for one in each if one is not None] for each in zip(*both, strict=True))
        yield "read", reads
        yield "write", writes


def _like_work(works: Sequence[Work]) -> list[Work]:
    """Return the members with about as many requests and flushes, of about the same size, as most."""
    busy = [work for work in works if work.requests >= FEWEST_REQUESTS]
    measures: Sequence[Callable[[Work], float]] = (
        lambda work: work.requests, lambda work: work.bytes / work.requests, lambda work: work.requests + work.flushes,
    )  # fmt: skip
    for of in measures:
        if len(busy) < FEWEST:
            return []
        middle = median(map(of, busy))
        busy = [work for work in busy if abs(of(work) - middle) <= LIKE_WORK * middle]
    return busy


CHECK = Check(find, (SLOW,), rank=40)
