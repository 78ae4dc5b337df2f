"""HTML page of a comparison without external files, and its charts as SVG and PNG.

Tables can be sorted; the page is readable in light, in dark and on paper. Every text from outside goes through `text`, and
is never markup.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from importlib.resources import files

from raidtui.base.text import plural
from raidtui.results.charts import CHARTS, panels_of, some_of, unswept
from raidtui.results.charts.figure import available
from raidtui.results.charts.head import head_panels
from raidtui.results.charts.sheet import COLOUR_RULES, panel_svgs, sheet_png, sheet_svg
from raidtui.results.comparison import TOLD, Comparison, Entry, Row
from raidtui.results.extract import Point
from raidtui.results.formats.answer import answer_list, pairs_table
from raidtui.results.formats.markup import anchor, text
from raidtui.results.formats.markup import table as _table
from raidtui.results.formats.markup import value as _value
from raidtui.results.lines import (
    ABOUT,
    ABOVE,
    BELOW,
    HEADS,
    INVALID,
    MARKS,
    PARTLY,
    TEXTS,
    TITLE,
    account_lines,
    beside,
    confounder_lines,
    geometric_mean_text,
    has_means,
    legend_lines,
    share_interval_text,
    share_text,
    spread_text,
    state_of,
    title_of,
    why,
)
from raidtui.results.rates import Unit, again_label, iops_text, latency_text, mb_s_text, rate_text
from raidtui.results.resources import ResourceTable, resource_tables
from raidtui.results.sweep_lines import RULE, grid, knee_lines

_MOST_COLUMNS = 6
"""Workloads that are columns even if there are fewer layouts."""


def comparison_table(comparison: Comparison) -> str:
    """Layouts × workloads; few layouts under many workloads are columns. Every number leads to its cells."""
    means, layouts = has_means(comparison), [_layout(comparison, row) for row in comparison.rows]
    heads = [f"{text(name)}<br><small>{unit}</small>" for _, name, unit in comparison.columns()]
    lines = [_entries(comparison, number, row) for number, row in enumerate(comparison.rows)]
    if means:
        heads.append("geometric mean<br><small>of the shares</small>")
        lines = [[*line, f"<td{_value(row.geometric_mean)}>{text(geometric_mean_text(row))}</td>"]
                 for line, row in zip(lines, comparison.rows, strict=True)]  # fmt: skip
    if len(layouts) < len(comparison.workloads) > _MOST_COLUMNS:
        rows = [f'<tr><th scope="row">{head}</th>{"".join(line[place] for line in lines)}</tr>'
                for place, head in enumerate(heads)]  # fmt: skip
        return _table(["Workload", *layouts], rows, long=False)
    rows = [f'<tr{_look(comparison, row)}><th scope="row">{layout}</th>{"".join(line)}</tr>'
            for layout, row, line in zip(layouts, comparison.rows, lines, strict=True)]  # fmt: skip
    return _table(["Layout", *heads], rows, long=False)


def _look(comparison: Comparison, row: Row) -> str:
    return ' class="baseline"' if row.label == comparison.baseline else ""


def _layout(comparison: Comparison, row: Row) -> str:
    return text(row.label) + (" <small>baseline</small>" if row.label == comparison.baseline else "")


def _entries(comparison: Comparison, number: int, row: Row) -> list[str]:
    return [_entry(row, number, index, unit) for index, unit in enumerate(comparison.units)]


def _entry(row: Row, number: int, index: int, unit: Unit) -> str:
    entry, state = row.entries[index], state_of(row, index)
    reason = f' title="{text(why(row, index))}"' if why(row, index) else ""
    if entry is None or entry.typical is None:
        words = f"{MARKS[state]} {state}" if entry is not None or row.failed else MARKS[state]
        look = "rate bad" if state == INVALID else "rate"
        link = f'<a class="{look}" href="#{anchor(number, index)}"{reason}>{words}</a>' if entry is not None else \
            f'<span class="{"bad" if row.failed else "muted"}"{reason}>{words}</span>'  # fmt: skip
        return f"<td>{link}</td>"
    rate = f'<a class="rate" href="#{anchor(number, index)}">{rate_text(entry.typical, unit)}</a>'
    mark = f' <span class="bad"{reason}>{MARKS[PARTLY]} {entry.valid} of {entry.cells}</span>' if state == PARTLY else ""
    mark += f' <span title="{text(beside(row, index))}">⚠</span>' if entry.marks else ""
    return f"<td{_value(entry.typical)}>{rate}{mark}{_share(entry)}{_range(entry)}</td>"


def _share(entry: Entry) -> str:
    if entry.of_baseline is None:
        return ""
    way = ("up" if entry.of_baseline > 1 else "down") if entry.verdict == TOLD else ""
    known = entry.p is not None and entry.rank_p is not None
    title = f' title="p {entry.p:.2g} after Holm, {entry.rank_p:.2g} by ranks"' if known else ""
    return f'<span class="share {way}"{title}>{share_text(entry)} {share_interval_text(entry)}</span>'


def _range(entry: Entry) -> str:
    if not spread_text(entry):
        return ""
    return f'<span class="range">{spread_text(entry)} over {entry.valid} rounds</span>'


def latency_table(comparison: Comparison) -> str:
    """Latency over all valid rounds of each entry, percentiles from merged histograms; empty where none is known."""
    heads = ["Layout", "Workload", "Direction", "Rounds", "Mean", "p50", "p99", "p99.9", "Longest"]
    rows = []
    for number, row in enumerate(comparison.rows):
        for index, entry in enumerate(row.entries):
            workload = comparison.workloads[index]
            for direction, one in entry.latency.items() if entry is not None else ():
                times = (one.mean_us, one.p50_us, one.p99_us, one.p999_us, one.max_us)
                rows.append(
                    f'<tr><th scope="row"><a href="#{anchor(number, index)}">{text(row.label)}</a></th>'
                    f'<td class="text">{text(workload)}</td><td class="text">{direction}</td>'
                    f"<td{_value(entry.valid if entry else None)}>{entry.valid if entry else 0}</td>"
                    + "".join(f"<td{_value(us)}>{latency_text(us)}</td>" for us in times)
                    + "</tr>"
                )
    return _table(heads, rows, left=frozenset(("Workload", "Direction"))) if rows else ""


def cells_table(comparison: Comparison) -> str:
    """One row for each cell: its numbers, its run and its command."""
    heads = ["Layout", "Workload", "Round", "State", "IOPS", "MB/s", "Latency p99", "Sync p99", "Run and cell", "Command"]
    rows = [line for number, row in enumerate(comparison.rows) for line in _cells(comparison, number, row)]
    return _table(heads, rows, left=frozenset(("Workload", "State", "Run and cell", "Command")))


def _cells(comparison: Comparison, number: int, row: Row) -> Iterator[str]:
    for index, workload in enumerate(comparison.workloads):
        entry = row.entries[index]
        for place, point in enumerate((*entry.points, *entry.again) if entry is not None else ()):
            name = f' id="{anchor(number, index)}"' if place == 0 else ""
            yield f"<tr{name}>{_cell(comparison, row, workload, point)}</tr>"


def _state(point: Point) -> str:
    if not point.valid:
        return f'<span class="bad">✗ {text("; ".join(point.reasons) or "invalid")}</span>'
    return "<br>".join(["valid", *(f"<small>⚠ {text(mark.sentence)} [{text(mark.code)}]</small>" for mark in point.marks)])


def _cell(comparison: Comparison, row: Row, workload: str, point: Point) -> str:
    tails = [one.p99_us for name, one in point.latency.items() if name != "sync" and one.p99_us is not None]
    sync = point.latency["sync"].p99_us if "sync" in point.latency else None
    state = _state(point)
    run = comparison.sources[row.source - 1].run if comparison.sources else ""
    iops, moved, tail = point.iops, point.bytes_per_s, max(tails, default=None)
    command = text(shlex.join(point.command), 8192)
    tool = text(point.command[0]) if point.command else ""
    shown = f"<details><summary>{tool} …</summary><code>{command}</code></details>" if tool else ""
    return "".join((
        f'<th scope="row">{text(again_label(row.label) if point.again else row.label)}</th>',
        f'<td class="text">{text(workload)}</td>',
        f"<td{_value(point.round)}>{point.round}</td>",
        f'<td class="text">{state}</td>',
        f"<td{_value(iops)}>{'' if iops is None else iops_text(iops)}</td>",
        f"<td{_value(moved)}>{'' if moved is None else mb_s_text(moved)}</td>",
        f"<td{_value(tail)}>{latency_text(tail)}</td><td{_value(sync)}>{latency_text(sync)}</td>",
        f'<td class="text">{text(run)}<br><small>{text(point.id)}</small></td><td class="command">{shown}</td>',
    ))  # fmt: skip


def sweep_tables(comparison: Comparison) -> str:
    """A table and a list of knees for each sweep; empty where there is none."""
    found = []
    for sweep in comparison.sweeps:
        title, (corner, *labels), columns = grid(sweep)
        heads = [text(corner.capitalize()), *(text(column[0]) for column in columns)]
        values = zip(*(column[1:] for column in columns), strict=True)
        rows = [
            f'<tr><th scope="row">{text(label)}</th>{"".join(f"<td>{text(value)}</td>" for value in line)}</tr>'
            for label, line in zip(labels, values, strict=True)
        ]
        knees = "".join(f"<li>{text(line)}</li>" for line in (*knee_lines(sweep), RULE))
        found.append(f'<h3>{text(title)}</h3>{_table(heads, rows)}<ul class="notes">{knees}</ul>')
    return "".join(found)


def where_table(comparison: Comparison) -> str:
    """Ceilings of bare disks, shares, amplification and what limited it; empty where there is nothing to say."""
    rows = [
        f'<tr><th scope="row">{text(line.layout)}</th><td class="text">{text(line.workload)}</td>'
        + "".join(f"<td{_value(v)}>{text(number)}</td>" for v, number in zip(line.values, line.numbers, strict=True))
        + f'<td class="text">{text(line.limiter)}<br><small>{text(line.why)}</small></td></tr>'
        for line in account_lines(comparison)
    ]
    return f"<p>{text(ABOUT)}</p>{_table(list(HEADS), rows, left=TEXTS - {'Layout'})}" if rows else ""


def resource_section(one: ResourceTable) -> str:
    """Return the table of CPU cores, or of the network."""
    heads = [head[:1].upper() + head[1:] for head in one.heads]
    rows = [
        f'<tr><th scope="row">{text(first)}</th>'
        + "".join(f'<td class="text">{text(name)}</td>' for name in cells[: one.names - 1])
        + "".join(f"<td>{text(number)}</td>" for number in cells[one.names - 1 :])
        + "</tr>"
        for first, *cells in one.rows
    ]
    return f"<p>{text(one.about)}.</p>{_table(heads, rows, left=frozenset(heads[1 : one.names]))}"


def confounder_table(comparison: Comparison) -> str:
    """Return the table of unintended differences; empty if there are none."""
    rows = [
        f'<tr><th scope="row">{text(row.label)}</th><td class="text">{text(fact)}</td><td class="text">{text(here)}</td>'
        f'<td class="text">{text(there)}</td></tr>'
        for row in comparison.rows
        for fact, here, there in row.confounders
    ]
    heads = ["Layout", "What differs", "Here", f"With {text(comparison.baseline)}"]
    return _table(heads, rows, left=frozenset(heads)) if rows else ""


def sources_table(comparison: Comparison) -> str:
    """The results that were compared."""
    heads = ["Result", "Scenario", "Run", "Server", "Began", "Valid cells"]
    rows = [
        f'<tr><th scope="row">{number}</th><td class="text">{text(one.scenario)}<br><small>{text(one.title)}</small></td>'
        f'<td class="text">{text(one.run)}</td><td class="text">{text(one.host)}</td>'
        f'<td class="text">{text(one.started)}</td>'
        f"<td>{one.valid} of {one.cells}</td></tr>"
        for number, one in enumerate(comparison.sources, 1)
    ]
    return _table(heads, rows, left=frozenset(heads[:-1]))


_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)
"""The page may load nothing from anywhere."""


_DETAILS = frozenset(("where", "latency", "cells"))
"""Sections that are not in the summary on paper."""
_DETAIL = ' class="detail"'


def _left_out(shown: Sequence[tuple[str, str, str]]) -> str:
    """Return the sentence about what is not on the paper; it is on paper alone. `shown` are name, head and content."""
    found = [f"“{head}”" for name, head, _ in shown if name in _DETAILS]
    partly = [head for name, head, content in shown if name not in _DETAILS and f"<div{_DETAIL}" in content]
    found += [f"details of “{head}”" for head in partly]
    if not found:
        return ""
    return (
        f'<p class="on-paper">This is a summary. Not printed: {", ".join(found)}. The page itself has them; select “print '
        "every detail” at its top to print them.</p>"
    )


def write_html(comparison: Comparison) -> bytes:
    """The page. Without the charting library it has no charts, and says so."""
    title = text(title_of(comparison), 300)
    sections = [
        ("old-new", "Old against new", pairs_table(comparison)),
        ("answer", "Which one, for what", answer_list(comparison)),
        ("table", "Layouts × workloads", _notes(comparison) + comparison_table(comparison)),
        ("sweeps", "Sweeps", sweep_tables(comparison)),
        ("charts", "Charts", _charts(comparison)),
        ("where", TITLE, where_table(comparison)),
        *((one.key, one.title, resource_section(one)) for one in resource_tables(comparison)),
        ("latency", "Latency over all rounds", latency_table(comparison)),
        ("confounders", "What else differs", _confounders(comparison)),
        ("cells", "Every cell, its run and its command", cells_table(comparison)),
        ("results", "Results", sources_table(comparison)),
    ]
    shown = [one for one in sections if one[2]]
    links = "".join(f'<a href="#{name}">{head}</a>' for name, head, _ in shown)
    body = "\n".join(
        f'<section id="{name}"{_DETAIL if name in _DETAILS else ""}><h2>{head}</h2>{content}</section>'
        for name, head, content in shown
    )
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="generator" content="raidtui">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{_file("page.css")}{COLOUR_RULES}</style>
</head>
<body>
<header><h1>{title}</h1><div class="tools"><label><input type="checkbox" id="print-all"> print every detail</label>
<button type="button" class="theme" hidden>light / dark</button></div></header>
<nav>{links}</nav>
{_left_out(shown)}
{body}
<script>{_file("page.js")}</script>
</body>
</html>
"""
    return page.encode()


def _notes(comparison: Comparison) -> str:
    base = f"<p>% of <strong>{text(comparison.baseline)}</strong>. MB is 10⁶ bytes.</p>" if comparison.baseline else ""
    signs = {ABOVE: f'<span class="up">{ABOVE}</span>', BELOW: f'<span class="down">{BELOW}</span>'}
    items = [f"<li>{re.sub(f'[{ABOVE}{BELOW}]', lambda sign: signs[sign[0]], text(line))}</li>"
             for line in legend_lines(comparison)]  # fmt: skip
    if any(entry.marks or entry.valid < entry.cells for row in comparison.rows for entry in row.entries if entry):
        items.append("<li>⚠: a round is not valid, or has a note; the cells below have the reasons</li>")
    items += [f'<li class="warn">{text(note)}</li>' for note in comparison.notes]
    count = len({fact for row in comparison.rows for fact, _, _ in row.confounders})
    if count:
        link = f'<a href="#confounders">{plural(count, "confounder")}</a>'
        items.append(f'<li class="warn">{link}: what differs beside what was meant to</li>')
    return base + (f'<ul class="notes">{"".join(items)}</ul>' if items else "")


_HINT = (
    '<p class="scripted muted" hidden>Point at a mark to see its value, or go to a chart with Tab and from mark to mark '
    "with the arrow keys. The name of a layout (with Tab, arrow keys, Enter) switches it off and on in all charts.</p>"
)


def _charts(comparison: Comparison) -> str:
    if not available():
        return "<p>Charts need the Python package matplotlib, which was not installed where this page was written.</p>"
    found, number = [], 1
    for chart in CHARTS.values():
        panels = some_of(chart, unswept(chart, comparison))
        shown: list[str] = []
        for panel, svg in zip(panels, panel_svgs(panels, number), strict=True):
            figure = f"<figure>{svg}</figure>"
            if panel.beside:
                figure = f'<div class="pair">{shown.pop()}{figure}</div>'
            shown.append(figure)
        number += len(panels)
        if shown:
            kind = _DETAIL if chart.detail else ""
            look = "charts pairs" if any(panel.beside for panel in panels) else "charts"
            about = f'<p class="muted">{text(chart.signs)}</p>' if chart.signs else ""
            found.append(f'<div{kind}><h3>{chart.title}</h3>{about}<div class="{look}">{"".join(shown)}</div></div>')
    return _HINT + "".join(found) if found else ""


def _confounders(comparison: Comparison) -> str:
    table = confounder_table(comparison)
    if not table:
        return ""
    lines = "".join(f"<li>{text(line)}</li>" for line in confounder_lines(comparison))
    return (f"<p>Beside what was meant to differ from the baseline.</p><div{_DETAIL}>{table}</div>"
            f'<ul class="notes on-paper">{lines}</ul>')  # fmt: skip


def _file(name: str) -> str:
    return (files("raidtui.results.formats") / name).read_text("utf-8")


def write_svg(comparison: Comparison, names: Sequence[str] = ()) -> bytes:
    """Write all charts, or those of these kinds. Raises ProblemError (`no-charts`) without the charting library."""
    return sheet_svg([*head_panels(comparison, names), *panels_of(comparison, names)])


def write_png(comparison: Comparison, names: Sequence[str] = ()) -> bytes:
    """Write all charts, or those of these kinds. Raises ProblemError (`no-charts`) without the charting library."""
    return sheet_png([*head_panels(comparison, names), *panels_of(comparison, names)])
