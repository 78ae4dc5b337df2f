"""Control of Python's garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(many: bool) -> Iterator[None]:
    """Suspend garbage collection while `many` objects are made of which few become garbage: it can double the time."""
    if not many or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
