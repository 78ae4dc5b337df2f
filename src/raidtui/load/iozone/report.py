"""iozone's table as numbers. Its kB are 1024 bytes."""

from __future__ import annotations

import re
from typing import Final

COLUMNS: Final = ("write", "rewrite", "read", "reread", "random-read", "random-write")
"""The first ones behind size and record length, in iozone's own order."""
_HEADING: Final = re.compile(r"\s*kB\s+reclen\s+write\s+rewrite\s+read\s+reread\s+read\s+write\b.*")
_ROW: Final = re.compile(r"\s*\d+\s+\d+(?:\s+\d+)*\s*")


def read_table(text: str) -> dict[str, int] | None:
    """Bytes per second by test, of the first row; tests that were not run are not there. None where there is no row."""
    ends: list[int] = []
    for line in text.splitlines():
        if _HEADING.fullmatch(line):
            ends = [match.end() for match in re.finditer(r"\S+", line)][2:]
        elif ends and _ROW.fullmatch(line):
            cells = list(re.finditer(r"\d+", line))[2:]
            found = ((_nearest(ends, cell.end()), int(cell.group())) for cell in cells)
            return {COLUMNS[at]: rate * 1024 for at, rate in found if at < len(COLUMNS)}
    return None


def _nearest(ends: list[int], end: int) -> int:
    """Columns of tests that were not run are blank: a number stands where its heading ends."""
    return min(range(len(ends)), key=lambda at: abs(ends[at] - end))
