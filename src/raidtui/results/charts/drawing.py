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
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

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


class Line(NamedTuple, Generic[T]):
    """Data with its label in the legend. Its place is that of its layout in the comparison."""

    label: str
    data: T
    place: int


def places_of(comparison: Comparison) -> dict[str, int]:
    """Return the place of each layout, by its label, which gives its colour and shape in all panels."""
    return {row.label: place for place, row in enumerate(comparison.rows)}


def panels_of_lines(
    title: str, lines: Sequence[Line[T]], draw: Callable[[Sequence[Line[T]], Axes, Style], None]
) -> Iterator[Panel]:
    """Yield panels of labelled lines, with room for their legend."""
    for shown, part in in_parts(title, lines):
        about = "; ".join(line.label for line in part)
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

    def colour(self, place: int) -> str:
        """Return the colour of the layout at this place of the comparison, the same in all panels."""
        return self.series[place % len(self.series)]

    def mark(self, place: int) -> str:
        """Return a shape beside the colour: meaning is never by colour alone; the ninth has another one than the first."""
        return "osD^vP*X"[(place + place // 8) % 8]


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
_POINTS = 72.0
"""Points of an inch."""
_LOCK = Lock()
"""matplotlib's settings are the process's: one drawing at a time."""


def available() -> bool:
    """Return True if charts can be drawn here."""
    return find_spec("matplotlib") is not None


def panel_svg(panel: Panel, number: int) -> str:
    """One panel as an `<svg>` element for a page; `number` keeps its ids apart from those of others."""
    box, body = _drawn(panel, f"p{number}-")
    label = escape(f"{panel.title}: {panel.about}" if panel.about else panel.title)
    return f'<svg viewBox="{box}" role="img" aria-label="{label}">{body}'


def sheet_svg(panels: Sequence[Panel]) -> bytes:
    """All panels on one sheet, as an SVG file that is light or dark as its reader's screen is."""
    light = _variables({name: colour for colour, name in PAGE_COLOURS.items()})
    dark = f"@media (prefers-color-scheme: dark){{:root{{{_variables(DARK)}}}}}"
    ours = f":root{{{light}}}{dark}svg{{background:var(--paper)}}"
    places, width, height = _places(panels, _POINTS)
    parts = []
    for number, (panel, (x, y)) in enumerate(zip(panels, places, strict=True), 1):
        box, body = _drawn(panel, f"p{number}-")
        parts.append(f'<svg x="{x:g}" y="{y:g}" width="{WIDTH * _POINTS:g}" height="{panel.height * _POINTS:g}" '
                     f'viewBox="{box}">{body}')  # fmt: skip
    head = (
        '<?xml version="1.0" encoding="utf-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink" width="{width:g}pt" height="{height:g}pt" '
        f'viewBox="0 0 {width:g} {height:g}" version="1.1"><style>{ours}</style>'
        # What does not know variables of styles has the light paper all the same.
        f'<rect width="100%" height="100%" fill="{STYLE.paper}" style="fill: var(--paper, {STYLE.paper})"/>'
    )
    return "\n".join((head, *parts, "</svg>\n")).encode()


def sheet_png(panels: Sequence[Panel]) -> bytes:
    """All panels on one sheet, on white."""
    places, width, height = _places(panels, _PNG_DPI)
    with _matplotlib("sheet"):
        import numpy as np
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.image import imsave

        sheet = np.full((round(height), round(width), 4), 255, np.uint8)
        for panel, (x, y) in zip(panels, places, strict=True):
            figure = _figure(panel)
            figure.set_facecolor(STYLE.paper)
            figure.set_dpi(_PNG_DPI)
            canvas = FigureCanvasAgg(figure)
            canvas.draw()  # type: ignore[no-untyped-call]
            part = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
            into = sheet[round(y) :, round(x) :][: part.shape[0], : part.shape[1]]
            into[:] = part[: into.shape[0], : into.shape[1]]
        out = io.BytesIO()
        imsave(out, sheet, format="png", dpi=_PNG_DPI, metadata={"Software": "raidtui"})
    return out.getvalue()


def _places(panels: Sequence[Panel], per_inch: float) -> tuple[list[tuple[float, float]], float, float]:
    """Return where each panel has its upper left corner, row by row in their order, and the sheet's width and height."""
    places, y = [], 0.0
    columns = max(1, min(_COLUMNS, len(panels)))
    for start in range(0, len(panels), columns):
        row = panels[start : start + columns]
        places += [(column * WIDTH * per_inch, y * per_inch) for column in range(len(row))]
        y += max(panel.height for panel in row)
    return places, WIDTH * columns * per_inch, y * per_inch


def _figure(panel: Panel) -> Figure:
    """One panel. Each has a figure of its own: the time of laying one out grows much faster than what is on it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, panel.height), layout="constrained")
    axes = figure.subplots()
    axes.set_title(panel.title)
    panel.draw(axes, STYLE)
    return figure


def _drawn(panel: Panel, prefix: str) -> tuple[str, str]:
    """Return the view box of a panel's SVG and its body up to `</svg>`, with ids that begin with `prefix`."""
    with _matplotlib(prefix):
        out = io.BytesIO()
        _figure(panel).savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = out.getvalue().decode()
    svg = text[text.index("<svg") :].rstrip()
    body = re.sub(r'(?<=\bid=")|(?<=href="#)|(?<=url\(#)', prefix, svg[svg.index(">") + 1 :])
    box = re.search(r'viewBox="([^"]*)"', svg)
    assert box is not None
    return box.group(1), _themed(body)


def _themed(svg: str) -> str:
    """Colours that follow the page's theme as its variables, with the light ones where there is none."""
    for colour, name in PAGE_COLOURS.items():
        svg = re.sub(re.escape(colour) + r"\b", f"var(--{name}, {colour})", svg)
    return svg


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
