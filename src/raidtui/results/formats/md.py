"""A table in Markdown, with what is invalid below it."""

from __future__ import annotations

import re

from raidtui.base.text import clean
from raidtui.results.comparison import Comparison
from raidtui.results.formats.base import Format
from raidtui.results.lines import (
    Footnotes,
    confounder_lines,
    entry_words,
    geometric_mean_text,
    has_means,
    legend_lines,
    source_lines,
)
from raidtui.results.where import ABOUT, HEADS, TEXTS, TITLE, where_lines


def write(comparison: Comparison) -> bytes:
    """GitHub's tables; names and reasons are escaped, so that they are never markup."""
    return ("\n".join(_lines(comparison)) + "\n").encode()


def _lines(comparison: Comparison) -> list[str]:
    notes = Footnotes()
    means = has_means(comparison)
    heads = [f"{_text(name)} {unit}" for name, unit in zip(comparison.workloads, comparison.units, strict=True)]
    heads += ["geomean"] if means else []
    found = [f"| Layout | {' | '.join(heads)} |", f"|:---|{'---:|' * len(heads)}"] if heads else ["Nothing was measured."]
    for row in comparison.rows if heads else ():
        cells = [
            _text(re.sub(" +", " ", entry_words(row, index, unit))) + notes.marks(row, index)
            for index, unit in enumerate(comparison.units)
        ]
        cells += [_text(geometric_mean_text(row))] if means else []
        name = f"**{_text(row.label)}**" if row.label == comparison.baseline else _text(row.label)
        found.append(f"| {name} | {' | '.join(cells)} |")
    below = [f"% of **{_text(comparison.baseline)}**."] if comparison.baseline and len(comparison.rows) > 1 else []
    below += [f"{_text(line)}." for line in legend_lines(comparison)]
    below += [f"⚠ {_text(note)}." for note in [*comparison.notes, *confounder_lines(comparison)]]
    below += [f"[{number}] {_text(sentence)}" for sentence, number in notes.numbers.items()]
    below += [f"{_text(line)}." for line in source_lines(comparison)]
    return [*found, *(["", *(f"- {line}" for line in below)] if below else []), *_where(comparison)]


def _where(comparison: Comparison) -> list[str]:
    """A second table; nothing where there is nothing to say."""
    lines = where_lines(comparison)
    if not lines:
        return []
    marks = "|".join(":---" if head in TEXTS else "---:" for head in HEADS)
    notes = Footnotes()
    rows = [f"| {' | '.join(map(_text, line.cells))}{notes.mark(line.why)} |" for line in lines]
    said = [f"- [{number}] {_text(sentence)}." for sentence, number in notes.numbers.items()]
    return ["", f"**{TITLE}**", "", f"| {' | '.join(HEADS)} |", f"|{marks}|", *rows, "", f"- {_text(ABOUT)}", *said]


def _text(value: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|~&])", r"\\\1", clean(value, 4096))


FORMAT = Format("md", ".md", "a table in Markdown", write)
