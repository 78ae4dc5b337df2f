"""What a format is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from raidtui.results.compare import Comparison


class Format(NamedTuple):
    """One way to write a comparison. The same comparison always gives the same bytes."""

    name: str
    suffix: str
    """Of the file's name: `.md`."""
    about: str
    write: Callable[[Comparison], bytes]
    binary: bool = False
    """Not for a terminal."""
