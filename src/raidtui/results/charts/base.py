"""Charts: panels with a title, each drawn into one pair of axes; their colours and letters.

In an SVG, colours are variables of the page, so that one drawing is light and dark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from raidtui.base.text import clean
from raidtui.results.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

MOST_LINES = 8
"""Layouts in one panel: as many as there are colours and shapes; more cannot be told apart."""
LEGEND_ROW = 0.19
"""Height of a line of the legend, in inches."""


class Panel(NamedTuple):
    """One picture. `height` is in inches; the width is the sheet's."""

    title: str
    draw: Callable[[Axes, Style], None]
    height: float = 2.8
    about: str = ""
    """Description of the picture for screen readers."""


class Chart(NamedTuple):
    """One kind of chart: as many panels as a comparison gives."""

    name: str
    title: str
    panels: Callable[[Comparison], list[Panel]]


T = TypeVar("T")


def in_parts(title: str, items: Sequence[T]) -> Iterator[tuple[str, Sequence[T]]]:
    """A panel's items, in several panels where they are many: each with its title, `IOPS by second (2 of 3)`."""
    parts = [items[start : start + MOST_LINES] for start in range(0, len(items), MOST_LINES)]
    for number, part in enumerate(parts, 1):
        yield f"{title} ({number} of {len(parts)})" if len(parts) > 1 else title, part


def legend(axes: Axes) -> None:
    """Below the panel, two names in a line."""
    handles, labels = axes.get_legend_handles_labels()
    figure = axes.get_figure()
    if handles and figure is not None:
        figure.legend(handles, labels, loc="outside lower left", ncols=2, handlelength=1.6, columnspacing=1.2)


def numbers(axis: Axis) -> None:
    """Whole numbers with separators along it; small ones with what is behind the point."""
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 10 or not value else f"{value:g}")


def by_number(axes: Axes, what: str) -> None:
    """Rates from zero on over rounds or passes, which are counted."""
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel(what)
    numbers(axes.yaxis)
    legend(axes)


def legend_height(names: int) -> float:
    """Return the height of a legend with so many names, in inches."""
    return (names + 1) // 2 * LEGEND_ROW


_SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#7f6fc9", "#8c8c8c")
"""Okabe and Ito's colours, which the colour-blind tell apart, and two more; they are seen on white and on black."""


class Style(NamedTuple):
    """Colours by what they are for."""

    ink: str = "#1c2430"
    muted: str = "#5b6675"
    grid: str = "#d5dae1"
    paper: str = "#ffffff"
    series: tuple[str, ...] = _SERIES

    def colour(self, index: int) -> str:
        return self.series[index % len(self.series)]

    def mark(self, index: int) -> str:
        """A shape beside the colour: meaning is never by colour alone."""
        return "osD^vP*X"[index % 8]


STYLE = Style()
PAGE_COLOURS = {STYLE.ink: "ink", STYLE.muted: "muted", STYLE.grid: "grid", STYLE.paper: "paper"}
"""Colours that follow the page's theme, and the names of its variables."""
DARK = {"ink": "#e6e9ee", "muted": "#9aa5b4", "grid": "#38414d", "paper": "#14181e"}


def settings(salt: str) -> Any:
    """matplotlib's settings. Names are never taken for mathematics, and the same drawing has the same bytes."""
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "text.parse_math": False,
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 8.5,
        "axes.titlesize": 9.5,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.edgecolor": STYLE.grid,
        "axes.labelcolor": STYLE.muted,
        "axes.titlecolor": STYLE.ink,
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
        "legend.frameon": False,
        "legend.fontsize": 7.5,
        "lines.linewidth": 1.3,
        "figure.facecolor": "none",
    }


def short(name: str, length: int = 26) -> str:
    """A name that fits beside an axis: harmless, and cut in its middle, where names of disks are most alike."""
    shown = clean(name, 200)
    keep = length - 1
    return shown if len(shown) <= length else f"{shown[: keep // 2]}…{shown[-(keep - keep // 2) :]}"
