"""Cells that hold a number and its percentage: `740000 (92.5%)`."""

from __future__ import annotations

import re
from typing import Final

from raidtui.results.imports.cells import Row

_LONGEST: Final = 200
_BOTH: Final = re.compile(r"([~≈]?\s?\d[^()%±]*?)\s*\(\s*([+−-]?\d+(?:[.,]\d+)?\s?%)\s*\)")
_HEADING: Final = re.compile(r"(.+?)\s*[(,/]\s*((?:%|vs).*?)\)?")
"""`IOPS (% of raid0)`."""
_WHOLE: Final = re.compile(r"100(?:[.,]0+)?\s?%|[+−-].*")
"""Of a share, one cell is whole or has a sign; a spread (`523 (2%)`) has neither."""


def is_both(text: str) -> bool:
    """Whether a cell holds a number and a percentage."""
    return _both(text) is not None


def _both(text: str) -> re.Match[str] | None:
    return _BOTH.fullmatch(text) if len(text) <= _LONGEST else None


def with_shares_apart(rows: list[Row]) -> list[Row]:
    """The table, with a column of percentages behind each that has them in its cells. The first row has the headings."""
    found = [
        (index, match.group(2))
        for row in rows[1:]
        for index, cell in enumerate(row.cells[: len(rows[0].cells)])
        if (match := _both(cell)) is not None
    ]
    if not any(_WHOLE.fullmatch(share) for _, share in found):
        return rows
    columns = {index for index, _ in found}
    return [_apart(row, columns, heading=row is rows[0]) for row in rows]


def _apart(row: Row, columns: set[int], *, heading: bool) -> Row:
    cells: list[str] = []
    for index, cell in enumerate(row.cells):
        both = (_HEADING.fullmatch(cell[:_LONGEST]) if heading else _both(cell)) if index in columns else None
        cells.append(both.group(1) if both is not None else cell)
        if index in columns:
            cells.append(both.group(2) if both is not None else "%" if heading else "")
    return row._replace(cells=tuple(cells))
