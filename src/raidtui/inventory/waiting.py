"""Limits in time: how long the inventory waits for an answer or a lock, and how often it may look."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from raidtui.base.files import lock_file
from raidtui.base.paths import run_folder
from raidtui.inventory.reasons import REASONS
from raidtui.model.problem import Exit, ProblemError, fail

T = TypeVar("T")
DISK_LOCK_PATIENCE_S: Final = 60.0
"""udev locks a disk while it looks at one that changed: on a busy server with many disks that takes its time."""
_SCAN_PATIENCE_S: Final = 60.0
_OF_EACH_DISK_S: Final = 0.25
_MOST_LOAD: Final = 6.0


def allowed_s(base_s: float, disks: int, load: float | None = None, cpus: int | None = None) -> float:
    """Return `base_s` plus a time for each disk, up to six times that if more processes want to run than there are CPUs."""
    load = os.getloadavg()[0] if load is None else load
    crowd = load / max(1, cpus or os.cpu_count() or 1)
    return (base_s + _OF_EACH_DISK_S * disks) * min(_MOST_LOAD, max(1.0, crowd))


_asked: Final[dict[str, threading.Thread]] = {}
"""Threads of sources that may not have answered yet, by name, so that stuck threads do not accumulate."""


def bounded(source: Callable[[], T], timeout_s: float, name: str) -> T:
    """Return or raise what `source` does. Raises TimeoutError after `timeout_s`: it may hang in the kernel for good.

    While the last question under this `name` has not been answered, it is not asked again: TimeoutError at once.
    """
    if (earlier := _asked.get(name)) is not None and earlier.is_alive():
        raise TimeoutError("no answer since it was asked before")
    answer: list[Any] = []

    def work() -> None:
        try:
            answer.extend((True, source()))
        except Exception as error:
            answer.extend((False, error))

    # A daemon thread, because one that hangs in the kernel cannot be waited for at exit either.
    thread = _asked[name] = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    thread.join(timeout_s)
    if len(answer) < 2:
        raise TimeoutError(f"no answer within {timeout_s:.0f} s")
    if not answer[0]:
        raise answer[1]
    return answer[1]  # type: ignore[no-any-return]


class Pace:
    """Interval of a repeated action: `least_s` seconds, or longer if the action costs more than `share` of all CPUs."""

    def __init__(self, least_s: float, share: float) -> None:
        self._least_s = least_s
        self._share = share
        self._due = 0.0

    @property
    def due(self) -> bool:
        return time.monotonic() >= self._due

    def done(self, cpu_s: float) -> None:
        """Record that the action was just done and used `cpu_s` seconds of a CPU."""
        self._due = time.monotonic() + pause_s(cpu_s, self._share, self._least_s)


def pause_s(cpu_s: float, share: float, least_s: float) -> float:
    """Return the seconds to wait after work of `cpu_s` seconds of a CPU."""
    return max(least_s, cpu_s / (share * (os.cpu_count() or 1)))


def require_disk_lock(fd: int, place: str, exit: Exit) -> None:
    """Lock the disk until `fd` is closed. Raises ProblemError `locked`, with this exit code, if it is held."""
    if not lock_file(fd, DISK_LOCK_PATIENCE_S):
        raise fail(REASONS["locked"], "a program holds a lock (flock) on it", place=place, remedy="lslocks", exit=exit)


def twice_if_locked(act: Callable[[], None]) -> None:
    """Do it, and once more if a disk was locked: udev, or whoever else held it, need not hold it for ever.

    Nothing was written to that disk. Raises what `act` raises.
    """
    try:
        act()
    except ProblemError as error:
        if not any(problem.code == REASONS["locked"].code for problem in error.problems):
            raise
        act()


@contextmanager
def scan_alone() -> Iterator[None]:
    """Wait for other scans to end, at most some minutes: after that a disk may be reported busy, at worst."""
    fd = os.open(run_folder() / "scan.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        lock_file(fd, allowed_s(_SCAN_PATIENCE_S, len(os.listdir("/sys/block"))))  # noqa: PTH208
        yield
    finally:
        os.close(fd)
