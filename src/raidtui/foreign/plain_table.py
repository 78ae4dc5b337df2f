"""Plain tables: CSV, tab-separated and Markdown, as people publish them.

Lines `# title: …`, `# source: …`, `# unit: …`, `# baseline: …`, `# command WORKLOAD: …`, `# map ROLE: HEADING` and
`# claim: …` say what columns do not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from raidtui.foreign.cells import (
    Directive,
    Row,
    blocks,
    delimiter_of,
    is_both,
    read_cell,
    regrouped,
    split_row,
    with_shares_apart,
)
from raidtui.foreign.columns import plain
from raidtui.foreign.headings import rate_unit, read_heading
from raidtui.foreign.lint.figures import likes
from raidtui.foreign.rows import claims_of, no_such, refuse_unmatched
from raidtui.foreign.sources import Building, TableReader, lines_of, stem, unreadable
from raidtui.foreign.table_block import Block

_HEAD: Final = ("title", "source", "date", "host", "name")
_FROM_COLUMNS: Final = re.compile(r"(?: (?:bs|qd|jobs)=\S+)+$")


def sniff(text: str) -> bool:
    """A table with at least one number in a column that a heading or the cells give a unit."""
    if text.lstrip()[:1] in ("{", "[") or re.search(r"^\[[^\]]+\]\s*$", text, re.MULTILINE):
        return False
    lines = [line for line in text.splitlines()[:400] if line.strip()]
    sign = delimiter_of(lines)
    rows = [line for line in lines if sign in line and not line.lstrip().startswith("#")]
    if len(rows) < 2:
        return False
    cells = [split_row(line, sign) for line in rows[:50]]
    known = any(read_heading(text).role in ("figure", "share", "value") for row in cells for text in row)
    units = any((cell := read_cell(text)) is not None and cell.unit for row in cells[1:] for text in row)
    numbers = any(read_cell(text) is not None or is_both(text) for row in cells[1:] for text in row)
    said = bool(re.search(r"^\s*#\s*(?:unit:|map\s)", text, re.MULTILINE) or rate_unit(rows[0]))
    return numbers and (known or units or said)


def add(making: Building, text: str, name: str) -> None:
    found, directives = blocks(lines_of(text, name), name)
    settings = {d.word: d.text for d in directives if not d.subject}
    making.head.update({key: value for key, value in settings.items() if key in _HEAD})
    mapping = {d.subject.lower(): d.text for d in directives if d.word == "map"} | making.mapping
    refuse_unmatched(found, directives, making.mapping, name)
    layouts_before = set(making.layouts)
    before = len(making.figures)
    previous: list[Row] = []
    for block in found:
        if previous and len(block[0].cells) == len(previous[0].cells) and any(map(read_cell, block[0].cells[1:])):
            block.insert(0, previous[0])
        previous = block
        Block(making, with_shares_apart(_without_wider(making, block, name)), name, settings, mapping).read()
    making.figures[before:] = regrouped(making.figures[before:], making.workloads)
    _commands(making, directives, name)
    _baselines(making, next((d for d in directives[::-1] if d.word == "baseline" and not d.subject and d.text), None), name)
    _likes(making, set(making.layouts) - layouts_before)
    making.claims += claims_of(directives, list(making.layouts), name, settings.get("baseline", ""))
    understood = {claim.place for claim in making.claims}
    for one in directives:
        if one.word == "claim" and (place := f"{name}:{one.line}") not in understood:
            making.note(f"{place}: The bound of this claim was not understood; the claim was not compared.")


def _without_wider(making: Building, block: list[Row], name: str) -> list[Row]:
    """Without rows that have cells beyond the headings: their numbers would be taken for those of other columns.

    Raises ProblemError where most rows are so: their headings are not what stands above them.
    """
    columns = len(block[0].cells)
    wider = [row for row in block[1:] if any(row.cells[columns:])]
    for row in wider:
        message = f"the row has {len(row.cells)} cells, the first one of its table {columns}"
        if 2 * len(wider) > len(block) - 1:
            raise unreadable(f"{name}:{row.line}", message, "Every column needs a heading, and a comma in a number quotes.")
        making.note(f"{name}:{row.line}: {message}; it was not read.")
    return [row for row in block if row not in wider]


def _commands(making: Building, directives: Sequence[Directive], name: str) -> None:
    for one in directives:
        if one.word == "command" and one.subject:
            command, place = one.text[:4000], f"{name}:{one.line}"
            # Of several files, layouts have the file's name before their own.
            wanted = {plain(one.subject), plain(f"{stem(name)} {one.subject}")}
            workloads = [key for key in making.workloads if plain(key) in wanted] or _of_label(making, one.subject)
            layouts = [key for key in making.layouts if plain(key) in wanted]
            for key in workloads:
                making.workloads[key] = msgspec.structs.replace(making.workloads[key], command=command, place=place)
            for key in layouts:
                making.layouts[key] = msgspec.structs.replace(making.layouts[key], command=command, place=place)
            if not workloads and not layouts:
                message = f"{one.subject!r} is neither a workload nor a layout of this table"
                raise no_such(place, message, (*making.workloads, *making.layouts))


def _of_label(making: Building, label: str) -> list[str]:
    """The workload of this label, where its name goes on with what columns beside the label say, and there is but one."""
    found = [key for key in making.workloads if plain(_FROM_COLUMNS.sub("", key)) == plain(label)]
    return found if len(found) == 1 else []


def _baselines(making: Building, said: Directive | None, name: str) -> None:
    """Return the layout that is 100 % if no heading names it: the mapped one, else the one whose shares all are 100."""
    wanted = said.text if said is not None else ""
    names = {plain(key): key for key in making.layouts}

    def known(wanted: str) -> str:
        """The layout of this name, or the only one whose name has it in it."""
        inside = [key for name, key in names.items() if f" {plain(wanted)} " in f" {name} "]
        return names.get(plain(wanted)) or (inside[0] if len(inside) == 1 else wanted)

    # Percentages alone may be of a layout that was not published.
    if said is not None and known(wanted) not in making.layouts and any(f.metric != "share" for f in making.figures):
        raise no_such(f"{name}:{said.line}", f"{wanted!r} is no layout of this table", making.layouts)
    nameless = [f for f in making.figures if f.metric == "share" and not f.of]
    whole = [k for k in dict.fromkeys(f.layout for f in nameless) if all(f.value == 100 for f in nameless if f.layout == k)]
    guess = wanted or (whole[0] if len(whole) == 1 else "")
    if nameless and not guess:
        making.note("The layout of the percentages is unknown; they were not compared.")
    for other in dict.fromkeys(f.of for f in making.figures if f.metric == "share" and f.of):
        if known(other) not in making.layouts and any(f.metric != "share" for f in making.figures):
            making.note(f"{other!r} is no layout of {name}: percentages of it were not compared.")
    making.figures = [
        msgspec.structs.replace(f, of=known(f.of or guess)) if f.metric == "share" and (f.of or guess) else f
        for f in making.figures
    ]


def _likes(making: Building, new: set[str]) -> None:
    """Disks that brackets or a row of names show to be of one kind, where no column of models does."""
    silent = [key for key, subject in making.layouts.items() if key in new and not subject.like]
    for key, like in likes(silent).items():
        making.layouts[key] = msgspec.structs.replace(making.layouts[key], like=like)


PLAIN_TABLE = TableReader("table", "a plain table (CSV, tabs, Markdown), as a table", sniff, add, "published")
