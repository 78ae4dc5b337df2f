"""Plain tables: CSV, tab-separated and Markdown, as people publish them.

Blank lines part the tables of a file. A row is one cell with its labels and numbers in columns (long), or one workload with
a column for each layout, or one layout with a column for each workload (wide). Units stand in the headings or behind the
numbers. Lines `# title: …`, `# source: …`, `# unit: …`, `# baseline: …`, `# command WORKLOAD: …`, `# map ROLE: HEADING` and
`# claim: …` say what columns do not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from raidtui.foreign.captions import unit_said
from raidtui.foreign.cells import (
    Cell,
    Row,
    blocks,
    delimiter_of,
    even,
    is_both,
    numbers,
    read_cell,
    regrouped,
    said_in,
    split_row,
    with_shares_apart,
)
from raidtui.foreign.columns import (
    BESIDE,
    BUILDS,
    DISKS,
    NO_LABELS,
    WHAT_DIFFERS,
    WHERE_UNITS_STAND,
    columns_of,
    named_columns,
    of_unit,
    percentages_alone,
    renamed,
    told,
    unit_of,
    unknown_numbers,
    valid_rows,
    with_numbers,
    workload_of,
)
from raidtui.foreign.directives import follow, refuse_unmatched
from raidtui.foreign.headings import Heading, Role, rate_unit, read_heading
from raidtui.foreign.lint.figures import likes
from raidtui.foreign.same_cell import telling_apart, undecided, unread_words
from raidtui.foreign.shares import owner_and_baseline, settled, workload_of_share
from raidtui.foreign.sources import Building, TableReader, lines_of, stem, unreadable
from raidtui.foreign.statistic_words import kind_alone, kind_of, without_means
from raidtui.model.problem import ProblemError
from raidtui.model.table import TIME_UNITS, UNITS_OF, Subject

_EXPONENT: Final = re.compile(r"(?<=\d)[eE][-+]?\d+[kKMG]?$")
_NUMBERED: Final = re.compile(r"(.*\w)\s*#\d+")


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
    counted = any(read_cell(text) is not None or is_both(text) for row in cells[1:] for text in row)
    said = bool(re.search(r"^\s*#\s*(?:unit:|map\s)", text, re.MULTILINE) or rate_unit(rows[0]))
    said = said or any(unit_said(line) for line in lines if sign not in line)
    return counted and (known or units or said)


def add(making: Building, text: str, name: str) -> None:
    found, directives = blocks(lines_of(text, name), name)
    settings = {d.word: d.text for d in directives if not d.subject}
    making.head |= {key: settings[key] for key in ("title", "source", "date", "host", "name") if key in settings}
    mapping = {d.text: d.subject.lower() for d in directives if d.word == "map"}
    mapping |= {heading: role for role, heading in making.mapping}
    refuse_unmatched([table.rows for table in found], directives, making.mapping, name)
    layouts_before, before = set(making.layouts), len(making.figures)
    for index, (block, unit, caption) in enumerate(found):
        making.caption(f"{name}:{block[0].line}", caption)
        above = found[index - 1].rows if index else []
        if above and len(block[0].cells) == len(above[0].cells) and any(map(read_cell, block[0].cells[1:])):
            block.insert(0, above[0])  # the table goes on behind a blank line
        said = {"unit": unit} | settings if unit else settings
        try:
            Block(making, with_shares_apart(even(block, name, making.note)), name, said, mapping).read()
        except ProblemError as error:
            if len(found) == 1 or error.problems[0].message != NO_LABELS:
                raise
            making.note(f"{name}:{block[0].line}: {NO_LABELS}; this table was not read.")
    making.figures[before:] = regrouped(making.figures[before:], making.workloads)
    follow(making, directives, name)
    unlike = [key for key, subject in making.layouts.items() if key not in layouts_before and not subject.like]
    for key, like in likes(unlike).items():
        making.layouts[key] = replace(making.layouts[key], like=like)


class Block:
    """A table of a file, between blank lines."""

    def __init__(
        self, making: Building, rows: list[Row], name: str, settings: Mapping[str, str], mapping: Mapping[str, str]
    ) -> None:
        self._making, self._name, self._settings, self._head = making, name, settings, f"{name}:{rows[0].line}"
        self._rows = valid_rows(rows)
        if left := len(rows) - len(self._rows):
            self._note(f"{'1 line is' if left == 1 else f'{left} lines are'} of no valid cell; not read.")
        self._columns: dict[tuple[Role, ...], list[int]] = {}
        self._headings = settled(columns_of(self._rows, mapping), self._rows, self._note)
        for index, heading in self._headings.items():
            if heading.metric == "latency" and not heading.unit:
                cells = numbers(index, self._rows)
                if any(cell.unit in TIME_UNITS for cell in cells):
                    continue
                if cells:
                    self._note(f"nothing says which unit {heading.text!r} has; not read.")
                self._set(index, "ignored")
        labels = self._of("layout", "workload", "block", "unknown", "metric")
        if self._headings[0].role in ("ignored", "unread") and not labels:
            self._set(0, "unknown")
        self._measured = self._of("figure", "share", "value")
        self._owners: dict[int, tuple[str, str]] = {}
        """Layout and baseline of each share beside columns of layouts."""
        self._names: dict[int, str] = {}
        """Labels of the columns that are of one layout or workload each."""
        self._names_are: Role = "layout"
        self._layout_columns: list[int] = []
        self._workload_columns: list[int] = []
        self._default_layout = settings.get("layout", "") or stem(name)
        self._renamed: dict[str, str] = {}
        """Labels of rows that are one workload in several metrics, without the metric."""
        self._with_words: set[int] = set()
        self._of_row: dict[str, str] = {}
        """Workloads of the row that is read, by their labels."""
        self._lines_of: dict[tuple[object, ...], dict[int, int]] = {}

    def _of(self, *roles: Role) -> list[int]:
        """Columns of these roles."""
        if roles not in self._columns:
            self._columns[roles] = [index for index, heading in self._headings.items() if heading.role in roles]
        return self._columns[roles]

    def _set(self, index: int, role: Role) -> None:
        self._headings[index] = self._headings[index]._replace(role=role)
        self._columns.clear()

    def _note(self, sentence: str) -> None:
        self._making.note(f"{self._head}: {sentence}")

    def _column(self, index: int) -> list[str]:
        return [row.cells[index] for row in self._rows[1:]]

    def read(self) -> None:
        before = len(self._making.figures)
        self._directions = {h.direction for h in self._headings.values() if h.role == "figure"}
        self._directions |= {figure.direction for figure in self._making.figures}
        named = bool(self._of("layout", "workload"))
        figures = any((index or named) and heading.role == "figure" for index, heading in self._headings.items())
        labelled = self._of("layout") and self._of("workload") and self._of("share")
        shares_alone = labelled and not any(numbers(i, self._rows) for i in self._of("layout"))
        self._is_long = bool(figures or shares_alone or (self._of("value") and self._of("unit", "metric")))
        if self._is_long:
            self._arrange_long()
        else:
            self._arrange_wide()
        for index in self._of("unread"):
            self._note(f"{self._headings[index].text!r} is nothing that is compared here; it was not read.")
        if self._names and self._names_are == "layout":
            shares = [index for index in self._of("share") if index not in self._names]
            self._owners = {i: owner_and_baseline(i, self._headings, self._names, self._rows) for i in shares}
        self._several = len(set(self._names.values())) > 1
        for row in self._rows[1:]:
            self._of_row.clear()
            for index in self._measured:
                self._read_cell(row, index)
        if before:
            self._making.tell_apart(before, self._rows[0].cells[0])

    def _arrange_long(self) -> None:
        """Labels in columns. An unknown column is the label that is missing: the workload, or else the layout."""
        self._leave_out(unknown_numbers(self._headings, self._rows))
        unknown, layouts, workloads = self._of("unknown"), self._of("layout"), self._of("workload")
        if not layouts and not workloads and not unknown and not self._of("block"):
            raise unreadable(self._head, NO_LABELS)
        self._names = named_columns(self._headings)
        if self._names and not workloads and (layouts or self._tells_more(list(self._names.values()))):
            self._names_are = "workload"
        of_layouts = self._names_are == "workload"
        self._layout_columns = self._of("layout", "setting")
        self._workload_columns = workloads or unknown
        if not layouts and not workloads and unknown == [0]:
            if of_layouts:
                self._layout_columns, self._workload_columns = [0], []
            elif not self._names:
                self._default_layout = self._rows[0].cells[0] or self._default_layout
        if layouts and (of_layouts or workloads):
            self._layout_columns = self._layout_columns + telling_apart(self._headings, self._rows)
        if self._names and not of_layouts and not layouts:
            apart = telling_apart(self._headings, self._rows)
            self._layout_columns = self._of("setting") + [i for i in apart if i not in self._workload_columns]
        elif not self._layout_columns and workloads:
            self._layout_columns = unknown
        read = (*self._layout_columns, *self._workload_columns)
        self._leave_out([i for i in unknown if i not in read and numbers(i, self._rows)])
        if (one := undecided(self._headings, self._rows, read)) is not None:
            message = f"this row has layout and workload of line {one.first} and another {one.heading!r}"
            raise unreadable(f"{self._name}:{one.second}", message, WHAT_DIFFERS.format(one.heading))
        for text in unread_words(self._headings, self._rows, read):
            self._note(f"{text!r} differs between rows and was not read; --map layout={text} makes it part of the layout.")
        if len(self._workload_columns) == 1:
            self._renamed = renamed(self._column(self._workload_columns[0]))
        texts = [self._rows[0].cells[i] for i in self._of("figure") if i not in self._names]
        for text in dict.fromkeys(text for text in texts if texts.count(text) > 1):
            self._note(f"{texts.count(text)} columns are called {text!r}; their objects are unknown.")

    def _leave_out(self, columns: Sequence[int]) -> None:
        for index in columns:
            self._note(f"column {self._rows[0].cells[index]!r} is unknown and was ignored; map it with --map.")
            self._set(index, "ignored")

    def _arrange_wide(self) -> None:
        """The first column has the labels of the rows, the headings are those of the columns."""
        values = [i for i in self._of("unknown", "share", "layout", "workload", "value", "ignored") if i]
        if others := [i for i in values if not kind_of(self._headings[i].text) or self._headings[i].role == "share"]:
            for index in set(values) - set(others):
                if kind_alone(self._headings[index].text) or not without_means(self._headings[index].text):
                    self._note(f"{self._headings[index].text!r} is about the columns beside it; it was not read.")
                    values.remove(index)
        named = [i for i in values if self._headings[i].role in ("unknown", "layout", "workload")]
        for index in percentages_alone(named, self._rows):
            self._set(index, "unread")
            values.remove(index)
        words = self._of("setting") + [i for i in named if i in values and self._has_words(i)]
        self._measured = [i for i in values if i not in words]
        of_names = [i for i in self._measured if self._headings[i].role != "share"]
        texts = {i: self._headings[i].text for i in with_numbers(of_names, self._rows)}
        self._names = {i: without_means(text) if kind_of(text) == "mean" else text for i, text in texts.items()}
        if len(set(self._names.values())) < len(texts):
            self._names = texts
        first, names = self._headings[0], [self._headings[i].text for i in values]
        if first.role == "layout" or (first.role == "unknown" and self._tells_more(names)):
            self._names_are = "workload"
            self._layout_columns = [0, *words]
            return
        self._workload_columns = [0, *words]
        self._renamed = renamed(self._column(0), first.text)

    def _has_words(self, index: int) -> bool:
        """Return True if a column describes its row without measuring anything."""
        cells = said_in(index, self._rows)
        return bool(cells) and not any(re.match(r"[~≈<>+−-]?\s?\d", cell) for cell in cells)

    def _tells_more(self, names: Sequence[str]) -> bool:
        """Return True if these labels tell more of workloads than the rows do."""
        return told(names) > told(self._column(0))

    def _read_cell(self, row: Row, index: int) -> None:
        heading, name = self._headings[index], self._names.get(index, "")
        if not name and self._names_are == "workload" and self._names and not self._several:
            name = next(iter(self._names.values()))
        label = name
        if heading.role == "share" and index not in self._names:
            if index in self._owners:
                self._read_share(row, index, heading)
                return
            if self._several and not (label := workload_of_share(index, self._headings, self._names)):
                self._note(f"the workload of column {heading.text!r} is unknown; it was not compared.")
                return
        if self._names_are == "layout":
            layout, workload = self._named_layout(name, row) if name else self._layout(row), self._workload(row)
        else:
            layout, workload = self._layout(row), self._workload(row, label)
        metric = next((row.cells[i] for i in self._workload_columns if row.cells[i] in self._renamed), "")
        if heading.role == "figure" and metric and (known := of_unit(unit_of(metric), heading.text)) is not None:
            heading = known._replace(direction=heading.direction)
        if heading.role in ("figure", "share"):
            self._put(layout, workload, heading, row, index)
        elif (cell := read_cell(row.cells[index])) is None:
            self._note_words(row, index)
        elif (quantity := self._quantity(row, heading, cell)) is not None:
            self._put(layout, workload, quantity, row, index)

    def _read_share(self, row: Row, index: int, heading: Heading) -> None:
        """A percentage beside columns of layouts: whose it is, and of whose, where there is but one answer."""
        layout, of = self._owners[index]
        if not layout:
            self._note(f"nothing says whose percentages {heading.text!r} are.")
            return
        if layout not in self._names.values():
            self._note(f"{layout!r} of {heading.text!r} has no numbers here; it was not compared.")
        self._put(self._named_layout(layout, row), self._workload(row), heading._replace(of=of), row, index)

    def _quantity(self, row: Row, heading: Heading, cell: Cell) -> Heading | None:
        """Metric and unit of a number whose heading does not say them. Raises ProblemError where nothing says the unit."""
        named = [row.cells[i] for i in self._of("metric", "unit") if row.cells[i]]
        if self._is_long:
            known = read_heading(" ".join(named)) if named else of_unit(cell.unit, heading.text)
            return known if known is not None and known.role in ("figure", "share") else None
        first, label = self._headings[0], heading.text if self._names_are == "workload" else row.cells[0]
        corner = rate_unit(first.text) or ("%" if "%" in first.text else first.unit if first.role == "figure" else "")
        units = [unit_of(row.cells[i]) or row.cells[i] for i in self._of("unit")]
        said = (cell.unit, rate_unit(heading.text), unit_of(label), *units, corner, self._settings.get("unit", ""))
        known = of_unit(next(filter(None, said), ""), heading.text)
        if known is None:
            raise self._unitless(row, cell.text)
        return known._replace(statistic=read_heading(label).statistic or known.statistic) if known.statistic else known

    def _layout(self, row: Row) -> str:
        """The layout that a row names, else that of its table."""
        text = " ".join(filter(None, (row.cells[i] for i in self._layout_columns)))
        like = next((row.cells[i] for i in self._of("model")), "")
        if not like and len(self._layout_columns) == 1 and DISKS.fullmatch(self._headings[self._layout_columns[0]].text):
            numbered = _NUMBERED.fullmatch(text)  # P4510 #2
            like = numbered.group(1) if numbered is not None else ""
        command = self._command(row, builds=True)
        subject = Subject(like=like[:400], command=command, place=f"{self._name}:{row.line}" if command else "")
        return self._layout_key(text or self._default_layout, subject)

    def _named_layout(self, name: str, row: Row) -> str:
        """The layout of a column, with what makes the row another measurement of it."""
        return self._layout_key(" ".join(filter(None, (name, *(row.cells[i] for i in self._layout_columns)))))

    def _layout_key(self, text: str, subject: Subject | None = None) -> str:
        if self._making.several and not text.startswith(stem(self._name)):
            text = f"{stem(self._name)} {text}"
        return self._making.layout(text, subject)

    def _workload(self, row: Row, label: str = "") -> str:
        """The label with what columns beside it say of it."""
        if label not in self._of_row:
            self._of_row[label] = self._read_workload(row, label)
        return self._of_row[label]

    def _read_workload(self, row: Row, label: str) -> str:
        texts = (self._renamed.get(row.cells[i], row.cells[i]) for i in self._workload_columns)
        text = label or " ".join(filter(None, texts))
        beside = {role: next((row.cells[i] for i in self._of(role)), "") for role in BESIDE}
        key, asked_for = workload_of(text, beside, next((self._headings[i].unit for i in self._of("block")), ""))
        command, place = self._command(row, builds=False), f"{self._name}:{row.line}"
        if command:
            asked_for = replace(asked_for, command=command, place=place)
        known = self._making.workloads.get(key)
        if known is not None and command and known.command != command:
            asked_for, key = replace(asked_for, label=key), f"{key} ({place})"
        return self._making.workload(key, asked_for)

    def _command(self, row: Row, *, builds: bool) -> str:
        """The first command of a row that builds a layout, or the first that does not."""
        cells = (row.cells[i].strip("`")[:4000] for i in self._of("command"))
        return next((cell for cell in cells if cell and bool(BUILDS.match(cell)) == builds), "")

    def _put(self, layout: str, workload: str, heading: Heading, row: Row, index: int) -> None:
        text = row.cells[index]
        cell = read_cell(text.rstrip("x× ") if heading.unit == "fraction" else text)
        metric, place = heading.metric, f"{self._name}:{row.line}"
        if cell is None or metric is None:
            if any(sign.isdigit() for sign in text) and not any(sign.isalpha() for sign in _EXPONENT.sub("", text)):
                raise unreadable(place, f"{text!r} is no number")
            self._note_words(row, index)
            return
        unit, number, text = cell.unit or heading.unit or self._settings.get("unit", ""), cell.number, cell.text
        if unit == "kIOPS":
            unit, text = "IOPS", f"{text}k"
            number = number._replace(value=round(number.value * 1000, 6), half_step=number.half_step * 1000)
        if unit == "fraction":  # 7.1 is anything from 705 to 715 %
            unit, text, number = "%", f"{text}e2", number._replace(value=round(100 * number.value, 6))
        if (unit == "%") != (metric == "share"):
            self._note_words(row, index, "not what its heading says")
            return
        if cell.unit and unit not in UNITS_OF[metric] and (counted := of_unit(unit, heading.text)) is not None:
            metric = counted.metric or metric  # under a heading that says more than one thing: throughput
        if metric == "latency" and unit not in TIME_UNITS:
            self._making.note(f"{place}: nothing says which unit {text!r} has; not read.")
            return
        if unit not in UNITS_OF[metric]:
            raise self._unitless(row, text)
        if heading.change:
            number = number._replace(value=heading.percent(number.value))
            text = f"{number.value:g}"
        of = next((row.cells[i] for i in self._of("baseline")), "") or heading.of if metric == "share" else ""
        # The direction in the heading of a share counts only if there are numbers of each direction.
        direction = heading.direction if metric != "share" or heading.direction in self._directions else ""
        self._making.add(
            layout, workload, metric, number, unit, place, text, of=of, direction=direction, statistic=heading.statistic,
            round=self._round(row, (layout, workload, metric, direction, heading.statistic, index)),
        )  # fmt: skip

    def _round(self, row: Row, cell: tuple[object, ...]) -> int:
        """Return the round that a row says, or how many rows of this cell there are up to it."""
        if said := next((row.cells[i] for i in self._of("round") if row.cells[i].isdecimal()), ""):
            return max(1, int(said[:12]))
        lines = self._lines_of.setdefault(cell, {})
        if lines and not self._of("round"):
            self._note("several rows have the same layout and workload; they were read as its rounds, in their order.")
        return lines.setdefault(row.line, len(lines) + 1)

    def _unitless(self, row: Row, text: str) -> ProblemError:
        return unreadable(f"{self._name}:{row.line}", f"nothing says which unit {text} has", WHERE_UNITS_STAND)

    def _note_words(self, row: Row, index: int, what: str = "no number") -> None:
        """Cells with digits that are no number, or none of what their column has, once for each column."""
        text = row.cells[index]
        if any(sign.isdigit() for sign in text) and index not in self._with_words:
            self._with_words.add(index)
            self._making.note(f"{self._name}:{row.line}: {text!r} is {what}; such cells of its column were not read.")


PLAIN_TABLE = TableReader("table", "a plain table (CSV, tabs, Markdown), as a table", sniff, add, "published")
