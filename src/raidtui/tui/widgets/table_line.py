"""Line of a table: places of its columns, drawn cells, and selected rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import Literal, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from raidtui.base.text import clean
from raidtui.tui.widgets.glyphs import Glyphs

GAP = 1
"""Blank cells between two columns, and before the first."""
Align = Literal["left", "right"]


class Column(NamedTuple):
    """One column of a live table. A flexible one shares what width the others leave, and is never narrower than `width`."""

    key: str
    title: str
    width: int
    align: Align = "left"
    help: str = ""
    flexible: bool = False


class Place(NamedTuple):
    """Place of a column: first cell and width, before any scrolling."""

    x: int
    width: int


class Cell(NamedTuple):
    """A cell as the table remembers it: compared as a whole, and safe from a caller that changes its `Text` later."""

    text: str
    style: str | Style = ""
    spans: tuple[tuple[int, int, str | Style], ...] = ()


Resolve = Callable[[str | Style], Style]
"""Returns the style of a name."""


def place_columns(columns: Sequence[Column], width: int, margin: int = 0) -> tuple[list[Place], int]:
    """Return the places of all columns in `width` cells after a margin, and their total width, which may be more."""
    need = margin + sum(column.width + GAP for column in columns)
    flexible = sum(column.flexible for column in columns)
    spare = max(0, width - need)
    places, x = [], margin
    for column in columns:
        extra = 0
        if column.flexible:
            extra = spare // flexible
            spare, flexible = spare - extra, flexible - 1
        places.append(Place(x, column.width + extra))
        x += column.width + extra + GAP
    return places, x


def freeze(cell: str | Text | Cell) -> str | Cell:
    """Remembered drawing of a cell."""
    if not isinstance(cell, Text):
        return cell
    return Cell(cell.plain, cell.style, tuple((span.start, span.end, span.style) for span in cell.spans))


def fit(text: str, width: int, align: Align, ellipsis: str) -> tuple[str, int]:
    """`text` in exactly `width` cells, and by how many characters it moved to the right."""
    have = len(text) if text.isascii() else cell_len(text)
    if have < width:
        pad = width - have
        return (" " * pad + text, pad) if align == "right" else (text + " " * pad, 0)
    if have == width:
        return text, 0
    return (set_cell_size(text, width - 1) + ellipsis if width > 1 else ellipsis[:width]), 0


def _printable(text: str) -> str:
    """Replace what a terminal would obey, character for character: spans keep their places."""
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


class LineBuilder:
    """Puts a line together: neighbours of one style become one segment, so that few bytes go to the terminal."""

    def __init__(self, base: Style, resolve: Resolve, glyphs: Glyphs) -> None:
        self._base = base
        self._resolve = resolve
        self._glyphs = glyphs
        self._segments: list[Segment] = []
        self._text: list[str] = []
        self._style = base

    def add(self, text: str, style: Style | None = None) -> None:
        """Add `text` as it is, in a style or the line's own."""
        wanted = self._base if style is None else style
        if wanted is not self._style and wanted != self._style:
            self._flush()
            self._style = wanted
        self._text.append(text)

    def blank(self, count: int) -> None:
        """Add blank cells, in the style before them if the difference is invisible."""
        if (self._text or self._segments) and blank_alike(self._style, self._base):
            self._text.append(" " * count)
        else:
            self.add(" " * count)

    def cells(self, cells: Sequence[str | Cell], places: Sequence[tuple[int, Align]]) -> None:
        """Add a row's cells, each in its width; missing ones are blank."""
        base = self._base
        for (width, align), cell in zip(places, chain(cells, repeat("")), strict=False):
            easy = isinstance(cell, str) and len(cell) <= width and cell.isascii() and cell.isprintable()  # nearly all are
            if easy and isinstance(cell, str) and self._style is base:
                self._text.append(cell.rjust(width) + " " if align == "right" else cell.ljust(width + GAP))
            else:
                self.cell(cell, width, align)

    def cell(self, cell: str | Cell, width: int, align: Align) -> None:
        """Add a cell in exactly `width` cells of the terminal, and the gap after it."""
        if isinstance(cell, str):
            self.add(fit(cell if cell.isprintable() else clean(cell), width, align, self._glyphs.ellipsis)[0] + " " * GAP)
            return
        text, moved = fit(_printable(cell.text), width, align, self._glyphs.ellipsis)
        own = self._base + self._resolve(cell.style) if cell.style else self._base
        if not cell.spans:
            self.add(text, own)
            self.blank(GAP)
            return
        at = 0
        for start, end, style in pieces(cell.spans, moved, len(text)):
            self.add(text[at:start], own)
            self.add(text[start:end], own + self._resolve(style))
            at = end
        self.add(text[at:], own)
        self.blank(GAP)

    def segments(self) -> list[Segment]:
        self._flush()
        return self._segments

    def _flush(self) -> None:
        if text := "".join(self._text):
            self._segments.append(Segment(text, self._style))
        self._text = []


@lru_cache(maxsize=256)
def blank_alike(one: Style, other: Style) -> bool:
    """Return True if blank cells look the same in both styles."""
    lines = any(style.underline or style.underline2 or style.overline or style.strike for style in (one, other))
    return not lines and not one.reverse and not other.reverse and one.bgcolor == other.bgcolor


def pieces(
    spans: Iterable[tuple[int, int, str | Style]], moved: int, length: int
) -> Iterable[tuple[int, int, str | Style]]:
    """The spans of a text that was moved and cut, in order and without overlaps: where two overlap, the first one stays."""
    at = 0
    for start, end, style in sorted(spans, key=lambda span: span[0]):
        first, last = max(at, start + moved), min(length, end + moved)
        if first < last:
            yield first, last, style
            at = last


class Selection:
    """Keys that are selected. A range goes from its anchor to the cursor, on top of what was selected before."""

    def __init__(self, selectable: Callable[[str], bool] | None = None) -> None:
        self.keys: frozenset[str] = frozenset()
        self._selectable = selectable or (lambda key: True)
        self._anchor: str | None = None
        self._before: frozenset[str] = frozenset()
        self.sticky = False
        """True if plain movements extend the range, too."""

    def replace(self, keys: frozenset[str]) -> bool:
        """Return True if the selection changed. Keys that cannot be selected are left out."""
        wanted = frozenset(key for key in keys if self._selectable(key))
        changed, self.keys = wanted != self.keys, wanted
        return changed

    def toggle(self, key: str) -> bool:
        """Return True if the key could be toggled."""
        self.end_range()
        return self.replace(self.keys ^ {key})

    def begin_range(self, key: str, sticky: bool = False) -> None:
        """Anchor a range if there is none."""
        self.sticky = self.sticky or sticky
        if self._anchor is None:
            self._anchor, self._before = key, self.keys

    def extend_to(self, key: str, keys: Sequence[str]) -> bool:
        """End the range at `key`. Return True if the selection changed."""
        if self._anchor is None or self._anchor not in keys or key not in keys:
            return False
        first, last = sorted((keys.index(self._anchor), keys.index(key)))
        return self.replace(self._before | frozenset(keys[first : last + 1]))

    def end_range(self) -> None:
        """Keep the selection as it is."""
        self._anchor, self.sticky = None, False

    def keep(self, keys: Sequence[str]) -> bool:
        """Forget keys that are no longer there. Return True if the selection changed."""
        return bool(self.keys) and self.replace(self.keys & frozenset(keys))
