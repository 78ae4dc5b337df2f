"""Headings and sentences above a table: the unit that they give to its numbers, and the table's caption."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from raidtui.base.text import named, plural
from raidtui.foreign.headings import TIMES, rate_unit, read_heading
from raidtui.model.table import Table

_HEADING: Final = re.compile(r"\s*(#{1,6})\s+(.*?)\s*#*\s*")
_WORD: Final = re.compile(r"(?<![\d.,\w])(?<!\d )(?:k ?)?(?:IOPS|[^\W\d_]+(?:/|ps\b| per )[\w ]*)", re.IGNORECASE)
_LATENCY: Final = re.compile(
    r"(?:\bin|[(\[,:])\s*(?P<unit>[µμmun]?s|[mun]?sec(?:onds)?|milliseconds|microseconds)\b", re.IGNORECASE
)
_NUMBERED: Final = re.compile(
    r"[\s*_>]*((?:table|tab\.|tableau|tabelle|tabla|tabella|таблица|табл\.|表|표)\s*[\dIVX]+[a-z]?\b.*?)[\s*_]*",
    re.IGNORECASE,
)
"""`Table 3: random reads`, as words of their own above a table."""
_SETTING: Final = re.compile(
    r"(?:title|source|date|host|name|unit|baseline|command|map|claim|layout)\b[^:]*:", re.IGNORECASE
)
"""Lines with # that say something of the columns, and are no heading."""
_LONGEST_CAPTION: Final = 200
_MOST_SAID: Final = 6
OWN_RUN: Final = "a run of raidtui"
"""Source of a table that was made of a result."""


class Caption(NamedTuple):
    """The caption or number of a table in its source, and of how many numbers it is."""

    text: str
    place: str
    figures: int


def captions_of(table: Table) -> list[Caption]:
    """Return the tables of the source that have a number here, in their order. A number is of the last one above it."""
    begins: dict[str, list[int]] = {}
    for place in table.captions:
        name, _, line = place.rpartition(":")
        if line.isdecimal():
            begins.setdefault(name, []).append(int(line))
    for lines in begins.values():
        lines.sort()
    counts = Counter[str]()
    for figure in table.figures:
        name, _, line = figure.place.rpartition(":")
        above = bisect_right(begins.get(name, ()), int(line)) if line.isdecimal() else 0
        if above:
            counts[f"{name}:{begins[name][above - 1]}"] += 1
    return [Caption(text, place, counts[place]) for place, text in table.captions.items() if counts[place]]


def publication(table: Table) -> Iterator[str]:
    """Yield sentences on where a table was published: title and address, and its captions there."""
    if table.source == OWN_RUN or not (table.title or "://" in table.source):
        return
    by = f", {table.source}" if table.source else ""
    yield f"published as {table.title!r}{by}" if table.title else f"published at {table.source}"
    if captions := captions_of(table):
        yield f"{plural(len(captions), 'table')} of it: {named([repr(one.text) for one in captions], _MOST_SAID)}"


class Captions:
    """Headings and sentences above the tables of a text, line by line."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str, str]] = []
        """Level, unit and words of the headings that a table stands under."""
        self._sentence = ""
        self._caption = ""
        self._under = Counter[str]()
        """Tables so far, by the words of their heading."""

    def say(self, line: str) -> None:
        """Take a line that is no row of a table."""
        if (numbered := _NUMBERED.fullmatch(line)) is not None:
            self._caption = numbered[1]
        if (heading := _HEADING.fullmatch(line)) is not None:
            level = len(heading[1])
            self._headings = [one for one in self._headings if one[0] < level]
            words = "" if _SETTING.match(heading[2]) else heading[2].strip("*_ ")
            self._headings.append((level, unit_said(heading[2]), words))
            self._sentence = self._caption = ""
        elif unit := unit_said(line):
            self._sentence = unit

    def unit(self) -> str:
        """Return the unit of the table that begins here; the sentence above it counts before the headings."""
        above = [unit for _, unit, _ in reversed(self._headings) if unit]
        unit, self._sentence = self._sentence, ""
        return unit or (above[0] if above else "")

    def caption(self, *, headings: bool) -> str:
        """Return the caption of the table that begins here, else (`headings`) the words of its heading; empty without."""
        caption, self._caption = self._caption, ""
        above = [words for _, _, words in self._headings if words] if headings else []
        if not caption and above:
            caption = above[-1]
            self._under[caption] += 1
            if (number := self._under[caption]) > 1:
                caption = f"{caption}, table {number}"
        return caption[:_LONGEST_CAPTION]


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
