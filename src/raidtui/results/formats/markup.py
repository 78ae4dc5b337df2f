"""HTML of a page's parts: harmless text, tables that can be sorted, ids of cells."""

from __future__ import annotations

from html import escape

from raidtui.base.text import clean


def text(value: object, limit: int = 4096) -> str:
    """Harmless text."""
    return escape(clean(value, limit))


def anchor(row: int, column: int) -> str:
    """Return the id of the first cell of an entry."""
    return f"cell-{row + 1}-{column + 1}"


_PORTRAIT = 9
"""Columns that a sheet takes upright."""


def table(heads: list[str], rows: list[str], left: frozenset[str] = frozenset(), *, long: bool = True) -> str:
    """`heads` are markup already. Where it may be `long`, a table of many rows scrolls in a window of its own."""
    shown = "".join(f'<th scope="col"{" class=text" if head in left else ""}>{head}</th>' for head in heads)
    look = (" tall" if long and len(rows) > 40 else "") + (" wide" if len(heads) > _PORTRAIT else "")
    # On paper nothing can be scrolled: the letters are as small as the number of columns asks for.
    style = f' style="--columns: {len(heads)}"'
    return (f'<div class="scroll{look}" tabindex="0"{style}><table class="sortable"><thead><tr>{shown}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div>")  # fmt: skip


def value(number: float | None) -> str:
    """Return the sort key of a column."""
    return "" if number is None else f' data-value="{number:.6g}"'
