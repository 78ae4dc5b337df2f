"""Waiting for the initial sync: with progress, never longer than it moves, and given up when the operator cancels."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from raidtui.base.attention import Watch
from raidtui.base.files import read_int, read_text
from raidtui.base.silence import Silent
from raidtui.model.problem import Exit, fail
from raidtui.model.units import duration_text
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.md import kernel
from raidtui.stack.md.verify import the_array

POLL_S: Final = 0.25
_FASTEST_KIB_S: Final = 100_000_000


class Progress(NamedTuple):
    """One look at a sync."""

    action: str
    """`resync`, `recover`, `check`, … or `idle`."""
    done_sectors: int | None
    of_sectors: int | None
    degraded: int
    unsynced: bool
    """The kernel remembers a place from where a resync has to go on."""

    @property
    def finished(self) -> bool:
        return self.action == "idle" and self.degraded == 0 and not self.unsynced

    @property
    def fraction(self) -> float | None:
        return self.done_sectors / self.of_sectors if self.done_sectors is not None and self.of_sectors else None


def look(name: str) -> Progress:
    """How far the sync of an array is."""
    md = kernel.folder(name)
    match = re.fullmatch(r"(\d+) / (\d+)", read_text(md / "sync_completed") or "")
    done, of = (int(match.group(1)), int(match.group(2))) if match else (None, None)
    # A parity array that is rebuilt onto its last member needs no resync besides: `none`.
    start = read_text(md / "resync_start")
    return Progress(
        read_text(md / "sync_action") or "idle", done, of, read_int(md / "degraded") or 0, start not in (None, "none")
    )


def wait(context: Context, args: dict[str, Any]) -> Outcome:
    """Wait until the array is in sync.

    Raises ProblemError: `cancelled`, `member-lost`, `sync-stalled` when neither the sync nor a disk of the run moves. The
    kernel says how far a sync is once in five minutes, or after a sixteenth of the array (UPDATE_FREQUENCY in md.c).
    """
    name = the_array(args)
    devices = kernel.member_numbers(name)
    began = time.monotonic()
    last: Progress | None = None
    watch = Watch("the initial sync", lambda: last, tells=False)
    with _at_full_speed(kernel.folder(name)):
        while not (now := look(name)).finished:
            context.stop_if_cancelled()
            lost = [member.name for member in kernel.members(name) if "faulty" in member.states]
            if lost or not devices <= kernel.member_numbers(name):
                raise fail("member-lost", f"the array lost a member during its initial sync: {', '.join(lost) or 'gone'}",
                           place=args["name"], remedy="Look at dmesg and the disk's SMART log.",
                           exit=Exit.BUILD_FAILED)  # fmt: skip
            if now != last:
                last = now
                context.report(_text(now, began), now.fraction)
            try:
                watch.tick()
            except Silent as silent:
                raise fail("sync-stalled", f"the initial sync {silent.text}", place=args["name"], remedy="Look at dmesg.",
                           exit=Exit.BUILD_FAILED) from silent  # fmt: skip
            time.sleep(POLL_S)
    seconds = time.monotonic() - began
    return Outcome("done", {"initial_sync": f"waited for {seconds:.0f} s", "sync_seconds": round(seconds, 3)})


def _text(now: Progress, began: float) -> str:
    if now.fraction is None:
        return "initial sync"
    seconds = time.monotonic() - began
    left = f", {duration_text(seconds / now.fraction - seconds)} left" if now.fraction > 0.01 and seconds > 2 else ""
    return f"initial sync {100 * now.fraction:.0f} %{left}"


@contextmanager
def _at_full_speed(md: Path) -> Iterator[None]:
    """The kernel holds syncs at 200 MB/s for the sake of other users of the array; there are none yet.

    A limit of the array's own was asked for, and stays.
    """
    limit = md / "sync_speed_max"
    if "(local)" in (read_text(limit) or ""):
        yield
        return
    with suppress(OSError):
        limit.write_text(str(_FASTEST_KIB_S))
    try:
        yield
    finally:
        with suppress(OSError):
            limit.write_text("system")
