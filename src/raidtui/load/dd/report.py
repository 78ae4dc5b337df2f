"""Reading what dd says on stderr, while it runs and at its end."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_COPIED: Final = re.compile(r"(\d+) bytes?(?: \([^)]*\))? copied, ([\d.]+(?:e[-+]?\d+)?) s, .*")


class Copied(NamedTuple):
    """Bytes moved since it began, and seconds."""

    bytes: int
    seconds: float


def read_line(line: str) -> Copied | None:
    """A line of progress or the last one; None for any other."""
    match = _COPIED.fullmatch(line.strip())
    return Copied(int(match.group(1)), float(match.group(2))) if match else None


def read_last(text: str) -> Copied | None:
    """The last line that says how much was copied."""
    found = [copied for line in text.splitlines() if (copied := read_line(line)) is not None]
    return found[-1] if found else None
