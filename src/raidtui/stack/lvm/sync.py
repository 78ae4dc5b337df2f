"""Waiting for the initial sync: with progress, never longer than it moves, and given up when the operator cancels."""

from __future__ import annotations

import time
from typing import Final, NamedTuple

from raidtui.base import proc
from raidtui.base.attention import Watch
from raidtui.base.silence import Silent
from raidtui.model.problem import Exit, fail
from raidtui.model.units import duration_text
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.lvm import kernel
from raidtui.stack.lvm.devices import present_devices
from raidtui.stack.lvm.group import LvmGroup

POLL_S: Final = 0.5


class Progress(NamedTuple):
    """One look at the images of a volume."""

    done: int
    of: int
    health: str
    """One letter per image: `A` in sync, `a` not yet, `D` dead."""
    action: str

    @property
    def finished(self) -> bool:
        return self.done == self.of and set(self.health) <= {"A"} and self.action in ("idle", "")

    @property
    def fraction(self) -> float:
        return self.done / self.of if self.of else 1.0


def look(group: str) -> Progress | None:
    """How far the images are, by the one that is furthest behind; None where there are none.

    Raises ProblemError (`tool-failed`).
    """
    try:
        found = [progress for one in kernel.status(group) if (progress := of_status(one)) is not None]
        found.sort(key=lambda progress: (progress.finished, progress.fraction))
    except proc.ToolError as error:
        raise fail("tool-failed", f"dmsetup did not answer: {error.reason}", place=group, exit=Exit.BUILD_FAILED) from error
    return found[0] if found else None


def of_status(status: kernel.Status) -> Progress | None:
    """From the words of a raid, mirror or integrity target (Documentation/admin-guide/device-mapper/dm-raid.rst)."""
    words = status.words
    try:
        if status.target == "raid":
            done, of = words[3].split("/")
            return Progress(int(done), int(of), words[2], words[4] if len(words) > 4 else "")
        if status.target == "mirror":
            count = int(words[0])
            done, of = words[count + 1].split("/")
            return Progress(int(done), int(of), words[count + 3], "")
        if status.target == "integrity":
            done, whole = words[2], words[1]
            return Progress(int(whole if done == "-" else done), int(whole), "", "")
    except (IndexError, ValueError):
        return None
    return None


def wait(context: Context, vg: LvmGroup) -> Outcome:
    """Wait until all images are in sync.

    Raises ProblemError: `cancelled`, `member-lost`, `sync-stalled` when neither the sync nor a disk of the run moves.
    """
    began = time.monotonic()
    last: Progress | None = None
    watch = Watch("the initial sync", lambda: last, tells=False)
    while (now := look(vg.name)) is None or not now.finished:
        context.stop_if_cancelled()
        _, missing = present_devices(context, vg)
        if now is None or "D" in now.health or missing:
            what = ", ".join(missing) or "an image is dead"
            raise fail("member-lost", f"the volume lost a device during its initial sync: {what}", place=vg.name,
                       remedy="Look at dmesg and the disk's SMART log.", exit=Exit.BUILD_FAILED)  # fmt: skip
        if now != last:
            last = now
            context.report(_text(now, began), now.fraction)
        try:
            watch.tick()
        except Silent as silent:
            raise fail("sync-stalled", f"the initial sync {silent.text}", place=vg.name, remedy="Look at dmesg.",
                       exit=Exit.BUILD_FAILED) from silent  # fmt: skip
        time.sleep(POLL_S)
    seconds = time.monotonic() - began
    return Outcome("done", {"initial_sync": f"waited for {seconds:.0f} s", "sync_seconds": round(seconds, 3)})


def _text(now: Progress, began: float) -> str:
    seconds = time.monotonic() - began
    known = now.fraction > 0.01 and seconds > 2
    left = f", {duration_text(seconds / now.fraction - seconds)} left" if known else ""
    return f"initial sync {100 * now.fraction:.0f} %{left}"
