"""Headings and sentences above a table: the unit that they give to its numbers."""

from __future__ import annotations

import re
from typing import Final

from raidtui.foreign.headings import TIMES, rate_unit, read_heading

_HEADING: Final = re.compile(r"\s*(#{1,6})\s+(.*?)\s*#*\s*")
_WORD: Final = re.compile(r"(?<![\d.,\w])(?<!\d )(?:k ?)?(?:IOPS|[^\W\d_]+(?:/|ps\b| per )[\w ]*)", re.IGNORECASE)
_LATENCY: Final = re.compile(
    r"(?:\bin|[(\[,:])\s*(?P<unit>[µμmun]?s|[mun]?sec(?:onds)?|milliseconds|microseconds)\b", re.IGNORECASE
)


class Captions:
    """Headings and sentences above the tables of a text, line by line."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []
        """Level and unit of the headings that a table stands under."""
        self._sentence = ""

    def say(self, line: str) -> None:
        """Take a line that is no row of a table."""
        if (heading := _HEADING.fullmatch(line)) is not None:
            level = len(heading[1])
            self._headings = [one for one in self._headings if one[0] < level]
            self._headings.append((level, unit_said(heading[2])))
            self._sentence = ""
        elif unit := unit_said(line):
            self._sentence = unit

    def unit(self) -> str:
        """Return the unit of the table that begins here; the sentence above it counts before the headings."""
        above = [unit for _, unit in reversed(self._headings) if unit]
        unit, self._sentence = self._sentence, ""
        return unit or (above[0] if above else "")


def unit_said(line: str) -> str:
    """Return the only unit that a line names: `MB/s` of `Throughput (MB/s)`. A unit behind a number is a number's own."""
    found = set()
    for match in _WORD.finditer(line):
        heading = read_heading(match.group())
        if heading.metric in ("iops", "bandwidth") and (unit := heading.unit or rate_unit(match.group())):
            found.add(unit)
    if read_heading(line).metric == "latency" and (time := _LATENCY.search(line)) is not None:
        found.add(next((name for words, name in TIMES if re.fullmatch(words, time["unit"].lower())), ""))
    return found.pop() if len(found) == 1 else ""
