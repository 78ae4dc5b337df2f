"""One table of a file, read cell by cell.

A row is one cell with its labels and numbers in columns (long), or one workload with a column for each layout (wide). Units
stand in the headings or behind the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from raidtui.foreign.cells import Row, cell_of, mapped, read_cell
from raidtui.foreign.columns import (
    Columns,
    asked,
    by_mapping,
    of_unit,
    plain,
    results_of,
    tidy_headings,
    told,
    unit_of,
    valid_rows,
)
from raidtui.foreign.headings import Heading, rate_unit, read_heading, residual
from raidtui.foreign.rows import (
    RowLabels,
    commands,
    layouts_settings,
    measured_by_nobody,
    named_by_cells,
    said_in,
    shares_told_apart,
    telling_apart,
    told_again,
    typed,
)
from raidtui.foreign.shares import losses, owner_and_baseline, settled, workload_of_share
from raidtui.foreign.sources import Building, unreadable
from raidtui.model.problem import ProblemError
from raidtui.model.table import TIME_UNITS, UNITS_OF

_WHERE_UNITS_STAND: Final = (
    "Write it into the heading (`4k read IOPS`), behind the numbers, or for all of them: `# unit: IOPS`."
)
_EXPONENT: Final = re.compile(r"(?<=\d)[eE][-+]?\d+[kKMG]?$")
_LABELS: Final = ("layout", "workload", "block", "unknown", "metric")
_BEGINS_AS_NUMBER: Final = re.compile(r"[~≈<>+−-]?\s?\d")


class Block:
    """One table of a file."""

    def __init__(
        self, making: Building, rows: list[Row], name: str, settings: Mapping[str, str], mapping: Mapping[str, str]
    ) -> None:
        self._making, self._name, self._settings = making, name, settings
        self._head = f"{name}:{rows[0].line}"
        """The place of its headings."""
        own = tidy_headings(rows[0].cells)
        self._rows = valid_rows(making, rows, name) if own else rows
        roles = mapped(rows[0].cells, mapping)
        headings = {i: named_by_cells(read_heading(cell), i, self._rows) for i, cell in enumerate(rows[0].cells)} | own
        if not any(heading.role in ("value", "figure") for heading in headings.values()):
            headings |= results_of(headings)
        headings |= {index: by_mapping(role, rows[0].cells[index]) for index, role in roles.items()}
        headings = {index: settled(heading, index, self._rows, making, name) for index, heading in headings.items()}
        headings = losses(headings, self._rows, making, self._head)
        headings = shares_told_apart(layouts_settings(typed(commands(headings, self._rows), self._rows)), self._rows)
        if headings[0].role in ("ignored", "unread") and not any(heading.role in _LABELS for heading in headings.values()):
            headings[0] = headings[0]._replace(role="unknown")
        self._columns = Columns(headings)
        self._is_long = self._told_long()
        if self._is_long:
            headings |= self._left_out(measured_by_nobody(headings, self._rows))
        self._labels = RowLabels(making, self._columns, name, settings.get("layout", ""))
        self._with_words: set[int] = set()
        self._figures = self._columns.of("figure", "share")
        self._directions = {h.direction for h in headings.values() if h.role == "figure"}
        self._directions |= {figure.direction for figure in making.figures}
        self._taken = {(f.layout, f.workload, f.metric, f.direction) for f in making.figures if f.metric != "share"}
        self._again: dict[tuple[str, str], str] = {}
        """Names of layouts that an earlier table of the file has measured, by layout and workload."""

    def read(self) -> None:
        before = len(self._making.figures)
        if self._is_long:
            self._long()
        else:
            self._wide()
        if self._again:
            for index in reversed(told_again(self._making.figures, before, self._again)):
                del self._making.figures[index]
            self._rename_shares(before)

    def _told_long(self) -> bool:
        named = self._columns.of("value") and self._columns.of("unit", "metric")
        figures = any(index and heading.role == "figure" for index, heading in self._columns.headings.items())
        return bool(named) or figures or self._shares_alone()

    def _shares_alone(self) -> bool:
        """Rows of a layout, a workload and its percentage."""
        layouts = self._columns.of("layout")
        numbers = any(read_cell(cell_of(row, i)) for row in self._rows[1:] for i in layouts)
        return bool(layouts and self._columns.of("workload") and self._columns.of("share")) and not numbers

    def _long(self) -> None:
        labels = self._columns.of("workload")
        corner = ""
        if not labels and not self._columns.of("layout", "block", "unknown"):
            raise unreadable(self._head, "no column says what was measured")
        unknown = self._columns.of("unknown")
        if not self._columns.of("layout") and not labels and unknown == [0]:
            # A table of one layout: its name stands in the corner, its workloads below it.
            corner, labels = self._rows[0].cells[0], [0]
        elif not labels and unknown:
            labels = unknown
        names = self._named_columns()
        rows_are_layouts = bool(names) and self._rows_are_layouts(list(names.values()))
        if self._columns.of("layout") and (rows_are_layouts or self._columns.of("workload")):
            self._labels.tell_apart(telling_apart(self._columns.headings, self._rows))
        self._note_unread(labels)
        self._note_alike(names)
        only = next(iter(names.values())) if rows_are_layouts and len(set(names.values())) == 1 else ""
        for row in self._rows[1:]:
            layout = self._labels.layout(row, corner if not names else "")
            workload = "" if names and rows_are_layouts else self._labels.workload(row, labels)
            for index, heading in self._measured(row):
                if index not in names and heading.role == "share" and names and not rows_are_layouts:
                    self._share_column(row, index, heading, names, workload)
                elif rows_are_layouts and (index in names or corner):
                    whose = self._labels.layout_key(cell_of(row, 0)) if corner else layout
                    self._put(whose, self._labels.workload(row, [], names.get(index, only)), heading, row, index)
                elif index not in names and heading.role == "share" and len(set(names.values())) > 1:
                    self._share_of_workload(row, index, names, layout)
                elif index not in names:
                    self._put(layout, workload or self._labels.workload(row, labels, only), heading, row, index)
                else:
                    self._put(self._labels.layout_key(names[index]), workload, heading, row, index)

    def _share_of_workload(self, row: Row, index: int, names: Mapping[int, str], layout: str) -> None:
        """A column of percentages beside columns of workloads, in the row of a layout."""
        heading = self._columns.headings[index]
        if label := workload_of_share(index, self._columns.headings, names):
            self._put(layout, self._labels.workload(row, [], label), heading, row, index)
        else:
            self._note_head(f"the workload of column {heading.text!r} is unknown; it was not compared.")

    def _left_out(self, columns: Sequence[int]) -> dict[int, Heading]:
        """Return columns with numbers of an unknown kind."""
        for index in columns:
            self._note_head(f"column {self._rows[0].cells[index]!r} is unknown and was ignored; map it with --map.")
        return {index: self._columns.headings[index]._replace(role="ignored") for index in columns}

    def _note_unread(self, read: Sequence[int]) -> None:
        """Columns with numbers that are not read."""
        unknown = (i for i in self._columns.of("unknown") if i not in read and i not in self._labels.layout_columns())
        self._left_out([i for i in unknown if any(read_cell(cell_of(row, i)) for row in self._rows[1:])])
        for index in self._columns.of("unread"):
            text = self._columns.headings[index].text
            self._note_head(f"{text!r} is nothing that is compared here; it was not read.")

    def _note_head(self, sentence: str) -> None:
        """Something to be known of the headings."""
        self._making.note(f"{self._head}: {sentence}")

    def _note_alike(self, names: Mapping[int, str]) -> None:
        """Columns under one heading, which nothing tells apart."""
        texts = [self._rows[0].cells[i] for i in self._columns.of("figure") if i not in names]
        for text in dict.fromkeys(text for text in texts if texts.count(text) > 1):
            self._note_head(f"{texts.count(text)} columns are called {text!r}; their objects are unknown.")

    def _named_columns(self) -> dict[int, str]:
        """Columns of one metric for several layouts or workloads, or of metrics of unlike workloads: what each is of."""
        keys = {i: self._columns.headings[i][2:] for i in self._figures if self._columns.headings[i].role == "figure"}
        names = {i: residual(self._columns.headings[i].text) for i in keys}
        several = [i for i, key in keys.items() if list(keys.values()).count(key) > 1]
        # Under two names, the same in two units is not one number told twice.
        bare = {i: self._columns.headings[i]._replace(unit="")[2:] for i in keys}
        groups: dict[tuple[object, ...], set[str]] = {}
        for i, name in names.items():
            groups.setdefault(bare[i], set()).update(filter(None, (plain(name),)))
        several += [i for i, name in names.items() if name and len(groups[bare[i]]) > 1]
        said = {name for name in names.values() if name}
        if several or (not self._columns.of("workload") and len({asked(name) for name in said} - {None}) > 1):
            return {i: name for i, name in names.items() if name}
        # One workload in several metrics, beside a column of layouts.
        one = len(said) == 1 and self._columns.of("layout") and not self._columns.of("workload", "unknown")
        return {i: name for i, name in names.items() if name and asked(name)} if one else {}

    def _rows_are_layouts(self, names: Sequence[str]) -> bool:
        """Return True if columns are named after workloads, and rows therefore after layouts."""
        if self._columns.of("layout") and not self._columns.of("workload"):
            return True
        return not self._columns.of("workload") and told(names) > told([cell_of(row, 0) for row in self._rows[1:]])

    def _measured(self, row: Row) -> Iterator[tuple[int, Heading]]:
        """Columns with numbers; of a value column, the metric that its row names."""
        for index in self._figures:
            yield index, self._columns.headings[index]
        named = " ".join(cell_of(row, i) for i in self._columns.of("metric", "unit"))
        for index in self._columns.of("value"):
            heading: Heading | None = read_heading(named)
            if not named and (cell := read_cell(cell_of(row, index))) is not None and cell.unit:
                heading = of_unit(cell.unit, self._columns.headings[index].text)
            if heading is not None and heading.role in ("figure", "share"):
                yield index, heading

    def _wide(self) -> None:
        first = self._columns.headings[0]
        values = [i for i in self._columns.of("unknown", "share", "layout", "workload", "value", "ignored") if i]
        corner_unit = rate_unit(first.text) or ("%" if "%" in first.text else "")
        unit = corner_unit or (first.unit if first.role == "figure" else "") or self._settings.get("unit", "")
        rows_are_layouts = first.role == "layout" or (
            first.role == "unknown" and self._rows_are_layouts([self._columns.headings[i].text for i in values])
        )
        words = [i for i in values if self._has_words(i)]
        self._note_unread(values)
        values = [i for i in values if i not in words]
        raw = {i: self._columns.headings[i].text for i in values if self._columns.headings[i].role != "share"}
        twice = self._told_twice()
        for row in self._rows[1:]:
            name = cell_of(row, 0)
            own_words = (name if rows_are_layouts else twice.get(name, name), *(cell_of(row, i) for i in words))
            row_label = " ".join(filter(None, own_words))
            for index in values:
                heading = self._columns.headings[index]
                if heading.role == "share" and not rows_are_layouts:
                    self._share_column(row, index, heading, raw, self._labels.workload(row, [], row_label))
                    continue
                cell = read_cell(cell_of(row, index))
                if cell is None:
                    self._note_words(row, index)
                    continue
                layout = self._labels.layout_key(row_label if rows_are_layouts else heading.text)
                label = heading.text if rows_are_layouts else name
                workload = self._labels.workload(row, [], twice.get(label, label) if rows_are_layouts else row_label)
                own = next((unit_of(text) or text for i in self._columns.of("unit") if (text := cell_of(row, i))), "")
                said = cell.unit or rate_unit(heading.text) or unit_of(label) or own or unit
                known = of_unit(said, heading.text)
                if known is None:
                    raise self._unitless(row, cell.text)
                told = read_heading(label) if label in twice else known
                self._put(layout, workload, known._replace(statistic=told.statistic or known.statistic), row, index)

    def _has_words(self, index: int) -> bool:
        """Return True if a column describes its row without measuring anything."""
        cells = said_in(index, self._rows)
        role = self._columns.headings[index].role
        return role in ("unknown", "layout", "workload") and bool(cells) and not any(map(_BEGINS_AS_NUMBER.match, cells))

    def _unitless(self, row: Row, text: str) -> ProblemError:
        place = f"{self._name}:{row.line}"
        return unreadable(place, f"nothing says which unit {text} has", _WHERE_UNITS_STAND)

    def _told_twice(self) -> dict[str, str]:
        """Rows that are one workload in two metrics (`4k read (IOPS)`, `4k read (MB/s)`): what they are without these.

        Where all rows are metrics alone (`IOPS`, `MB/s`), the corner may say the workload.
        """
        labels = [cell_of(row, 0) for row in self._rows[1:]]
        bare = {label: residual(label) for label in labels if unit_of(label)}
        corner = self._columns.headings[0].text
        if not any(bare.values()) and len(bare) == len(set(labels)) > 1 and asked(corner) is not None:
            return dict.fromkeys(bare, corner)
        return {label: name for label, name in bare.items() if name and list(bare.values()).count(name) > 1}

    def _share_column(self, row: Row, index: int, heading: Heading, raw: Mapping[int, str], workload: str) -> None:
        """A column of percentages beside columns of numbers: whose it is, and of whose, where there is but one answer."""
        layout, of = owner_and_baseline(index, self._columns.headings, raw, self._rows)
        if not layout:
            self._note_head(f"nothing says whose percentages {heading.text!r} are.")
            return
        if layout not in raw.values():
            self._note_head(f"{layout!r} of {heading.text!r} has no numbers here; it was not compared.")
        self._put(layout, workload, heading._replace(of=of), row, index)

    def _put(self, layout: str, workload: str, heading: Heading, row: Row, index: int) -> None:
        cell = read_cell(cell_of(row, index).rstrip("x× ") if heading.unit == "fraction" else cell_of(row, index))
        if cell is None or heading.metric is None:
            self._refuse_words(row, index)
            return
        unit, number = cell.unit or heading.unit or self._settings.get("unit", ""), cell.number
        metric = heading.metric
        if unit == "kIOPS":
            unit, number = "IOPS", number._replace(value=round(number.value * 1000, 6), half_step=number.half_step * 1000)
        text = cell.text if unit != "IOPS" or heading.unit != "kIOPS" else f"{cell.text}k"
        if unit == "fraction":
            # 7.1 is anything from 705 to 715 %.
            unit, number, text = "%", number._replace(value=round(100 * number.value, 6)), f"{cell.text}e2"
        if (unit == "%") != (metric == "share"):
            self._note_words(row, index, "not what its heading says")
            return
        if metric != "share" and cell.unit and unit not in UNITS_OF[metric]:
            # Under a heading that says more than one thing (throughput), the number's own unit says what it is.
            counted = of_unit(unit, heading.text)
            metric = counted.metric if counted is not None and counted.metric is not None else metric
        if metric == "latency" and unit not in TIME_UNITS:
            self._making.note(f"{self._name}:{row.line}: nothing says which unit {cell.text!r} has; not read.")
            return
        if metric != "share" and unit not in UNITS_OF[metric]:
            raise self._unitless(row, cell.text)
        if heading.change:
            number = number._replace(value=heading.percent(number.value))
            text = f"{number.value:g}"
        if metric != "share" and (layout, workload, metric, heading.direction) in self._taken:
            layout = self._called_again(layout, workload, metric, heading.direction)
        of = self._cell_of(row) or heading.of if metric == "share" else ""
        # Of a share, the word is one of the workload where no numbers are told apart by it.
        direction = heading.direction if metric != "share" or heading.direction in self._directions else ""
        round_ = next((int(said[:12]) for i in self._columns.of("round") if (said := cell_of(row, i)).isdecimal()), 1)
        self._making.add(layout, workload, metric, number, unit, f"{self._name}:{row.line}", text, of=of,
                         direction=direction, statistic=heading.statistic, round=max(1, round_))  # fmt: skip

    def _called_again(self, layout: str, workload: str, metric: str, direction: str) -> str:
        """Another name for a layout that an earlier table of the file has measured under this workload."""
        name = again = f"{self._rows[0].cells[0]} {layout}".strip()
        number = 1
        while (again, workload, metric, direction) in self._taken:
            number += 1
            again = f"{name} #{number}"
        self._again[layout, workload] = self._labels.layout_key(again)
        return self._again[layout, workload]

    def _rename_shares(self, before: int) -> None:
        """Percentages beside numbers of layouts with another name are of these."""
        figures = self._making.figures
        kept = {(figure.layout, figure.workload) for figure in figures[before:]}
        again = {key: name for key, name in self._again.items() if (name, key[1]) in kept}
        for index, figure in enumerate(figures[before:], before):
            if figure.metric == "share":
                layout, of = (again.get((name, figure.workload), name) for name in (figure.layout, figure.of))
                figures[index] = msgspec.structs.replace(figure, layout=layout, of=of)

    def _refuse_words(self, row: Row, index: int) -> None:
        """Words where a number belongs are refused by name; signs for nothing are not."""
        text = cell_of(row, index)
        mantissa = _EXPONENT.sub("", text)
        if any(sign.isdigit() for sign in text) and not any(sign.isalpha() for sign in mantissa):
            raise unreadable(f"{self._name}:{row.line}", f"{text!r} is no number")
        self._note_words(row, index)

    def _note_words(self, row: Row, index: int, what: str = "no number") -> None:
        """Cells with digits that are no number, or none of what their column has, once for each column."""
        text = cell_of(row, index)
        if any(sign.isdigit() for sign in text) and index not in self._with_words:
            self._with_words.add(index)
            self._making.note(f"{self._name}:{row.line}: {text!r} is {what}; such cells of its column were not read.")

    def _cell_of(self, row: Row) -> str:
        return next((cell_of(row, i) for i in self._columns.of("baseline")), "")
