"""Work that takes long, several pieces side by side: each in a process that takes its own lab down when it is ended."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Sequence
from multiprocessing import connection
from multiprocessing.process import BaseProcess

Job = Callable[[], None]
ENDS = (signal.SIGTERM, signal.SIGINT)
"""Signals that end make: Ctrl-C of a terminal, or a kill."""


def side_by_side(jobs: Sequence[Job], at_once: int) -> None:
    """Do all of them, begun in this order. One that raises says so itself and stops no other.

    Raises:
        RuntimeError: One or more of them broke; after the others are done.

    """
    for number in ENDS:
        signal.signal(number, _end)
    waiting: list[BaseProcess] = [multiprocessing.get_context("fork").Process(target=_do, args=(job,)) for job in jobs]
    running: list[BaseProcess] = []
    broke = 0
    try:
        while waiting or running:
            if waiting and len(running) < at_once:
                _begin(waiting.pop(0), running)
                continue
            connection.wait([one.sentinel for one in running])
            ended = [one for one in running if one.exitcode is not None]
            broke += sum(one.exitcode != 0 for one in ended)
            running = [one for one in running if one not in ended]
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.join()
    if broke:
        raise RuntimeError(f"{broke} of {len(jobs)} broke, as they say above")


def _begin(job: BaseProcess, running: list[BaseProcess]) -> None:
    """Signals wait meanwhile, in both: Python swallows what they raise while it settles in after a fork."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    job.start()
    running.append(job)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)


def _do(job: Job) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    job()


def _end(number: int, frame: object) -> None:
    """Labs are taken down also when make is ended, and a second signal does not end that."""
    for one in ENDS:
        signal.signal(one, signal.SIG_IGN)
    sys.exit(128 + number)
