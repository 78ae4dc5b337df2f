"""Bounds of what one side takes from the other: a message is measured before anything is made of it.

The length of a message says little of the memory that it comes to (`[{},{},…` becomes twenty times as much), and readers of
JSON take numbers and depths that arithmetic and printing then fail on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

MAX_HELLO_BYTES: Final = 64 << 10
MAX_MESSAGE_BYTES: Final = 16 << 20
"""Limit of one message from an engine."""
MAX_REQUEST_BYTES: Final = 8 << 20
"""Eight times as long as a scenario may be. Of a result, only what a plan is made from is sent (`without_cells`)."""
MAX_DEPTH: Final = 64
MAX_VALUES: Final = 1_000_000
"""Twenty-five times as many as the plan of the largest shipped scenario has."""
MAX_TEXT_BYTES: Final = 1 << 20
"""Limit of one text that is shown."""

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Everything that msgspec says of bytes that are not what was asked for."""

_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
# Counters of 64 bits have twenty digits, and tools print them; sums and products of numbers below 1e30 stay finite.
_HUGE_NUMBER: Final = re.compile(rb"(?<![\w.])-?\d{25}|\d[eE]\+?0*(?:[3-9]\d|\d{3})")
_AS_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")
_NO_MARKS: Final = bytes(set(range(256)) - set(b",[]{}"))
_PART_BYTES: Final = 64 << 10


def excess(message: bytes | bytearray, *, texts: bool = True) -> str:
    """Return the reason why this JSON exceeds a limit; empty if it does not.

    Without `texts`, one text may be as long as a message may.
    """
    numbers = _HUGE_NUMBER.search(message) is not None
    if not numbers and len(message) <= MAX_TEXT_BYTES and message.count(b"[") + message.count(b"{") <= MAX_DEPTH:
        return ""
    marks, before = bytearray(), 0
    for start, end in _outside_strings(message):
        if texts and start - before > MAX_TEXT_BYTES:
            return f"a text in it has more than {MAX_TEXT_BYTES >> 20} MiB"
        if numbers and (found := _HUGE_NUMBER.search(message, start, end)):
            return f"the number {found.group().decode()}… is out of range"
        for at in range(start, end, _PART_BYTES):
            marks += message[at : min(end, at + _PART_BYTES)].translate(_AS_ONE_KIND, _NO_MARKS)
            if len(marks) > 2 * MAX_VALUES:  # every bracket is closed
                return f"it has more than {MAX_VALUES:,} values"
        before = end
    if _deeper(marks.replace(b",", b"")):
        return f"it is nested more than {MAX_DEPTH} deep"
    return ""


def _outside_strings(message: bytes | bytearray) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the parts outside of strings, in order."""
    at = 0
    for match in _STRING.finditer(message):
        yield at, match.start()
        at = match.end()
    yield at, len(message)


def _deeper(brackets: bytes | bytearray) -> bool:
    """Return True for brackets nested more than `MAX_DEPTH` deep. Each pass removes the innermost ones."""
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)
