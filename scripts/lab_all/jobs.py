"""Work that takes long, several pieces side by side: each in a process that takes its own lab down when it is ended."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Sequence

Job = Callable[[], None]


def side_by_side(jobs: Sequence[Job], at_once: int) -> None:
    """Do all of them, begun in this order. Raises what one of them raised, after the others are done."""
    with multiprocessing.Pool(at_once, _ends_once, maxtasksperchild=1) as pool:
        _ends_once()
        begun = [pool.apply_async(job) for job in jobs]
        for one in begun:
            one.wait()
        for one in begun:
            one.get()


def _ends_once() -> None:
    """So that labs are taken down also when make is ended, and a second signal does not end that."""
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)


def _end(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(128 + number)
