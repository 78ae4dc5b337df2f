"""HTML of a comparison's answer: the best layout of each workload in words, and old against new, pair by pair."""

from __future__ import annotations

from collections.abc import Iterable

from raidtui.results.comparison import Comparison, Pair
from raidtui.results.formats.markup import anchor, table, text, value
from raidtui.results.old_new import HEADS, legend, rows_of, verdict_lines
from raidtui.results.verdicts import answer_lines

_LOOKS = {"better": "up", "worse": "down"}


def answer_list(comparison: Comparison) -> str:
    """The verdicts in words; empty where there is nothing to choose from."""
    return _list(answer_lines(comparison))


def _list(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{text(line)}</li>" for line in lines)
    return f'<ul class="notes">{items}</ul>' if items else ""


def pairs_table(comparison: Comparison) -> str:
    """Old against new with the answer in words and the legend; empty without pairs. The rates lead to their cells."""
    if not comparison.pairs:
        return ""
    rows = [_row(comparison, *row) for row in rows_of(comparison)]
    heads = [text(head) for head in HEADS]
    shown = table(heads, rows, left=frozenset(("WORKLOAD", "VERDICT")))
    colours = "the colour of a change says the same as its verdict"
    return f"{_list(verdict_lines(comparison))}{shown}{_list([*legend(comparison), colours])}"


def _row(comparison: Comparison, pair: Pair, cells: tuple[str, ...]) -> str:
    layout, workload, old, new, change, inside, rounds, p, verdict = map(text, cells)
    numbers = {row.label: number for number, row in enumerate(comparison.rows)}
    column = comparison.workloads.index(pair.workload)
    rates = []
    for rate, words, label in ((pair.old, old, pair.labels[0]), (pair.new, new, pair.labels[1])):
        row = numbers.get(label)
        has_cells = row is not None and comparison.rows[row].entries[column] is not None
        link = f'<a class="rate" href="#{anchor(row or 0, column)}">{words}</a>' if has_cells else words
        rates.append(f"<td{value(rate)}>{link}</td>")
    look = _LOOKS.get(pair.way, "down" if pair.change is None else "muted")
    return (f'<tr><th scope="row">{layout}</th><td class="text">{workload}</td>{"".join(rates)}'
            f'<td{value(pair.change)}><span class="{look}">{change}</span></td><td>{inside}</td><td>{rounds}</td>'
            f'<td{value(pair.p)}>{p}</td><td class="text"><span class="{look}">{verdict}</span></td></tr>')  # fmt: skip
