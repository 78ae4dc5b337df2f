"""Panels as SVG elements of a page, and as one sheet: an SVG or a PNG file.

Colours that follow the reader's theme are attributes with the light colour, and classes beside them whose rules are the
variables of the page. A rule has precedence over an attribute where variables are known, as in browsers. librsvg,
LibreOffice and Inkscape do not know them, and have the attributes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape

from raidtui.results.charts.drawing import STYLE, Panel
from raidtui.results.charts.figure import FONT, POINTS, WIDTH, Box, Drawn, drawing, figures

_COLUMNS = 2
_PNG_DPI = 160
_PAGE_COLOURS = {STYLE.ink: "ink", STYLE.muted: "muted", STYLE.grid: "grid", STYLE.paper: "paper"}
"""Colours that follow the page's theme, and the names of its variables."""
_DARK = {"ink": "#e6e9ee", "muted": "#9aa5b4", "grid": "#38414d", "paper": "#14181e"}
COLOUR_RULES = "".join(
    f".{way[0]}-{name}{{{way}:var(--{name},{colour})}}"
    for colour, name in _PAGE_COLOURS.items()
    for way in ("fill", "stroke")
)
"""Rules for the classes of drawings, for the style sheet of the page that they are in."""


def panel_svgs(panels: Sequence[Panel], first: int) -> Iterator[str]:
    """Yield panels as `<svg>` elements for a page; numbers from `first` on keep their ids apart from those of others."""
    with drawing("page"):
        for number, one in enumerate(figures(panels), first):
            label = f"{one.panel.title}: {one.panel.about}" if one.panel.about else one.panel.title
            size = f'viewBox="0 0 {WIDTH * POINTS:g} {one.panel.height * POINTS:g}"'
            yield f'<svg {size} role="img" aria-label="{escape(label)}"{_INHERITED}>' \
                  f'{_body(one, f"p{number}-")}{_marks(one)}{_names(one)}</svg>'


def sheet_svg(panels: Sequence[Panel]) -> bytes:
    """All panels on one sheet, as an SVG file that is light or dark as its reader's screen is."""
    light = _variables({name: colour for colour, name in _PAGE_COLOURS.items()})
    # The dark colours come last: a reader that does not know media queries has passed the others by then.
    dark = f"@media (prefers-color-scheme: dark){{:root{{{_variables(_DARK)}}}}}"
    places, width, height = _places(panels, POINTS)
    parts = []
    with drawing("sheet"):
        for number, (one, (x, y)) in enumerate(zip(figures(panels), places, strict=True), 1):
            parts.append(f'<g transform="translate({x:g} {y:g})">{_body(one, f"p{number}-")}{_marks(one)}</g>')
    head = (
        '<?xml version="1.0" encoding="utf-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink" width="{width:g}pt" height="{height:g}pt" '
        f'viewBox="0 0 {width:g} {height:g}" version="1.1"{_INHERITED}><style>:root{{{light}}}{COLOUR_RULES}{dark}</style>'
        f'<rect width="100%" height="100%" fill="{STYLE.paper}" class="f-paper"/>'
    )
    return "\n".join((head, *parts, "</svg>\n")).encode()


def sheet_png(panels: Sequence[Panel]) -> bytes:
    """All panels on one sheet, on white."""
    places, width, height = _places(panels, _PNG_DPI)
    with drawing("sheet"):
        import numpy as np
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.image import imsave

        sheet = np.full((round(height), round(width), 4), 255, np.uint8)
        for one, (x, y) in zip(figures(panels), places, strict=True):
            one.figure.set_facecolor(STYLE.paper)
            one.figure.set_dpi(_PNG_DPI)
            canvas = FigureCanvasAgg(one.figure)
            canvas.draw()  # type: ignore[no-untyped-call]
            part = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
            into = sheet[round(y) :, round(x) :][: part.shape[0], : part.shape[1]]
            into[:] = part[: into.shape[0], : into.shape[1]]
        out = io.BytesIO()
        imsave(out, sheet, format="png", dpi=_PNG_DPI, metadata={"Software": "raidtui"})
    return out.getvalue()


def _places(panels: Sequence[Panel], per_inch: float) -> tuple[list[tuple[float, float]], float, float]:
    """Return where each panel has its upper left corner, row by row in their order, and the sheet's width and height."""
    rows: list[list[Panel]] = []
    for place, panel in enumerate(panels):
        with_next = place + 1 < len(panels) and panels[place + 1].beside
        if not rows or len(rows[-1]) + 1 + with_next > _COLUMNS:
            rows.append([])
        rows[-1].append(panel)
    places, y = [], 0.0
    for row in rows:
        places += [(column * WIDTH * per_inch, y * per_inch) for column in range(len(row))]
        y += max(panel.height for panel in row)
    return places, WIDTH * max(map(len, rows)) * per_inch, y * per_inch


_INHERITED = f' font-family="{FONT}, sans-serif" stroke-linejoin="round"'
"""Attributes of the element around a drawing that hold for everything in it."""
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def _body(one: Drawn, prefix: str) -> str:
    """Return what is in a panel's SVG, with ids that begin with `prefix`."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    out = io.StringIO()
    FigureCanvasSVG(one.figure).print_svg(out, metadata=_NO_METADATA)  # type: ignore[no-untyped-call]
    svg = out.getvalue()
    body = svg[svg.index("</defs>") + len("</defs>") : svg.rindex("</svg>")]  # the first one has the style of all lines
    body = re.sub(r'<g id="(?:(layout|name)-(\d+)|[^"]*)">', _group, body).replace("\n", " ")
    body = re.sub(r'(<text[^>]*) transform="rotate\(-0 [^"]*"', r"\1", body)
    body = re.sub(r'(<[^>]*(?: id="|href="#|url\(#))', rf"\g<1>{prefix}", body)
    return re.sub(r'(<[^>]*) style="([^"]*)"', lambda found: found.group(1) + _attributes(found.group(2)), body)


def _group(found: re.Match[str]) -> str:
    """Return the start of a group: with a class if it is of a layout (`l0`), or of its name (`n0`)."""
    kind, place = found.groups()
    return f'<g class="{kind[0]}{place}">' if kind else "<g>"


def _marks(one: Drawn) -> str:
    """Return invisible marks with titles, which a browser shows at the pointer."""
    return _boxes("marks", [
        f'<rect class="{"" if mark.place is None else f"l{mark.place}"}" {_place(mark)}>'
        f"<title>{escape(mark.words)}</title></rect>"
        for mark in one.marks
    ])  # fmt: skip


def _names(one: Drawn) -> str:
    """Return invisible boxes over the names of layouts, which the page's script makes into buttons."""
    return _boxes("names", [
        f'<rect data-layout="{name.place}" data-name="{escape(name.words)}" {_place(name)}/>'
        for name in one.names
        if name.place is not None
    ])  # fmt: skip


def _boxes(kind: str, boxes: Sequence[str]) -> str:
    return f'<g class="{kind}" fill="none" pointer-events="visible">{"".join(boxes)}</g>' if boxes else ""


def _place(box: Box) -> str:
    return f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'


@cache
def _attributes(style: str) -> str:
    """Return the attributes for a style of matplotlib's; colours of the theme have a class, too."""
    classes, found = [], []
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font-family" or not name:
            continue
        if name in ("fill", "stroke") and value in _PAGE_COLOURS:
            classes.append(f"{name[0]}-{_PAGE_COLOURS[value]}")
        found.append(f' {name}="{value}"')
    return (f' class="{" ".join(classes)}"' if classes else "") + "".join(found)


def _variables(colours: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())
