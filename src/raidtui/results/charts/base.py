"""What a chart is: panels with a title, each drawn into one pair of axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from raidtui.results.charts.style import Style
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
    """What is seen, for those who cannot see it."""


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
    """Of a legend with so many names, in inches."""
    return (names + 1) // 2 * LEGEND_ROW
