"""Columns of amounts and times in plain tables (`bytes`, `seconds`): what a rate is counted from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from raidtui.foreign.cells import Row, numbers
from raidtui.foreign.headings import TIMES, Heading

_AMOUNT: Final = re.compile(
    r"(?:(?:amount|data|total|size|transferred|moved|copied|written|volume|daten|объём|объем)\W*)*"
    r"(?P<unit>bytes|b|[kmgt]i?b|байт\w*|octets?)\W*(?:(?:transferred|moved|copied|written|read|total)\W*)?",
    re.IGNORECASE,
)
_TIME: Final = re.compile(
    r"(?:(?:time|elapsed|duration|run ?time|real|wall(?: ?clock)?|zeit|dauer|laufzeit|время|durée|temps)\W*)*"
    r"(?P<unit>s|secs?|seconds?|ms|msecs?|milliseconds?|sekunden|секунд\w*|сек|с|secondes?)\W*(?:(?:elapsed|total)\W*)?",
    re.IGNORECASE,
)
_SECONDS: Final = re.compile(r"seconds?|secs?|sekunden|секунд\w*|secondes?", re.IGNORECASE)
_LARGEST_BLOCK: Final = 64 << 20


def with_amounts(headings: Mapping[int, Heading], rows: Sequence[Row]) -> dict[int, Heading]:
    """The headings; an amount and a time beside each other are figures, bytes alone that are powers of two a block size.

    Seconds are a figure where nothing else is; where rates stand beside them, they may be how long a test was to run.
    """
    found = dict(headings)
    free = {i: h for i, h in headings.items() if h.role in ("unknown", "ignored") and numbers(i, rows)}
    amounts = {i: match["unit"] for i, h in free.items() if (match := _AMOUNT.fullmatch(h.text)) is not None}
    times = {i: match["unit"] for i, h in free.items() if (match := _TIME.fullmatch(h.text)) is not None}
    figures = any(heading.role in ("figure", "share", "value") for heading in headings.values())
    if amounts and times:
        for index, unit in amounts.items():
            found[index] = headings[index]._replace(role="figure", metric="amount", unit=_size_unit(unit))
    elif figures:
        for index, unit in amounts.items():
            if _size_unit(unit) == "B" and all(map(_is_block, (cell.number.value for cell in numbers(index, rows)))):
                found[index] = headings[index]._replace(role="block", unit="b")
    for index, unit in times.items():
        if amounts or (not figures and _SECONDS.fullmatch(headings[index].text)):
            found[index] = headings[index]._replace(role="figure", metric="time", unit=_time_unit(unit))
    return found


def _is_block(value: float) -> bool:
    size = int(value)
    return size == value and 512 <= size <= _LARGEST_BLOCK and size & (size - 1) == 0


def _size_unit(unit: str) -> str:
    """`B`, `kB`, `MiB`; the units of a table."""
    letter, binary = unit[0].upper(), "i" in unit.lower()[1:2]
    if letter not in "KMGT" or len(unit) == 1:
        return "B"
    return f"{letter}iB" if binary else f"{letter if letter != 'K' else 'k'}B"


def _time_unit(unit: str) -> str:
    return next((name for words, name in TIMES if re.fullmatch(words, unit.lower())), "s")
