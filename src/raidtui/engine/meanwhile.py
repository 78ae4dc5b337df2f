"""Long work of a request that tells its progress to the client meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Final, TypeVar

Progress = TypeVar("Progress")
Answer = TypeVar("Answer")
_EVERY_S: Final = 1.0


def telling(work: Callable[[Callable[[Progress], None]], Answer]) -> Generator[Progress, None, Answer]:
    """Do `work` in a thread, yield the latest of what it tells whenever that changed, and return its answer.

    A client that goes away does not end the work.
    """
    latest: deque[Progress] = deque(maxlen=1)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work, latest.append)
        while not wait((done,), _EVERY_S).done:
            with suppress(IndexError):
                yield latest.pop()
        return done.result()
