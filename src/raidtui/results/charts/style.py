"""Colours and letters of charts. In an SVG colours are variables of the page, so that one drawing is light and dark."""

from __future__ import annotations

from typing import Any, NamedTuple

from raidtui.base.text import clean

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
