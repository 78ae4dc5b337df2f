"""Plan the writes to disks before a layout is built on them. Pure.

SNIA, Solid State Storage Performance Test Specification 2.0.2: purge, then twice the capacity sequentially in 128 KiB.
Members are written one by one before they are built into anything: what stands on them later would decide what is written
where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from raidtui.base.text import plural
from raidtui.engine.step_args import Precondition
from raidtui.load.fio import ENGINE as FIO
from raidtui.load.fio.engine import QUICK_REGION_BYTES
from raidtui.load.fio.spec import conditioning_lengths, conditioning_spec
from raidtui.model.disk import Disk
from raidtui.model.plan import Argv
from raidtui.model.units import size_text
from raidtui.stack.layer import Draft

SNIA_TIMES: Final = 2.0
_BYTES_PER_S: Final = {True: 120e6, False: 500e6}
"""Rough sequential write rate of a disk in bytes per second, by rotational; for estimates only."""


def draft(disks: Sequence[Disk], amount: str, times: float, *, quick: bool) -> Draft:
    """The step that writes these disks, all at once; `amount` is `times` as the scenario has it."""
    most = QUICK_REGION_BYTES if quick else None
    each = {disk.id: sum(conditioning_lengths(disk.size_bytes, times, most)) for disk in disks}
    refs = tuple(f"disk:{disk.id}" for disk in disks)
    args = Precondition(refs, "block", amount, times, max(disk.size_bytes for disk in disks), most)
    share = f"{size_text(QUICK_REGION_BYTES)} of each" if quick else f"{amount} the capacity"
    title = f"Precondition {plural(len(disks), 'disk')}: {share}, 128 KiB sequential writes"
    seconds = max(each[disk.id] / _BYTES_PER_S[bool(disk.rotational)] for disk in disks)
    commands = tuple(_commands(disks, times, most))
    return Draft("precondition", title, args, commands, writes_bytes=sum(each.values()), seconds=seconds + 1)


def words(amount: str, times: float, most_bytes: int | None, *, purged: bool) -> str:
    """Return the description of a preconditioning for the result, compared with SNIA's specification."""
    if most_bytes is not None:
        return f"preconditioned with {size_text(most_bytes)} of each disk (a rehearsal): less than SNIA PTS asks"
    if times < SNIA_TIMES:
        return f"preconditioned {amount} sequential: less than SNIA PTS asks"
    if not purged:
        return f"preconditioned {amount} sequential, without a purge, as not every disk reads as zeroes after a discard"
    return f"preconditioned {amount} sequential (SNIA PTS 2.0.2)"


def _commands(disks: Sequence[Disk], times: float, most: int | None) -> Iterator[Argv]:
    sizes = [disk.size_bytes for disk in disks]
    for places in by_size(sizes):
        paths = tuple(disks[at].path for at in places)
        size_bytes = sizes[places[0]]
        for length in conditioning_lengths(size_bytes, times, most):
            yield FIO.command(conditioning_spec(length), paths, size_bytes=size_bytes)


def by_size(sizes: Sequence[int]) -> list[list[int]]:
    """Places of disks of one size: one fio writes them together."""
    found: dict[int, list[int]] = {}
    for at, size_bytes in enumerate(sizes):
        found.setdefault(size_bytes, []).append(at)
    return list(found.values())
