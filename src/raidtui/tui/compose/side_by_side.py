"""Drawings of several layouts beside each other, where the terminal is wide and tall enough."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from textual.content import Content

from raidtui.model.describe import LayoutView
from raidtui.tui.compose.drawing import Scene, drawing
from raidtui.tui.compose.figures import heading, short

_LEAST_WIDTH: Final = 32
"""Cells of a drawing, at least."""
_GAP: Final = 3
_MOST: Final = 6
"""Layouts that are drawn beside the shown one."""
WIDE, TALL = 64, 44
"""Width of the pane and height of the terminal from which other layouts are drawn."""


def others(views: Sequence[LayoutView], scene: Scene, width: int) -> list[Content]:
    """Return the drawings of layouts in columns, each under its name."""
    drawn = [(view, room) for view in views[:_MOST] for room in [(width - _GAP) // 2] if room >= _LEAST_WIDTH]
    columns = [[_name(view, room), *drawing(view, scene, room)] for view, room in drawn]
    lines: list[Content] = []
    for first in range(0, len(columns), 2):
        left, *right = columns[first : first + 2]
        lines += [Content(""), *in_columns(left, right[0] if right else [], (width - _GAP) // 2)]
    return lines


def _name(view: LayoutView, width: int) -> Content:
    """Return the name of a layout, with its figures if they fit."""
    line = heading(view.name, width, short(view))
    return line if line.cell_length <= width else heading(view.name, width)


def in_columns(left: Sequence[Content], right: Sequence[Content], width: int) -> list[Content]:
    """Return the lines of both, the right ones behind `width` cells and a gap."""
    empty = Content("")
    return [
        one + Content(" " * (width - one.cell_length + _GAP)) + other if other.plain else one
        for one, other in zip_longest(left, right, fillvalue=empty)
    ]
