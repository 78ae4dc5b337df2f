"""Small drawings for a table's cells: a bar, a history, and what stands where there is nothing."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite

from rich.style import Style
from rich.text import Text

from raidtui.tui.widgets.glyphs import Glyphs, glyphs


def absent(signs: Glyphs | None = None) -> str:
    """What is shown for a value that is not there."""
    return (signs or glyphs()).absent


def bar(percent: float | None, width: int, style: str | Style = "", signs: Glyphs | None = None) -> Text:
    """`percent` of 100 as a bar over `width` cells, in eighths of a cell where the terminal can."""
    signs = signs or glyphs()
    if percent is None or not isfinite(percent):
        return Text(signs.absent.ljust(width)[:width], style="dim")
    steps = len(signs.bar)
    filled = round(min(max(percent, 0.0), 100.0) / 100 * width * steps)
    whole, part = divmod(filled, steps)
    drawn = signs.bar[-1] * whole + (signs.bar[part - 1] if part else "")
    return Text(drawn.ljust(width), style=style)


def spark(
    values: Sequence[float | None],
    width: int,
    *,
    top: float | None = None,
    style: str | Style = "",
    signs: Glyphs | None = None,
) -> Text:
    """The last `width` values, one per cell, newest on the right; where there was none, a gap.

    `top` is the value of the highest level; without it, the largest value in view. Levels start at 0.
    """
    signs = signs or glyphs()
    newest = values[-width:] if width > 0 else ()
    recent = [value if value is not None and isfinite(value) else None for value in newest]
    highest = max((value for value in recent if value is not None), default=0.0) if top is None else top
    levels, last = signs.spark, len(signs.spark) - 1
    # Level 0 is kept for what is next to nothing, so that a busy second can be told from an idle one.
    steps = last / max(highest, 1e-300) if highest > 0 else 0.0
    drawn = [" " if value is None else levels[ceil(max(0, min(last, value * steps)))] for value in recent]
    return Text("".join(drawn).rjust(width), style=style)
