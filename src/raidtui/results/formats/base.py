"""Interface of a format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from raidtui.results.comparison import Comparison


class Format(NamedTuple):
    """One way to write a comparison. The same one gives the same bytes, but for the last digits of where charts lie."""

    name: str
    suffix: str
    """Suffix of the file name: `.md`."""
    about: str
    write: Callable[[Comparison], bytes]
    binary: bool = False
    """Not for a terminal."""
    charts: Callable[[Comparison, Sequence[str]], bytes] | None = None
    """Function for formats that consist of charts: write only these kinds, by their names in `CHARTS`."""
