"""Small drawings for a table's cells: a bar, a history, and what stands where there is nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, isfinite

from rich.style import Style
from rich.text import Text

from raidtui.tui.widgets.glyphs import Glyphs, glyphs


def absent(signs: Glyphs | None = None) -> str:
    """Text for a missing value."""
    return (signs or glyphs()).absent


def bar(percent: float | None, width: int, style: str | Style = "", signs: Glyphs | None = None) -> Text:
    """`percent` of 100 as a bar over `width` cells, in eighths of a cell where the terminal can."""
    if percent is None or not isfinite(percent):
        return Text(absent(signs).ljust(width)[:width], style="dim")
    return Text(bar_text(percent, width, signs), style=style)


def bar_text(percent: float, width: int, signs: Glyphs | None = None) -> str:
    """A bar of a number."""
    signs = signs or glyphs()
    steps = len(signs.bar)
    filled = round(min(max(percent, 0.0), 100.0) / 100 * width * steps)
    whole, part = divmod(filled, steps)
    return (signs.bar[-1] * whole + (signs.bar[part - 1] if part else "")).ljust(width)


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
    newest = values[-width:] if width > 0 else ()
    recent = [value if value is not None and isfinite(value) else None for value in newest]
    highest = max((value for value in recent if value is not None), default=0.0) if top is None else top
    return Text(spark_text(recent, highest, signs).rjust(width), style=style)


def spark_text(values: Iterable[float | None], top: float, signs: Glyphs | None = None) -> str:
    """One sign for each value, up to `top`. Level 0 is next to nothing: a busy second can be told from an idle one."""
    levels = (signs or glyphs()).spark
    last = len(levels) - 1
    steps = last / max(top, 1e-300) if top > 0 else 0.0
    return "".join([" " if value is None else levels[ceil(max(0, min(last, value * steps)))] for value in values])
