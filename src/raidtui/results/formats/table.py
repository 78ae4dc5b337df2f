"""A table for a terminal: layouts × workloads, in as many tables as the width asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from raidtui.base.text import clean
from raidtui.results.comparison import Comparison
from raidtui.results.formats.base import Format
from raidtui.results.lines import (
    Footnotes,
    confounder_lines,
    entry_words,
    geometric_mean_text,
    has_means,
    legend_lines,
    source_lines,
)

WIDTH = 120
"""Columns where nobody says otherwise."""
_GAP = "  "
_SHORTEST, _LONGEST = 16, 60
"""Letters of a name, as the width permits; of a longer one both ends are shown."""


class Said(NamedTuple):
    """A line of the table, or a sentence below it."""

    words: str
    mark: str = ""
    """Before a sentence: `⚠`, `[2]`; nothing before others."""
    head: bool = False
    sentence: bool = True

    def __str__(self) -> str:
        return f"{self.mark} {self.words}" if self.mark else self.words


def write(comparison: Comparison) -> bytes:
    """The table, 120 columns wide."""
    return "".join(f"{line}\n" for line in table_lines(comparison, WIDTH)).encode()


def table_lines(comparison: Comparison, width: int, *, about: bool = True) -> list[Said]:
    """The table and, below it, why cells are invalid and layouts missing. Long sentences are not wrapped.

    `about` adds what is to be known of the results themselves.
    """
    notes = Footnotes()
    longest = max(_SHORTEST, min(_LONGEST, width * 2 // 5))
    first = ["LAYOUT", *(_name(row.label, longest) for row in comparison.rows)]
    heads = [f"{_name(name, longest)} {unit}" for name, unit in zip(comparison.workloads, comparison.units, strict=True)]
    body = [
        [entry_words(row, index, unit) + notes.marks(row, index) for index, unit in enumerate(comparison.units)]
        for row in comparison.rows
    ]
    table = [list(column) for column in zip(heads, *body, strict=True)]
    if has_means(comparison):
        table.append(["geomean", *map(geometric_mean_text, comparison.rows)])
    found: list[Said] = []
    for group in _fitting(table, width - max(map(cell_len, first))):
        lines = [Said(line, head=not number, sentence=False) for number, line in enumerate(_aligned(first, group))]
        found += [Said("", sentence=False), *lines] if found else lines
    if not table:
        found.append(Said("Nothing was measured."))
    if comparison.baseline and len(comparison.rows) > 1:
        found.append(Said(f"% of {clean(comparison.baseline)}"))
    found += [Said(clean(line, 4096)) for line in legend_lines(comparison)]
    found += [Said(clean(sentence, 4096), f"[{number}]") for sentence, number in notes.numbers.items()]
    told = [*(comparison.notes if about else ()), *confounder_lines(comparison)]
    found += [Said(clean(line, 4096), "⚠") for line in told]
    if about:
        found += [Said(clean(line, 4096)) for line in source_lines(comparison)]
    return found


def _name(name: str, longest: int) -> str:
    shown = clean(name)
    return shown if len(shown) <= longest else f"{shown[: longest // 2]}…{shown[1 - longest // 2 :]}"


def _fitting(table: Sequence[list[str]], room: int) -> Iterator[list[list[str]]]:
    """Columns in groups that fit side by side."""
    group: list[list[str]] = []
    used = 0
    for column in table:
        needed = len(_GAP) + max(map(cell_len, column))
        if group and used + needed > room:
            yield group
            group, used = [], 0
        group.append(column)
        used += needed
    if group:
        yield group


def _aligned(first: list[str], table: list[list[str]]) -> list[str]:
    left = max(map(cell_len, first))
    widths = [max(map(cell_len, column)) for column in table]
    return [
        _GAP.join([label + " " * (left - cell_len(label)),
                   *(" " * (wide - cell_len(cell)) + cell for cell, wide in zip(cells, widths, strict=True))])
        for label, *cells in zip(first, *table, strict=True)
    ]  # fmt: skip


FORMAT = Format("table", ".txt", "a table for a terminal", write)
