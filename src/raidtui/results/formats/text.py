"""Text formats of a comparison: the terminal's table, CSV (RFC 4180), JSON, Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len

from raidtui.base.text import clean, named, shortened
from raidtui.model.convert import plain
from raidtui.results import old_new
from raidtui.results.comparison import Comparison, Noted, without_cells
from raidtui.results.lines import (
    ABOUT,
    COLUMNS,
    HEADS,
    TEXTS,
    TITLE,
    Footnotes,
    Value,
    account_lines,
    common_marks,
    confounder_lines,
    entry_words,
    geometric_mean_text,
    has_means,
    legend_lines,
    mark_words,
    source_lines,
    tidy,
    why,
)
from raidtui.results.old_new import legend, lines, missing_lines, verdict_lines
from raidtui.results.resources import resource_tables
from raidtui.results.sweep_lines import RULE, grid, knee_lines
from raidtui.results.verdicts import answer_lines, places

WIDTH = 120
"""Default width in columns."""
_GAP = "  "
_SHORTEST, _LONGEST = 16, 60
"""Letters of a name, as the width permits; of a longer one both ends are shown."""


_MOST_COLUMNS = 4
"""Workloads that are columns in Markdown, even if there are fewer layouts."""


class Said(NamedTuple):
    """A line of the table, or a sentence below it."""

    words: str
    mark: str = ""
    """Before a sentence: `⚠`, `[2]`; nothing before others."""
    head: bool = False
    sentence: bool = True

    def __str__(self) -> str:
        return f"{self.mark} {self.words}" if self.mark else self.words


def write_table(comparison: Comparison) -> bytes:
    """The table, 120 columns wide."""
    return "".join(f"{line}\n" for line in table_lines(comparison, WIDTH)).encode()


def table_lines(comparison: Comparison, width: int, *, about: bool = True) -> list[Said]:
    """The answer in words, the table, and why cells are invalid and layouts missing. Long sentences are not wrapped.

    `about` adds what is to be known of the results themselves.
    """
    if comparison.pairs and about:
        below = [Said(clean(line, 4096)) for line in source_lines(comparison)]
        return [*_old_new(comparison), *_sweeps(comparison, width), *below]
    notes = Footnotes()
    longest = max(_SHORTEST, min(_LONGEST, width * 2 // 5))
    names = [_name(row.label, longest) for row in comparison.rows]
    heads = [f"{_name(name, longest)} {unit}" for _, name, unit in comparison.columns()]
    body = [
        [entry_words(row, index, unit) + notes.marks(row, index) for index, unit in enumerate(comparison.units)]
        for row in comparison.rows
    ]
    if has_means(comparison):
        heads.append("geomean")
        body = [[*cells, geometric_mean_text(row)] for row, cells in zip(comparison.rows, body, strict=True)]
    table = [list(column) for column in zip(heads, *body, strict=True)]
    found = _answer(answer_lines(comparison))
    first_line = len(found)
    for group in _groups(names, table, width):
        lines = [Said(line, head=not number, sentence=False) for number, line in enumerate(_aligned(*group))]
        found += [Said("", sentence=False), *lines] if len(found) > first_line else lines
    if not table:
        found.append(Said("Nothing was measured."))
    whole = {_name(name, longest): clean(name) for name in (*(row.label for row in comparison.rows), *comparison.workloads)}
    found += [Said(f"{shown}: {name}") for shown, name in whole.items() if shown != name]
    if comparison.baseline and len(comparison.rows) > 1:
        found.append(Said(f"% of {clean(comparison.baseline)}"))
    found += [Said(clean(line, 4096)) for line in legend_lines(comparison)]
    found += [Said(clean(sentence, 4096), f"[{number}]") for sentence, number in notes.numbers.items()]
    told = [*(comparison.notes if about else ()), *confounder_lines(comparison)]
    found += [Said(clean(line, 4096), "⚠") for line in told]
    found += _sweeps(comparison, width)
    if about:
        found += _resources(comparison)
        found += [Said(clean(line, 4096)) for line in source_lines(comparison)]
    return found


def _answer(words: Iterable[str]) -> list[Said]:
    """Return the answer and a blank line; nothing without words."""
    found = [Said(clean(line, 4096)) for line in words]
    return [*found, Said("")] if found else []


def _sweeps(comparison: Comparison, width: int) -> Iterator[Said]:
    """A table of each sweep, and a sentence on the knee of each curve."""
    for sweep in comparison.sweeps:
        title, first, columns = grid(sweep)
        shown = [[_name(head, _LONGEST), *values] for head, *values in columns]
        for number, group in enumerate(_fitting(shown, width - max(map(cell_len, first)))):
            yield Said("", sentence=False)
            if not number:
                yield Said(clean(title))
            for line, words in enumerate(_aligned(first, group)):
                yield Said(words, head=not line, sentence=False)
        yield from (Said(clean(line, 4096)) for line in knee_lines(sweep))
    if comparison.sweeps:
        yield Said(RULE)


def _resources(comparison: Comparison) -> Iterator[Said]:
    """Tables of CPU cores and of the network, where a result knows them."""
    for one in resource_tables(comparison):
        yield Said("", sentence=False)
        names, *columns = ([head.upper(), *cells] for head, *cells in zip(one.heads, *one.rows, strict=True))
        for line, words in enumerate(_aligned(names, columns)):
            yield Said(words, head=not line, sentence=False)
        yield Said(one.about)


def _old_new(comparison: Comparison) -> Iterator[Said]:
    yield from _answer(verdict_lines(comparison))
    for line in lines(comparison):
        yield Said(line.words, head=line.head, sentence=False)
    for sentence in legend(comparison):
        yield Said(clean(sentence, 4096))
    for sentence in missing_lines(comparison):
        yield Said(clean(sentence, 4096), "✗")
    said: dict[str, list[tuple[str, str]]] = {}
    common = common_marks(comparison)
    for row in comparison.rows:
        for index, name in enumerate(comparison.workloads):
            entry = row.entries[index]
            marks = [mark_words(mark) for mark in entry.marks if not _is_said(mark, common)] if entry else []
            for sentence in filter(None, (why(row, index), "; ".join(marks))):
                said.setdefault(sentence, []).append((row.label, name))
    count = len(comparison.workloads)
    notes = (f"{named(places(where, count, 'under'), 6)}: {sentence}" for sentence, where in said.items())
    for note in (*comparison.notes, *notes):
        yield Said(clean(note, 4096), "⚠")


def _is_said(mark: Noted, common: Sequence[str]) -> bool:
    return any(line.endswith(f": {mark.sentence} [{mark.code}]") for line in common)


def _name(name: str, longest: int) -> str:
    return shortened(clean(name), longest)


def _groups(names: list[str], table: list[list[str]], width: int) -> list[tuple[list[str], list[list[str]]]]:
    """Return the first column and as many others as fit beside it, in groups.

    Layouts are rows; where those do not fit and are fewer than the workloads, they are columns if that fits.
    """
    first = ["LAYOUT", *names]
    groups = list(_fitting(table, width - max(map(cell_len, first))))
    if len(groups) > 1 and len(names) < len(table):
        heads = ["WORKLOAD", *(column[0] for column in table)]
        turned = [[name, *(column[place] for column in table)] for place, name in enumerate(names, 1)]
        beside = list(_fitting(turned, width - max(map(cell_len, heads))))
        if len(beside) == 1:
            return [(heads, beside[0])]
    return [(first, group) for group in groups]


def _fitting(table: Sequence[list[str]], room: int) -> Iterator[list[list[str]]]:
    """Columns in groups that fit side by side."""
    group: list[list[str]] = []
    used = 0
    for column in table:
        needed = len(_GAP) + max(map(cell_len, column))
        if group and used + needed > room:
            yield group
            group, used = [], 0
        group.append(column)
        used += needed
    if group:
        yield group


def _aligned(first: list[str], table: list[list[str]]) -> list[str]:
    left = max(map(cell_len, first))
    widths = [max(map(cell_len, column)) for column in table]
    return [
        _GAP.join([label + " " * (left - cell_len(label)),
                   *(" " * (wide - cell_len(cell)) + cell for cell, wide in zip(cells, widths, strict=True))])
        for label, *cells in zip(first, *table, strict=True)
    ]  # fmt: skip


def write_csv(comparison: Comparison) -> bytes:
    """A header and the lines. An empty field is a value that is not there."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    writer.writerows([_text(line[name]) for name in COLUMNS] for line in tidy(comparison))
    return out.getvalue().encode()


def _text(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) >= 1 else f"{value:.6g}"
    if isinstance(value, int):
        return str(value)
    # A spreadsheet takes what begins with one of these signs for a formula.
    return f"'{value}" if value[:1] in ("=", "+", "-", "@") else value
SCHEMA = "raidtui.comparison/1"


def document(comparison: Comparison) -> dict[str, Any]:
    """The table, and below `cells` one object for each cell with its run and its command.

    In the table rates are operations or bytes per second, whatever the unit they are shown in; shares are of 1.
    """
    return {"schema": SCHEMA, **plain(without_cells(comparison)), "cells": list(tidy(comparison))}


def write_json(comparison: Comparison) -> bytes:
    """The document, indented."""
    text = json.dumps(document(comparison), indent=2, ensure_ascii=True)
    return (text.replace("\x7f", "\\u007f") + "\n").encode()


def write_md(comparison: Comparison) -> bytes:
    """GitHub's tables; names and reasons are escaped, so that they are never markup."""
    return ("\n".join(_lines(comparison)) + "\n").encode()


def _lines(comparison: Comparison) -> list[str]:
    notes = Footnotes()
    means = has_means(comparison)
    heads = [f"{_md_text(name)} {unit}" for _, name, unit in comparison.columns()]
    heads += ["geomean"] if means else []
    table = []
    for row in comparison.rows if heads else ():
        cells = [
            _md_text(re.sub(" +", " ", entry_words(row, index, unit))) + notes.marks(row, index)
            for index, unit in enumerate(comparison.units)
        ]
        cells += [_md_text(geometric_mean_text(row))] if means else []
        table.append([f"**{_md_text(row.label)}**" if row.label == comparison.baseline else _md_text(row.label), *cells])
    grid = [["Layout", *heads], *table]
    if len(table) < len(comparison.workloads) > _MOST_COLUMNS:
        grid = [["Workload", *(row[0] for row in table)], *map(list, zip(heads, *(row[1:] for row in table), strict=True))]
    lines = [f"| {' | '.join(row)} |" for row in grid]
    found = [lines[0], f"|:---|{'---:|' * (len(grid[0]) - 1)}", *lines[1:]] if heads else ["Nothing was measured."]
    below = [f"% of **{_md_text(comparison.baseline)}**."] if comparison.baseline and len(comparison.rows) > 1 else []
    below += [f"{_md_text(line)}." for line in legend_lines(comparison)]
    below += [f"⚠ {_md_text(note)}." for note in [*comparison.notes, *confounder_lines(comparison)]]
    below += [f"[{number}] {_md_text(sentence)}" for sentence, number in notes.numbers.items()]
    below += [f"{_md_text(line)}." for line in source_lines(comparison)]
    answer = _md_list(answer_lines(comparison))
    answer += [""] if answer else []
    if comparison.pairs:
        pairs = [f"| {' | '.join(map(_md_text, cells))} |" for _, cells in old_new.rows_of(comparison)]
        head = [f"| {' | '.join(old_new.HEADS)} |", f"|{':---|' * len(old_new.HEADS)}"]
        answer = [*_md_list(verdict_lines(comparison)), "", *head, *pairs, "", *_md_list(legend(comparison)), "", *answer]
    found += ["", *(f"- {line}" for line in below)] if below else []
    return [*answer, *found, *_where(comparison), *_md_resources(comparison), *_md_sweeps(comparison)]


def _md_list(lines: Iterable[str]) -> list[str]:
    return [f"- {_md_text(line)}." for line in lines]


def _md_sweeps(comparison: Comparison) -> Iterator[str]:
    """A table and a list for each sweep."""
    for sweep in comparison.sweeps:
        title, first, columns = grid(sweep)
        yield from ("", f"**{_md_text(title)}**", "")
        for number, line in enumerate(zip(first, *columns, strict=True)):
            yield f"| {' | '.join(map(_md_text, line))} |"
            if not number:
                yield f"|{'---:|' * len(line)}"
        yield from ("", *(f"- {_md_text(line)}." for line in (*knee_lines(sweep), RULE)))


def _where(comparison: Comparison) -> list[str]:
    """A second table; nothing where there is nothing to say."""
    lines = account_lines(comparison)
    if not lines:
        return []
    marks = "|".join(":---" if head in TEXTS else "---:" for head in HEADS)
    notes = Footnotes()
    rows = [f"| {' | '.join(map(_md_text, line.cells))}{notes.mark(line.why)} |" for line in lines]
    said = [f"- [{number}] {_md_text(sentence)}." for sentence, number in notes.numbers.items()]
    return ["", f"**{TITLE}**", "", f"| {' | '.join(HEADS)} |", f"|{marks}|", *rows, "", f"- {_md_text(ABOUT)}", *said]


def _md_resources(comparison: Comparison) -> Iterator[str]:
    for one in resource_tables(comparison):
        marks = ":---|" * one.names + "---:|" * (len(one.heads) - one.names)
        yield from ("", f"**{one.title}**", "", f"| {' | '.join(one.heads)} |", f"|{marks}")
        yield from (f"| {' | '.join(map(_md_text, line))} |" for line in one.rows)
        yield from ("", f"- {_md_text(one.about)}.")


def _md_text(value: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|~&])", r"\\\1", clean(value, 4096))
