"""Panels of charts, their colours and letters, and their drawing as SVG and PNG.

matplotlib draws: well kept, less than half the size of its peers, both SVG and PNG without a browser, and Debian has it. It
is imported when the first panel is drawn. Colours of an SVG are variables of the page: one drawing is light and dark.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from raidtui.base.text import clean
from raidtui.model.problem import Refusal, fail
from raidtui.results.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

NO_CHARTS: Final = Refusal(
    "no-charts",
    "A library is missing",
    "Charts are drawn by matplotlib, and workbooks are written by XlsxWriter; one of them is not installed here.",
    "pip install 'raidtui[charts]', or Debian's packages python3-matplotlib and python3-xlsxwriter.",
)

MOST_LINES = 8
"""Layouts in one panel: as many as there are colours and shapes; more cannot be told apart."""


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


def panels_of_lines(
    title: str, lines: Sequence[tuple[str, T]], draw: Callable[[Sequence[tuple[str, T]], Axes, Style], None]
) -> Iterator[Panel]:
    """Yield panels of labelled lines, with room for their legend."""
    for shown, part in in_parts(title, lines):
        about = "; ".join(label for label, _ in part)
        yield Panel(shown, partial(draw, part), 2.3 + legend_height(len(part)), about)


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
    """Return the height of a legend with so many names, two in a line, in inches."""
    return (names + 1) // 2 * 0.19


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


def _settings(salt: str) -> Any:
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


WIDTH = 4.6
"""Width of a panel in inches: readable on a telephone, and two or three of them fit beside each other on a desk."""
_COLUMNS = 2
_PNG_DPI = 160
_LOCK = Lock()
"""matplotlib's settings are the process's: one drawing at a time."""


def available() -> bool:
    """Return True if charts can be drawn here."""
    return find_spec("matplotlib") is not None


def panel_svg(panel: Panel, number: int) -> str:
    """One panel as an `<svg>` element for a page; `number` keeps its ids apart from those of others."""
    return _inline(_svg([panel], 1, f"panel {number}"), f"p{number}-", panel)


def sheet_svg(panels: Sequence[Panel]) -> bytes:
    """All panels on one sheet, as an SVG file that is light or dark as its reader's screen is."""
    light = _variables({name: colour for colour, name in PAGE_COLOURS.items()})
    dark = f"@media (prefers-color-scheme: dark){{:root{{{_variables(DARK)}}}}}"
    ours = f":root{{{light}}}{dark}svg{{background:var(--paper)}}"
    text = _themed(_svg(panels, _COLUMNS, "sheet"))
    end = text.index(">") + 1
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text[:end]}<style>{ours}</style>{text[end:]}\n'.encode()


def sheet_png(panels: Sequence[Panel]) -> bytes:
    """All panels on one sheet, on white."""
    out = io.BytesIO()
    with _matplotlib("sheet"):
        figure = _sheet(panels, _COLUMNS)
        figure.savefig(out, format="png", dpi=_PNG_DPI, facecolor=STYLE.paper, metadata={"Software": "raidtui"})
    return out.getvalue()


def _sheet(panels: Sequence[Panel], columns: int) -> Figure:
    """Panels in columns, each below the shortest so far, on a sheet that is as high as they need."""
    from matplotlib.figure import Figure

    stacks: list[list[Panel]] = [[] for _ in range(max(1, min(columns, len(panels))))]
    for panel in panels:
        min(stacks, key=_height).append(panel)
    total = max(map(_height, stacks))
    figure = Figure(figsize=(WIDTH * len(stacks), total), layout="constrained")
    parts = figure.subfigures(1, len(stacks), squeeze=False)[0]
    for part, stack in zip(parts, stacks, strict=True):
        spare = total - _height(stack)
        heights = [panel.height for panel in stack] + ([spare] if spare > 0.01 else [])
        rooms = part.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        for panel, room in zip(stack, rooms, strict=False):
            axes = room.subplots()
            axes.set_title(panel.title)
            panel.draw(axes, STYLE)
    return figure


def _height(stack: Sequence[Panel]) -> float:
    return sum(panel.height for panel in stack)


def _svg(panels: Sequence[Panel], columns: int, salt: str) -> str:
    with _matplotlib(salt):
        out = io.BytesIO()
        _sheet(panels, columns).savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = out.getvalue().decode()
    return text[text.index("<svg") :].rstrip()


def _themed(svg: str) -> str:
    """Colours that follow the page's theme as its variables, with the light ones where there is none."""
    for colour, name in PAGE_COLOURS.items():
        svg = re.sub(re.escape(colour) + r"\b", f"var(--{name}, {colour})", svg)
    return svg


def _inline(svg: str, prefix: str, panel: Panel) -> str:
    """Turn an SVG into an element of a page: full width, unique ids, and a description for screen readers."""
    body = re.sub(r'(?<=\bid=")|(?<=href="#)|(?<=url\(#)', prefix, svg[svg.index(">") + 1 :])
    box = re.search(r'viewBox="([^"]*)"', svg)
    assert box is not None
    label = escape(f"{panel.title}: {panel.about}" if panel.about else panel.title)
    return f'<svg viewBox="{box.group(1)}" role="img" aria-label="{label}">{_themed(body)}'


def _variables(colours: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


@contextmanager
def _matplotlib(salt: str) -> Iterator[None]:
    """matplotlib with our settings, and silent about signs that its letters do not have."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise fail(
            NO_CHARTS,
            "charts need the Python package matplotlib, which is not installed here",
            remedy="Install it beside raidtui: pip install 'raidtui[charts]', or Debian's python3-matplotlib.",
        ) from None
    with _LOCK, mpl.rc_context(_settings(salt)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
