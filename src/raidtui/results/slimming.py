"""A comparison without the cells that its numbers are from."""

from __future__ import annotations

import msgspec

from raidtui.results.comparison import Comparison


def without_cells(comparison: Comparison) -> Comparison:
    """The same numbers; `points` and `again` of every entry are empty."""
    replace = msgspec.structs.replace
    rows = tuple(
        replace(row, entries=tuple(None if entry is None else replace(entry, points=(), again=()) for entry in row.entries))
        for row in comparison.rows
    )
    return replace(comparison, rows=rows)
