"""Panels to SVG and PNG. The only module that talks to matplotlib itself; without it, it says how to get it."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from threading import Lock
from typing import TYPE_CHECKING, Final

from raidtui.model.problem import Refusal, fail
from raidtui.results.charts.base import DARK, PAGE_COLOURS, STYLE, Panel, settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_CHARTS: Final = Refusal(
    "no-charts",
    "A library is missing",
    "Charts are drawn by matplotlib, and workbooks are written by XlsxWriter; one of them is not installed here.",
    "pip install 'raidtui[charts]', or Debian's packages python3-matplotlib and python3-xlsxwriter.",
)

WIDTH = 4.6
"""Width of a panel in inches: readable on a telephone, and two or three of them fit beside each other on a desk."""
_COLUMNS = 2
_PNG_DPI = 160
_LOCK = Lock()
"""matplotlib's settings are the process's: one drawing at a time."""


def available() -> bool:
    """Return True if charts can be drawn here."""
    from importlib.util import find_spec

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
    with _LOCK, mpl.rc_context(settings(salt)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
