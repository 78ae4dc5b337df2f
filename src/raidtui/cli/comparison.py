"""The comparison table: layouts × workloads, in as many tables as the width asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from raidtui.base.text import clean
from raidtui.cli.screen import indented, table, text
from raidtui.results.compare import Comparison, Entry, Row
from raidtui.results.numbers import NOTHING, Unit, percent_text, rate_text

if TYPE_CHECKING:
    from rich.console import Console

_GAP = 2
_LEAST_COLUMN = 14


class _Notes:
    """Footnotes: the same sentence has the same number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def mark(self, sentence: str) -> str:
        return f"[{self.numbers.setdefault(sentence, len(self.numbers) + 1)}]"


def show_comparison(comparison: Comparison, out: Console) -> None:
    """Print the table, and below it why cells are invalid and layouts missing."""
    notes = _Notes()
    labels = [clean(row.label) for row in comparison.rows]
    first = max([len("LAYOUT"), *map(len, labels)])
    for number, columns in enumerate(_fitting(comparison, out.width - first)):
        if number:
            out.print()
        heads = [f"{clean(comparison.workloads[i])} {comparison.units[i]}" for i in columns]
        listing = table("LAYOUT", *heads, right=tuple(heads))
        listing.columns[0].no_wrap = True
        for label, row in zip(labels, comparison.rows, strict=True):
            cells = [_cell(row, i, comparison.units[i], notes) for i in columns]
            listing.add_row(text(label), *(text(cell) for cell in cells))
        out.print(listing)
    if comparison.baseline and len(comparison.rows) > 1:
        out.print(text(f"% of {comparison.baseline}", "dim"))
    for sentence, number in notes.numbers.items():
        out.print(indented(sentence, 0, f"[{number}]"))


def _fitting(comparison: Comparison, width: int) -> Iterator[list[int]]:
    """Indexes of the workloads, in groups that fit side by side."""
    group: list[int] = []
    used = 0
    for index, name in enumerate(comparison.workloads):
        needed = _GAP + max(_LEAST_COLUMN, len(clean(name)))
        if group and used + needed > width:
            yield group
            group, used = [], 0
        group.append(index)
        used += needed
    yield group


def _cell(row: Row, index: int, unit: Unit, notes: _Notes) -> str:
    entry = row.entries[index] if index < len(row.entries) else None
    if entry is None:
        return f"✗ not built {notes.mark(row.failed)}" if row.failed else NOTHING
    if entry.median is None:
        return f"✗ invalid {notes.mark(_why(entry))}"
    words = rate_text(entry.median, unit)
    if spread := _spread(entry):
        words += f" ±{spread}"
    if entry.of_baseline is not None:
        words += f" {percent_text(entry.of_baseline):>5}"
    if entry.valid < entry.cells:
        words += f" ({entry.valid} of {entry.cells} valid) {notes.mark(_why(entry))}"
    return words


def _spread(entry: Entry) -> str:
    """Half the distance between the best and the worst round, as a share of the median; empty for a single round."""
    if entry.valid < 2 or not entry.median or entry.low is None or entry.high is None:
        return ""
    return percent_text((entry.high - entry.low) / 2 / entry.median)


def _why(entry: Entry) -> str:
    return "; ".join(entry.reasons) or "no reason was given"
