"""Limits of the hardware: a hot disk, one slow member, a kernel thread that fills a core."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Final, NamedTuple

from raidtui.engine.validity.evidence import Evidence, caution, limit
from raidtui.model.mark import Mark
from raidtui.model.statistics.samples import robust_z
from raidtui.watch.temperature import Heat

HOT = caution(
    "hot-disk",
    "A disk was too hot",
    "Above its warning temperature a disk slows down to cool (thermal throttling): the number describes its cooling.",
    "Improve the airflow, rest between cells (cooldown in the policy), and run the cell again (--layout, --workload).",
)


def find_heat(evidence: Evidence) -> Iterator[Mark]:
    before, after = evidence.heat
    for name, use in evidence.members.items():
        then, now = before.get(name, Heat()), after.get(name, Heat())
        highest = use.temperature_max_c
        if counted := _counted(then, now):
            yield HOT.mark(f"disk {use.disk} {' and '.join(counted)}", about=use.disk)
        elif highest is not None and now.limit_c is not None and highest >= now.limit_c:
            reached = f"disk {use.disk} reached {highest:.0f} °C, and warns from {now.limit_c:.0f} °C on"
            yield HOT.mark(reached, about=use.disk)
        elif now.too_hot:
            yield HOT.mark(f"disk {use.disk} says that it is too hot", about=use.disk)


def _counted(then: Heat, now: Heat) -> list[str]:
    """Return what a disk's counters of heat say of the cell. The counters overlap, so that they are not added."""
    said = []
    if now.slowed_s is not None and then.slowed_s is not None and now.slowed_s > then.slowed_s:
        said.append(f"slowed itself down to cool for {now.slowed_s - then.slowed_s} s")
    if now.over_minutes is not None and then.over_minutes is not None and now.over_minutes > then.over_minutes:
        said.append(f"was above its warning temperature (it counts whole minutes: {now.over_minutes - then.over_minutes})")
    return said


FEWEST_MEMBERS: Final = 3
FEWEST_REQUESTS: Final = 100
LEAST_Z: Final = 3.5
BUSY_RATIO: Final = 1.5
"""Share of the others' median rate below which a busy disk counts as slow."""
BUSY_PERCENT: Final = 60.0
IDLE_RATIO: Final = 2.0
"""Ratio for a disk that is not busy: it delays only the requests that wait for it."""
LEAST_APART_MS: Final = 0.1
FEWEST_SECONDS: Final = 5
SECOND_RATIO: Final = 1.25
SECONDS_SHARE: Final = 0.75
"""Share of seconds in which a slow disk must have been slower than the others by `SECOND_RATIO`."""
LIKE_WORK: Final = 0.25
"""Tolerated difference of number and size of requests from the median; disks with other work are not compared."""
SLOW = caution(
    "slow-member",
    "One disk is slower than the others",
    "Members of an array or pool with the same work should take the same time for it. A slower one delays all others,"
    " and the number describes a faulty disk instead of the layout.",
    "Look at that disk: smartctl, its slot, its cable, its link (`raidtui disks`), its firmware. Measure it alone.",
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
    """Mean time of a request in each second."""


def find_slow_members(evidence: Evidence) -> Iterator[Mark]:
    said: set[str] = set()
    for direction, alike in _groups(evidence):
        works = _like_work(alike)
        if len(works) < FEWEST_MEMBERS:
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
        if len(busy) < FEWEST_MEMBERS:
            return []
        middle = median(map(of, busy))
        busy = [work for work in busy if abs(of(work) - middle) <= LIKE_WORK * middle]
    return busy


LEAST_PERCENT: Final = 95.0
MOST_BESIDE: Final = 0.1
"""Share of a cell in which the workload does not run as yet or any more, and a thread of the kernel may rest: a tool that
starts and ends takes longer than a twentieth of a short cell."""
BOUND = limit(
    "cpu-bound",
    "A kernel thread was the limit",
    "A thread runs on one core at a time, and this one was busy all the time: faster disks would change nothing. md "
    "has one thread for each array by default, ZFS a few for writing and for checksums.",
    "For md raid5 and raid6: group_thread_cnt (tuning of the layer). For ZFS: less work for each block (compression, "
    "checksum, larger volblocksize), or more pools. Otherwise a faster core.",
)


def find_busy_threads(evidence: Evidence) -> Iterator[Mark]:
    spread = _spread(evidence)
    for name, of_cell in evidence.cell.threads.items():
        if (percent := spread * of_cell) >= LEAST_PERCENT:
            yield BOUND.mark(f"the kernel's thread {name} used {min(percent, 100):.0f} % of a core", about=name)


def _spread(evidence: Evidence) -> float:
    """Ratio of the cell's time to the workload's: kernel threads did their work during the workload."""
    cell_s, ran_s = evidence.cell.seconds, evidence.summary.runtime_s if evidence.summary is not None else 0.0
    return cell_s / max(ran_s, (1 - MOST_BESIDE) * cell_s) if 0 < ran_s < cell_s else 1.0
