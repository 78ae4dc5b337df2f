"""Head of a sheet of charts, which stands alone: what was compared, with which cautions, and what the signs mean."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from raidtui.base.text import clean
from raidtui.results.charts.bars import SIGNS
from raidtui.results.charts.drawing import Panel, Style, Tip
from raidtui.results.comparison import Comparison, without_curves
from raidtui.results.lines import common_marks, confounder_lines, run_lines, sign_lines, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LETTERS = 7.5
"""Size of letters in points."""
_LINE = 0.145
"""Height of a line in inches."""
_WIDE = 76
"""Letters of a line."""
_MOST_LINES = 14


def head_panels(comparison: Comparison, names: Sequence[str]) -> list[Panel]:
    """Return a panel about the results, and beside it one with the signs."""
    with_bars = "bars" in names or (not names and bool(without_curves(comparison).workloads))
    return [_words(title_of(comparison), _about(comparison)), _words("Signs", _signs(comparison, with_bars))]


def _about(comparison: Comparison) -> Iterator[str]:
    yield from run_lines(comparison)
    yield from (f"⚠ {line}" for line in (*comparison.notes, *confounder_lines(comparison), *common_marks(comparison)))


def _signs(comparison: Comparison, with_bars: bool) -> Iterator[str]:
    if with_bars and comparison.baseline and len(comparison.rows) > 1:
        yield f"%: share of the baseline, {comparison.baseline}"
    if with_bars:
        yield from (*sign_lines(comparison), SIGNS)
    yield "a layout has one colour and one shape in all charts"


def _words(title: str, lines: Iterator[str]) -> Panel:
    """Return a panel of wrapped lines; a line after too many says how many are left out."""
    shown = [part for line in lines for part in textwrap.wrap(clean(line, 4096), _WIDE, subsequent_indent="\u00a0\u00a0")]
    if len(shown) > _MOST_LINES:
        shown[_MOST_LINES - 1 :] = ["… the page and the table have the rest"]
    draw = partial(_draw, shown)
    return Panel(clean(title, 80), draw, 0.45 + _LINE * len(shown), "; ".join(shown))


def _draw(lines: Sequence[str], axes: Axes, style: Style) -> Sequence[Tip]:
    axes.set_axis_off()
    axes.text(0, 1, "\n".join(lines), transform=axes.transAxes, va="top", fontsize=_LETTERS, color=style.ink,
              linespacing=_LINE * 72 / _LETTERS / 1.17)  # fmt: skip
    return ()
