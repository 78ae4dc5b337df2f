"""Lines of text for the panes: cut to a width, filled to a width, laid side by side. Pure; widths are terminal cells."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from raidtui.base.text import clean

BAD = "$text-error"
WARN = "$text-warning"
GOOD = "$text-success"
DIM = "dim"
ACCENT = "$primary"
OFF = "dim italic"


def same(one: Content | None, other: Content) -> bool:
    """Whether two texts look the same: `==` compares the words alone."""
    return one is not None and one.plain == other.plain and one.spans == other.spans


def cut(text: str, width: int, ellipsis: str) -> str:
    """`text` in at most `width` cells, its end cut off where it is longer."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - len(ellipsis))).rstrip() + ellipsis if width >= len(ellipsis) else ""


def cut_front(text: str, width: int, ellipsis: str) -> str:
    """As `cut`, but keeps the end: where serials differ."""
    while text and cell_len(text) > width - len(ellipsis) and cell_len(text) + len(ellipsis) > width:
        text, ellipsis = text[1:], ellipsis
        if cell_len(text) + len(ellipsis) <= width:
            return ellipsis + text
    return text


def fill(line: Content, width: int) -> Content:
    """`line` in exactly `width` cells."""
    return line.truncate(width).pad_right(max(0, width - min(width, line.cell_length)))


def ends(left: Content, right: Content, width: int, ellipsis: str = "…") -> Content:
    """`left` and `right` at the ends of a line of `width` cells; `left` is cut where both are too long."""
    room = width - right.cell_length - (1 if right.cell_length else 0)
    if left.cell_length > room:
        left = left.truncate(max(0, room - len(ellipsis))) + Content(ellipsis)
    return fill(left.pad_right(max(0, width - left.cell_length - right.cell_length)) + right, width)


def beside(blocks: list[list[Content]], widths: list[int], gap: int) -> list[Content]:
    """Blocks next to each other, `gap` cells between them; shorter ones end in blanks."""
    height = max(map(len, blocks), default=0)
    space = Content(" " * gap)
    return [
        space.join(
            fill(block[row] if row < len(block) else Content(""), width)
            for block, width in zip(blocks, widths, strict=True)
        )
        for row in range(height)
    ]


def words(value: object, style: str = "", limit: int = 400) -> Content:
    """A foreign string as harmless text, never as markup."""
    return Content.styled(clean(value, limit), style) if style else Content(clean(value, limit))
