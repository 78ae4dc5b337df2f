"""Reading what pg_test_fsync prints: five tables of operations per second."""

from __future__ import annotations

import re
from typing import Final

import msgspec

TABLES: Final = 5
_ROW: Final = re.compile(r"\s+(\S.*?)\s{2,}(?:([\d.]+) ops/sec\s+(\d+) usecs/op|n/a\*?)\s*")
_TITLE: Final = re.compile(r"(?:Compare|Test|Non-sync).*:")


class Row(msgspec.Struct, frozen=True):
    """One line. None where this platform has no such method."""

    name: str
    ops_per_s: float | None
    us_per_op: float | None


class Table(msgspec.Struct, frozen=True):
    """One table, under the title that pg_test_fsync gives it."""

    title: str
    rows: tuple[Row, ...]


def read_row(line: str) -> Row | None:
    """A line of a table, or None for any other line."""
    match = _ROW.fullmatch(line)
    if match is None:
        return None
    ops, us = match.group(2), match.group(3)
    return Row(match.group(1), float(ops) if ops else None, float(us) if us else None)


def read_tables(text: str) -> tuple[Table, ...]:
    """All tables, in order."""
    found: list[Table] = []
    for line in text.splitlines():
        if _TITLE.fullmatch(line):
            found.append(Table(line.rstrip(":"), ()))
        elif found and (row := read_row(line)) is not None:
            found[-1] = Table(found[-1].title, (*found[-1].rows, row))
    return tuple(found)


def row_of(tables: tuple[Table, ...], name: str) -> Row | None:
    """The first table's row of this name: what one write with this method costs."""
    return next((row for row in tables[0].rows if row.name == name), None) if tables else None
