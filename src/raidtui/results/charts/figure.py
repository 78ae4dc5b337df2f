"""The figure of a panel: matplotlib's settings, margins, title and legend.

matplotlib draws: well kept, less than half the size of its peers, both SVG and PNG without a browser, and Debian has it. It
is imported when the first panel is drawn. Its own layouts draw everything two or three times to measure it; here the few
texts that need room are measured once, and a panel is drawn once.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from raidtui.base.collecting import uncollected
from raidtui.model.problem import fail
from raidtui.results.charts.drawing import LEGEND_LINE, NO_CHARTS, STYLE, Panel, Tip, layout_of, legend_height

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font

WIDTH = 4.6
"""Width of a panel in inches: readable on a telephone, and two or three of them fit beside each other on a desk."""
POINTS = 72.0
"""Points of an inch."""
FONT = "DejaVu Sans"

_TITLE, TICK, _NAME = 9.5, 8.5, 7.5
"""Sizes of letters in points: titles, ticks and labels, names in legends."""
_EDGE, _LABEL = 0.06, 0.17
"""Inches: empty space at the edges, and the height of a line of ticks or of the label of an axis."""
_TICK_SPACE = 0.1
"""Inches between an axis and the names of its ticks: the tick and the space behind it."""
_RIGHT = 0.14
"""Inches right of the axes, at least."""
_LOCK = Lock()
"""matplotlib's settings are the process's: one drawing at a time."""


class Box(NamedTuple):
    """A part of a panel in points from its upper left corner, of the layout at this place; None if it is of none."""

    x: float
    y: float
    width: float
    height: float
    words: str
    place: int | None


class Drawn(NamedTuple):
    """A panel that is laid out."""

    panel: Panel
    figure: Figure
    marks: Sequence[Box]
    """Where pointing gives a text."""
    names: Sequence[Box]
    """The names of layouts in its legend, or at its rows."""


def figures(panels: Sequence[Panel]) -> Iterator[Drawn]:
    """Yield the panels in their order, laid out. The axes of panels of one scale are as wide as the widest of them."""
    for _, group in groupby(enumerate(panels), key=lambda item: item[1].scale or item[0]):
        begun = [(panel, *_begun(panel)) for _, panel in group]
        if len(begun) > 1:
            _share([axes for _, _, axes, _ in begun], rows=begun[0][0].rows)
        for panel, figure, axes, tips in begun:
            names = _lay_out(panel, figure, axes)
            marks = _marks(panel, axes, tips)
            if panel.rows:
                names += _names_of_rows(axes, tips, marks)
            yield Drawn(panel, figure, marks, names)


def _begun(panel: Panel) -> tuple[Figure, Axes, Sequence[Tip]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, panel.height), dpi=POINTS)
    axes = figure.add_axes((0.12, 0.2, 0.85, 0.7))
    return figure, axes, panel.draw(axes, STYLE)


def _share(all_axes: Sequence[Axes], *, rows: bool) -> None:
    """Give all of them the widest limits of any; an axis that runs backwards still does. With `rows`, x alone."""
    for get, put in (("get_xlim", "set_xlim"), ("get_ylim", "set_ylim"))[: 1 if rows else 2]:
        found = [getattr(axes, get)() for axes in all_axes]
        low, high = min(min(ends) for ends in found), max(max(ends) for ends in found)
        backwards = found[0][0] > found[0][1]
        for axes in all_axes:
            getattr(axes, put)(*((high, low) if backwards else (low, high)))


def _lay_out(panel: Panel, figure: Figure, axes: Axes) -> list[Box]:
    """Put the axes where their ticks, labels, title and legend leave room for them. Return the names of the legend."""
    shown = bool(axes.axison)
    names = _legend(panel, figure, axes)
    bottom = legend_height(len(names)) + _EDGE
    if shown:
        bottom += _LABEL + (_LABEL if axes.get_xlabel() else 0.0)
    left = _EDGE
    if shown:
        left += _TICK_SPACE + max((inches_of(text, TICK) for text in _ticks(axes.yaxis)), default=0.0)
        left += _LABEL if axes.get_ylabel() else 0.0
    right = max([_RIGHT, *(inches_of(text, TICK) / 2 for text in _ticks(axes.xaxis)[-1:])]) if shown else _EDGE
    top = 0.27
    width, height = WIDTH - left - right, panel.height - bottom - top
    axes.set_position((left / WIDTH, bottom / panel.height, width / WIDTH, height / panel.height))
    # Labels have fixed places: matplotlib would measure all ticks to find them.
    axes.xaxis.set_label_coords(0.5, -(0.06 + _LABEL) / height)
    if inches_of(axes.get_xlabel(), TICK) > width:
        axes.xaxis.set_label_coords(1.0, -(0.06 + _LABEL) / height)
        axes.xaxis.label.set_horizontalalignment("right")
    axes.yaxis.set_label_coords(-(left - _EDGE - 0.11) / width, 0.5)
    size = _fitting(panel.title, _TITLE, WIDTH - 2 * _EDGE, bold=True)
    figure.text(_EDGE / WIDTH, 1 - 0.17 / panel.height, panel.title, size=size, weight="bold", color=STYLE.ink)
    return names


_REACH = 5.0
"""Points around a mark within which it is pointed at."""


def _marks(panel: Panel, axes: Axes, tips: Sequence[Tip]) -> list[Box]:
    """Return where the texts of a panel appear: at the marks, or on whole rows."""
    if not tips:
        return []
    high = panel.height * POINTS
    places = axes.transData.transform([(tip.x, tip.y) for tip in tips])
    if not panel.rows:
        return [Box(x - _REACH, high - y - _REACH, 2 * _REACH, 2 * _REACH, tip.words, tip.place)
                for (x, y), tip in zip(places.tolist(), tips, strict=True)]  # fmt: skip
    left = float(axes.get_position().x0) * WIDTH * POINTS
    (_, first), (_, second) = axes.transData.transform([(tips[0].x, 0), (tips[0].x, 1)])
    row = abs(float(second - first))
    return [Box(left, high - y - row / 2, WIDTH * POINTS - left, row, tip.words, tip.place)
            for (_, y), tip in zip(places.tolist(), tips, strict=True)]  # fmt: skip


def _names_of_rows(axes: Axes, tips: Sequence[Tip], marks: Sequence[Box]) -> list[Box]:
    """Return the names at the rows that are layouts, and mark their labels as such."""
    labels = axes.get_yticklabels()
    found = []
    for tip, mark in zip(tips, marks, strict=True):
        if tip.place is not None:
            label = labels[round(tip.y)]
            label.set_gid(name_id(tip.place))
            found.append(Box(0.0, mark.y, mark.x, mark.height, label.get_text(), tip.place))
    return found


def name_id(place: int) -> str:
    """Return the id (matplotlib's `gid`) of the name of the layout at this place."""
    return f"name-{place}"


def width_beside(names: Sequence[str]) -> float:
    """Return the width in inches of axes that have these names at their left."""
    return WIDTH - _EDGE - _TICK_SPACE - max((inches_of(name, TICK) for name in names), default=0.0) - _RIGHT


def _ticks(axis: Axis) -> list[str]:
    """Return the texts of the ticks that are within the limits of an axis."""
    low, high = sorted(axis.get_view_interval())
    places = [float(place) for place in axis.get_majorticklocs()]
    texts = axis.get_major_formatter().format_ticks(places)
    return [text for place, text in zip(places, texts, strict=False) if low <= place <= high]


def _legend(panel: Panel, figure: Figure, axes: Axes) -> list[Box]:
    """Write the names of what is drawn below the axes, two in a line."""
    from matplotlib.lines import Line2D

    handles, labels = axes.get_legend_handles_labels()
    inches = figure.dpi_scale_trans
    column = WIDTH / 2
    found = []
    for number, (handle, label) in enumerate(zip(handles, labels, strict=True)):
        assert isinstance(handle, Line2D)
        x = _EDGE + number % 2 * column
        y = legend_height(len(labels)) - (number // 2 + 0.5) * LEGEND_LINE
        place = layout_of(handle.get_gid() or "")
        gid = None if place is None else name_id(place)
        figure.add_artist(Line2D(
            [x, x + 0.12, x + 0.24], [y, y, y], transform=inches, color=handle.get_color(),
            linestyle=handle.get_linestyle(), linewidth=handle.get_linewidth(), marker=handle.get_marker(), markersize=5,
            markerfacecolor=handle.get_markerfacecolor(), markevery=[1], gid=gid,
        ))  # fmt: skip
        size = _fitting(label, _NAME, column - 0.4)
        figure.text(x + 0.32, y - 0.035, label, transform=inches, size=size, color=STYLE.ink, gid=gid)
        top = (panel.height - y - LEGEND_LINE / 2) * POINTS
        found.append(Box(x * POINTS, top, (column - 0.08) * POINTS, LEGEND_LINE * POINTS, label, place))
    return found


def _fitting(text: str, points: float, inches: float, *, bold: bool = False) -> float:
    """Return the size in points at which a text is no wider than this."""
    return points * min(1.0, inches / max(inches_of(text, points, bold=bold), 0.01))


@lru_cache(4096)
def inches_of(text: str, points: float, *, bold: bool = False) -> float:
    """Return the width of a text in inches."""
    font = _font(bold)
    font.set_size(points, POINTS)
    font.set_text(text, 0.0)
    width, _ = font.get_width_height()
    return float(width) / 64 / POINTS


@cache
def _font(bold: bool) -> FT2Font:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return get_font(findfont(FontProperties([FONT], weight="bold" if bold else "normal")))


def available() -> bool:
    """Return True if charts can be drawn here."""
    return find_spec("matplotlib") is not None


@contextmanager
def drawing(salt: str) -> Iterator[None]:
    """Set matplotlib up, silent about signs that its letters do not have. Raises ProblemError (`no-charts`)."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise fail(
            NO_CHARTS,
            "charts need the Python package matplotlib, which is not installed here",
            remedy="Install it beside raidtui: pip install 'raidtui[charts]', or Debian's python3-matplotlib.",
        ) from None
    # A figure is made of so many objects that looking for garbage takes a tenth of the time.
    with _LOCK, uncollected(many=True), mpl.rc_context(_settings(salt)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _settings(salt: str) -> Any:
    """matplotlib's settings. Names are never taken for mathematics, and the same drawing has the same bytes."""
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "text.parse_math": False,
        "font.family": "sans-serif",
        "font.sans-serif": [FONT],
        "font.size": TICK,
        "axes.edgecolor": STYLE.grid,
        "axes.labelcolor": STYLE.muted,
        "axes.facecolor": "none",
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": STYLE.grid,
        "grid.linewidth": 0.6,
        "xtick.color": STYLE.muted,
        "ytick.color": STYLE.muted,
        "xtick.labelcolor": STYLE.ink,
        "ytick.labelcolor": STYLE.ink,
        "text.color": STYLE.ink,
        "lines.linewidth": 1.3,
        "figure.facecolor": "none",
    }
