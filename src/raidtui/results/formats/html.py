"""One HTML file that needs nothing but itself: tables that sort, charts, light and dark, and readable on paper."""

from __future__ import annotations

from importlib.resources import files

from raidtui.base.text import plural
from raidtui.results.charts.catalog import CHARTS, some_of
from raidtui.results.charts.drawing import available, panel_svg
from raidtui.results.comparison import Comparison
from raidtui.results.formats.base import Format
from raidtui.results.lines import legend_lines
from raidtui.results.page.parts import (
    cells_table,
    comparison_table,
    confounder_table,
    latency_table,
    sources_table,
    text,
    where_table,
)
from raidtui.results.where import TITLE

_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)
"""The page may load nothing from anywhere."""


def write(comparison: Comparison) -> bytes:
    """The page. Without the charting library it has no charts, and says so."""
    title = text(_title(comparison), 300)
    sections = [
        ("table", "Layouts × workloads", _notes(comparison) + comparison_table(comparison)),
        ("charts", "Charts", _charts(comparison)),
        ("where", TITLE, where_table(comparison)),
        ("latency", "Latency over all rounds", latency_table(comparison)),
        ("confounders", "What else differs", _confounders(comparison)),
        ("cells", "Every cell, its run and its command", cells_table(comparison)),
        ("results", "Results", sources_table(comparison)),
    ]
    shown = [one for one in sections if one[2]]
    links = "".join(f'<a href="#{name}">{head}</a>' for name, head, _ in shown)
    body = "\n".join(f'<section id="{name}"><h2>{head}</h2>{content}</section>' for name, head, content in shown)
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="generator" content="raidtui">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{_file("page.css")}</style>
</head>
<body>
<header><h1>{title}</h1><button type="button" class="theme" hidden>light / dark</button></header>
<nav>{links}</nav>
{body}
<script>{_file("page.js")}</script>
</body>
</html>
"""
    return page.encode()


def _title(comparison: Comparison) -> str:
    if len(comparison.sources) == 1:
        return comparison.sources[0].title or comparison.sources[0].scenario or "Comparison"
    return f"Comparison of {len(comparison.sources)} results"


def _notes(comparison: Comparison) -> str:
    base = f"<p>% of <strong>{text(comparison.baseline)}</strong>. MB is 10⁶ bytes.</p>" if comparison.baseline else ""
    items = [f"<li>{text(line)}</li>" for line in legend_lines(comparison)]
    items += [f'<li class="warn">{text(note)}</li>' for note in comparison.notes]
    count = len({fact for row in comparison.rows for fact, _, _ in row.confounders})
    if count:
        link = f'<a href="#confounders">{plural(count, "confounder")}</a>'
        items.append(f'<li class="warn">{link}: what differs beside what was meant to</li>')
    return base + (f'<ul class="notes">{"".join(items)}</ul>' if items else "")


def _charts(comparison: Comparison) -> str:
    if not available():
        return "<p>Charts need the Python package matplotlib, which was not installed where this page was written.</p>"
    found, number = [], 0
    for chart in CHARTS.values():
        drawn = []
        for panel in some_of(chart, comparison):
            number += 1
            drawn.append(f"<figure>{panel_svg(panel, number)}</figure>")
        if drawn:
            found.append(f'<h3>{chart.title}</h3><div class="charts">{"".join(drawn)}</div>')
    return "".join(found)


def _confounders(comparison: Comparison) -> str:
    table = confounder_table(comparison)
    return f"<p>Beside what was meant to differ from the baseline.</p>{table}" if table else ""


def _file(name: str) -> str:
    return (files("raidtui.results.page") / name).read_text("utf-8")


FORMAT = Format("html", ".html", "one page with charts, that needs nothing but itself", write)
