"""Detaching the cache: everything dirty is written back first, with progress, and never waited for while nothing moves."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.base.files import read_text
from raidtui.base.silence import LIMIT_S
from raidtui.model.problem import ProblemError
from raidtui.model.units import duration_text, size_text
from raidtui.stack.action import Outcome
from raidtui.stack.bcache import kernel, tool
from raidtui.stack.bcache.command import detach_argv
from raidtui.stack.bcache.spec import BcacheDevice
from raidtui.stack.blockdev import bounded
from raidtui.stack.context import Context

STALLED_S: Final = LIMIT_S
"""Dirty data left after this silence is dropped: the disks are made blank anyway."""
POLL_S: Final = 0.25


class Moment(NamedTuple):
    """One look at a backing device."""

    attached: bool
    dirty_bytes: int | None
    """Dirty data in steps of a tenth of the unit in which the kernel prints it, so that it may be constant for minutes."""
    writes: str
    """Write counter of the backing device."""


def detach(context: Context, cached: BcacheDevice) -> Outcome:
    """Write dirty data back and take the cache off.

    Facts: `dirty_bytes` and `stats` as they were before, `left_bytes`: what could not be written back, `seconds`. A cache
    that is lost, or stands still, is no reason to keep the disks: it is said, and the next step takes it all away.
    """
    backing = next((one for one in kernel.ours(cached) if one.uuid in kernel.uuids(cached)), None)
    if backing is None or not backing.set_uuid:
        return Outcome("nothing to do")
    before = bounded(lambda: kernel.stats(backing.folder), "asking bcache")
    began = moved = time.monotonic()
    first = last = _look(backing.folder)
    with suppress(OSError, ProblemError):  # what it could not do is seen below
        tool.write(backing.folder / "detach", "1")
    now = first
    while (now := _look(backing.folder)).attached:
        if now != last:
            moved, last = time.monotonic(), now
        elif time.monotonic() - moved > STALLED_S:
            break
        context.report(_text(first, now, began), _fraction(first, now))
        time.sleep(POLL_S)
    facts = {
        "dirty_bytes": first.dirty_bytes,
        "left_bytes": (now.dirty_bytes or 0) if now.attached else 0,
        "seconds": round(time.monotonic() - began, 3),
        "stats": before,
    }
    return Outcome("undone" if not now.attached else "done", facts, (detach_argv(cached),))


def _look(folder: Path) -> Moment:
    def read() -> Moment:
        dirty = kernel.from_hprint(read_text(folder / "dirty_data"))
        writes = (read_text(folder.parent / "stat") or "").split()[4:5]
        return Moment((folder / "cache").is_symlink(), dirty, "".join(writes))

    return bounded(read, "asking bcache")


def _fraction(first: Moment, now: Moment) -> float | None:
    if not first.dirty_bytes or now.dirty_bytes is None:
        return None
    return min(1.0, max(0.0, 1 - now.dirty_bytes / first.dirty_bytes))


def _text(first: Moment, now: Moment, began: float) -> str:
    done = _fraction(first, now)
    seconds = time.monotonic() - began
    left = f", {duration_text(seconds / done - seconds)} left" if done and done > 0.01 and seconds > 2 else ""
    return f"writing back {size_text(now.dirty_bytes or 0)}{left}"
