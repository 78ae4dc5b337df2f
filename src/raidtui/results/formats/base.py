"""What a format is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from raidtui.results.comparison import Comparison


class Format(NamedTuple):
    """One way to write a comparison. The same one gives the same bytes, but for the last digits of where charts lie."""

    name: str
    suffix: str
    """Of the file's name: `.md`."""
    about: str
    write: Callable[[Comparison], bytes]
    binary: bool = False
    """Not for a terminal."""
    charts: Callable[[Comparison, Sequence[str]], bytes] | None = None
    """Where it is made of charts: write only those of these kinds, as `CHARTS` names them."""
