"""A page of text made for a width: headings, facts and paragraphs that hang from their mark. Foreign text is cleaned."""

from __future__ import annotations

import textwrap

from rich.cells import cell_len
from textual.content import Content

from raidtui.base.text import clean
from raidtui.tui.widgets.glyphs import glyphs
from raidtui.tui.widgets.table_line import fit

Piece = tuple[str, str]
"""Text and a style, in theme variables (`$text-error`) or words (`bold`)."""

MUTED, GOOD, WARN, BAD, ACCENT = "$text-muted", "$text-success", "$text-warning", "$text-error", "$text-accent"


_PLAIN = str.maketrans({"✓": "+", "✗": "x", "⚠": "!", "–": "-", "×": "x", "…": "~", "µ": "u"})


def signs(text: str) -> str:
    """Marks that this terminal can draw."""
    return text if glyphs().unicode else text.translate(_PLAIN)


class Sheet:
    """Lines so far. Nothing in it is markup."""

    def __init__(self, width: int) -> None:
        self.width = max(20, width)
        self._lines: list[list[Piece]] = []

    def row(self, *pieces: Piece | str) -> None:
        """One line, as it is: the caller has made it fit."""
        self._lines.append([(piece, "") if isinstance(piece, str) else piece for piece in pieces])

    def head(self, words: str, more: str = "") -> None:
        """A heading with a blank line above it."""
        if self._lines:
            self.row("")
        self.row((clean(words, self.width), "bold $text-primary"), (f"  {clean(more)}" if more else "", MUTED))

    def para(self, words: object, *, mark: str = "", indent: int = 0, style: str = "", limit: int = 4096) -> None:
        """A paragraph; its further lines stay clear of the mark."""
        hang = indent + (cell_len(mark) + 1 if mark else 0)
        wrapped = textwrap.wrap(clean(words, limit), max(10, self.width - hang)) or [""]
        for number, line in enumerate(wrapped):
            left = " " * indent + (f"{mark} " if mark and number == 0 else " " * (hang - indent))
            self.row((left, style), (line, style))

    def fact(self, name: str, value: object, *, style: str = "", column: int = 14) -> None:
        """A name and what it is; long values hang."""
        wrapped = textwrap.wrap(clean(value, 2000), max(10, self.width - column)) or [glyphs().absent]
        for number, line in enumerate(wrapped):
            left = clean(name, column - 1) if number == 0 else ""
            self.row((left.ljust(column), MUTED), (line, style))

    def content(self) -> Content:
        """All of it."""
        parts: list[Content] = []
        for line in self._lines:
            parts.append(Content.assemble(*((signs(text), style) for text, style in line if text)))
        return Content("\n").join(parts)


def cut(text: object, width: int, *, right: bool = False) -> str:
    """Foreign text in exactly `width` cells."""
    return fit(clean(text), width, "right" if right else "left", glyphs().ellipsis)[0]
