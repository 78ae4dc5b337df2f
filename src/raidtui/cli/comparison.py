"""The comparison table on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raidtui.cli.screen import indented
from raidtui.results.comparison import Comparison
from raidtui.results.formats.table import table_lines

if TYPE_CHECKING:
    from rich.console import Console


def show_comparison(comparison: Comparison, out: Console, *, about: bool = False) -> None:
    """Print the table as wide as the terminal, and below it why cells are invalid and layouts missing."""
    from rich.text import Text

    for line in table_lines(comparison, out.width, about=about):
        if line.sentence:
            out.print(indented(line.words, 0, line.mark, "yellow" if line.mark == "⚠" else ""))
        else:
            out.print(Text(line.words, "bold" if line.head else ""), no_wrap=True, overflow="ignore", crop=False)
