"""Panels of charts: their parts, colours and shapes. `figure.py` lays a panel out, `sheet.py` writes it as SVG or PNG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from raidtui.base.text import clean
from raidtui.model.problem import Refusal
from raidtui.results.comparison import Comparison
from raidtui.results.rates import Unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

NO_CHARTS: Final = Refusal(
    "no-charts",
    "A library is missing",
    "Charts are drawn by matplotlib, and workbooks are written by XlsxWriter; one of them is not installed here.",
    "pip install 'raidtui[charts]', or Debian's packages python3-matplotlib and python3-xlsxwriter.",
)

MOST_LINES = 12
"""Layouts in one panel: as many as there are colours and shapes; more cannot be told apart."""


class Tip(NamedTuple):
    """Text that a reader gets by pointing at a mark of a panel."""

    x: float
    """Place in units of the axes."""
    y: float
    words: str
    place: int | None = None
    """Place of its layout in the comparison; None where the mark is not of one of its layouts, or the row not named so."""


class Panel(NamedTuple):
    """One picture. `height` is in inches; the width is the sheet's."""

    title: str
    draw: Callable[[Axes, Style], Sequence[Tip]]
    """Draws on the axes and returns the texts of the marks. What belongs to a layout has the id `series_id`."""
    height: float = 2.8
    about: str = ""
    """Description of the picture for screen readers."""
    scale: str = ""
    """Panels in sequence that have the same text here are compared with each other, and have the same axes."""
    rows: bool = False
    """Its y axis has names, one a row, and is no scale."""
    beside: bool = False
    """It stands right of the panel before, whose rows are its rows."""


class Chart(NamedTuple):
    """One kind of chart: as many panels as a comparison gives."""

    name: str
    title: str
    panels: Callable[[Comparison], list[Panel]]
    detail: bool = False
    """It shows cells one by one: on paper it is not in the summary."""
    signs: str = ""
    """Explanation of signs that no legend of a panel has."""
    swept: bool = True
    """False where the curves of sweeps say the same of their workloads, which are drawn only if the kind is asked for."""


T = TypeVar("T")


def in_parts(title: str, items: Sequence[T]) -> Iterator[tuple[str, Sequence[T]]]:
    """A panel's items, in several panels of about the same size where they are many, with titles: `IOPS (2 of 3)`."""
    count = max(1, math.ceil(len(items) / MOST_LINES))
    size = max(1, math.ceil(len(items) / count))
    parts = [items[start : start + size] for start in range(0, len(items), size)]
    for number, part in enumerate(parts, 1):
        yield f"{title} ({number} of {len(parts)})" if len(parts) > 1 else title, part


class Line(NamedTuple, Generic[T]):
    """Data with its label in the legend. Its place is that of its layout in the comparison."""

    label: str
    data: T
    place: int
    about: str
    """Layout and workload, for the texts of its marks."""
    unit: Unit


_SERIES_ID = "layout-"


def series_id(place: int) -> str:
    """Return the id (matplotlib's `gid`) of everything that is drawn of the layout at this place."""
    return f"{_SERIES_ID}{place}"


def layout_of(series: str) -> int | None:
    """Return the place of the layout of a `series_id`; None of any other id."""
    return int(series.removeprefix(_SERIES_ID)) if series.startswith(_SERIES_ID) else None


def places_of(comparison: Comparison) -> dict[str, int]:
    """Return the place of each layout, by its label, which gives its colour and shape in all panels."""
    return {row.label: place for place, row in enumerate(comparison.rows)}


def panels_of_lines(
    title: str, lines: Sequence[Line[T]], draw: Callable[[Sequence[Line[T]], Axes, Style], Sequence[Tip]], scale: str
) -> Iterator[Panel]:
    """Yield panels of labelled lines, with room for their legend. Parts of one panel have the same `scale`."""
    for shown, part in in_parts(title, lines):
        about = "; ".join(line.label for line in part)
        yield Panel(shown, partial(draw, part), 2.3 + legend_height(len(part)), about, scale)


def numbers(axis: Axis) -> None:
    """Whole numbers with separators along it; small ones with what is behind the point."""
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 10 or not value else f"{value:g}")


def from_zero(axes: Axes) -> None:
    """Let the y axis begin at 0, and leave room above the highest mark."""
    axes.set_ylim(0, axes.dataLim.y1 * 1.06 if axes.dataLim.y1 > 0 else 1.0)


_ROUNDEST = (1, 5, 2, 3, 7, 4, 6, 8, 9)
"""First digits of ticks, the most welcome first."""


def round_times(axis: Axis, low_us: float, high_us: float, gap: float) -> None:
    """Give a logarithmic axis of times these limits, and round times as ticks, no two nearer than this share of it."""
    decades = math.log10(high_us / low_us)
    exponents = range(math.floor(math.log10(low_us)), math.ceil(math.log10(high_us)) + 1)
    kept: list[float] = []
    for digit in _ROUNDEST:
        for ten in exponents:
            us = digit * 10.0**ten
            if low_us <= us <= high_us and all(abs(math.log10(us / other)) >= gap * decades for other in kept):
                kept.append(us)
    axis.set_ticks(sorted(kept))
    axis.set_minor_locator(axis.get_major_locator())
    axis.set_major_formatter(lambda value, _: _round_time(value))
    axis.set_view_interval(low_us, high_us, ignore=True)


def _round_time(us: float) -> str:
    """`50 µs`, `2 ms`."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{us / size:g} {unit}"
    return f"{us:g} µs"


def by_number(axes: Axes, what: str) -> None:
    """Rates from zero on over rounds or passes, which are counted."""
    from_zero(axes)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel(what)
    numbers(axes.yaxis)


LEGEND_LINE = 0.19
"""Height of a line of a legend in inches. It has two names."""


def legend_height(names: int) -> float:
    """Return the height of a legend with so many names, in inches."""
    return (names + 1) // 2 * LEGEND_LINE


_SERIES = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#7f6fc9", "#8c8c8c", "#e0325b", "#7a9a01", "#9c6644",
    "#4f5bd5",
)  # fmt: skip
"""Okabe and Ito's colours, which the colour-blind tell apart, and some more; they are seen on white and on black."""
_SHAPES = "osD^vP*X<>dp"


class Style(NamedTuple):
    """Colours by what they are for."""

    ink: str = "#1c2430"
    muted: str = "#5b6675"
    grid: str = "#d5dae1"
    paper: str = "#ffffff"
    series: tuple[str, ...] = _SERIES

    def colour(self, place: int) -> str:
        """Return the colour of the layout at this place of the comparison, the same in all panels."""
        return self.series[place % len(self.series)]

    def mark(self, place: int) -> str:
        """Return a shape beside the colour: meaning is never by colour alone; where colours repeat, shapes differ."""
        return _SHAPES[(place + place // len(self.series)) % len(_SHAPES)]


STYLE = Style()


def short(name: str, length: int = 26) -> str:
    """A name that fits beside an axis: harmless, and cut in its middle, where names of disks are most alike."""
    shown = clean(name, 200)
    keep = length - 1
    return shown if len(shown) <= length else f"{shown[: keep // 2]}…{shown[-(keep - keep // 2) :]}"
