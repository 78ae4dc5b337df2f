"""Progress of what takes minutes: one line each, with the time since the start."""

from __future__ import annotations

import time
from collections.abc import Callable

Say = Callable[[str], None]
"""Takes one line for the operator, without a line break."""


def silent(line: str) -> None:
    """A `Say` for nobody."""


def timed(say: Say) -> Say:
    """`say` with the seconds since now before every line."""
    began = time.monotonic()
    return lambda line: say(f"[{time.monotonic() - began:5.1f} s] {line}")
