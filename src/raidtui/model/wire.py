"""Bounds of what one side takes from the other: a message is measured before anything is made of it.

The length of a message says little of the memory that it comes to (`[{},{},…` becomes twenty times as much), and readers of
JSON take numbers and depths that arithmetic and printing then fail on.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

MAX_HELLO_BYTES: Final = 64 << 10
MAX_MESSAGE_BYTES: Final = 16 << 20
"""Of what an engine sends."""
MAX_REQUEST_BYTES: Final = 8 << 20
"""Eight times as long as a scenario may be. Of a result, only what a plan is made from is sent (`without_cells`)."""
MAX_DEPTH: Final = 64
MAX_VALUES: Final = 400_000
"""Ten times as many as the plan of the largest shipped scenario has."""
MAX_TEXT_BYTES: Final = 1 << 20
"""Of one text that is shown."""

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Everything that msgspec says of bytes that are not what was asked for."""

_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_LONG_TEXT: Final = re.compile(rb'"[^"]{%d}' % MAX_TEXT_BYTES)
# Counters of 64 bits have twenty digits, and tools print them; sums and products of numbers below 1e30 stay finite.
_HUGE_NUMBER: Final = re.compile(rb"(?<![\w.])-?\d{25}|\d[eE]\+?0*(?:[3-9]\d|\d{3})")
_DEPTH_ONLY: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


def excess(message: bytes | bytearray | memoryview, *, texts: bool = True) -> str:
    """Why this well-formed JSON is more than is taken, in words; empty where it is not.

    Without `texts`, one text may be as long as a message may.
    """
    data = message if isinstance(message, (bytes, bytearray)) else bytes(message)
    if data.count(b",") + data.count(b"{") + data.count(b"[") > MAX_VALUES and _values(data) > MAX_VALUES:
        return f"it has more than {MAX_VALUES} values"
    if texts and len(data) > MAX_TEXT_BYTES and _LONG_TEXT.search(data):
        return f"a text in it has more than {MAX_TEXT_BYTES >> 20} MiB"
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH and _deeper(_STRING.sub(b"", data), MAX_DEPTH):
        return f"it is nested more than {MAX_DEPTH} deep"
    if _HUGE_NUMBER.search(data) and (found := _HUGE_NUMBER.search(_STRING.sub(b'""', data))):
        return f"the number {found.group().decode()}… is out of range"
    return ""


def _values(data: bytes | bytearray) -> int:
    bare = _STRING.sub(b"", data)
    return bare.count(b",") + bare.count(b"{") + bare.count(b"[")


def _deeper(bare: bytes | bytearray, most: int) -> bool:
    """Whether brackets are nested more than `most` deep. Each pass takes the innermost ones away."""
    left = bare.translate(_DEPTH_ONLY, _NO_BRACKETS)
    for _ in range(most):
        left = left.replace(b"[]", b"")
    return bool(left)
