"""When Python looks for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(many: bool) -> Iterator[None]:
    """Where `many` things are made of which none becomes garbage, looking for it would take as long as making them."""
    if not many or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
