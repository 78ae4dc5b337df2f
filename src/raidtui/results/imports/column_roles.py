"""What a column of a plain table is where its heading alone does not say it: by its cells, and by those beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from raidtui.results.imports.cells import Row, read_cell
from raidtui.results.imports.heading import Heading, Role
from raidtui.results.imports.headings import residual
from raidtui.results.imports.row_labels import DISKS, cell_of, is_command, measures, said_in
from raidtui.results.imports.table_columns import asked, plain
from raidtui.results.imports.told_by_cells import numbers
from raidtui.results.labels import read_command, read_label

_VERSUS: Final = re.compile(r"(.+?)\s+(?:vs\.?|versus)\s+(.+)", re.IGNORECASE)
_LABELLING: Final = (
    "layout", "setting", "workload", "block", "iodepth", "numjobs", "fsync", "round", "model", "metric", "unit", "command",
    "baseline",
)  # fmt: skip
_WHEN: Final = re.compile(
    r"(?:\d{4}-\d\d-\d\d.*|\d{1,2}[./]\d{1,2}[./]\d{2,4}.*|(?:[01]?\d|2[0-3]):[0-5]\d.*)?", re.IGNORECASE
)
"""A date or a time of day, under any name."""
_NAME: Final = re.compile(r"names?|labels?", re.IGNORECASE)
_OF_LAYOUTS: Final = re.compile(
    r"(?:(?:zfs )?record ?size|vol ?block ?size|(?:chunk|strip(?:e|e unit)?)(?: ?size)?)(?:\W*[km]i?b)?\W*", re.IGNORECASE
)
_SETTING: Final = re.compile(
    r"(?<![a-z])(?:disks?|drives?|members?|devices?|ssds?|hdds?|nvmes?|osds?|vdevs?|jobs?|threads?|workers?|clients?|vms?|guests?"
    r"|users?|connections?|sessions?|qd|depth|queues?|outstanding|oio|chunks?|stripes?|width|blocks?|bs|size|sectors?|level|raid"
    r"|nodes?|hosts?|cores?|streams?|files?|count|number|num|no|nr|n|tests?|case|id|copies|replicas?|parity|port|lun|slot|bay"
    r"|targets?|step|ram|memory|cache(?! ?(?:hit|miss))|[kmg]i?b|k|m|scale|batch|generation|version|group|set)(?![a-z])",
    re.IGNORECASE,
)
"""Numbers under such words tell rows apart; those under others were measured."""
_PER_SECOND_OR_TIME: Final = re.compile(
    r"/\s?s(?:ec)?(?![a-z])|per sec|(?<![a-z])(?:[nuµm]?s|[nuµm]?sec|minutes?|min)(?![a-z])", re.IGNORECASE
)


def named_by_cells(heading: Heading, index: int, rows: Sequence[Row]) -> Heading:
    """What only the cells tell: a layout called Baseline from names of baselines, `a vs b` in percent from a label."""
    both = _VERSUS.fullmatch(heading.text) if heading.role == "unknown" else None
    if heading.role != "baseline" and both is None:
        return heading
    cells = list(numbers(index, rows))
    if both is not None and cells and all(cell.unit == "%" for cell in cells):
        return Heading("share", heading.text, "share", "%", of=both.group(2), other=both.group(1))
    return heading._replace(role="unknown") if both is None and cells else heading


def shares_told_apart(headings: Mapping[int, Heading], rows: Sequence[Row]) -> dict[int, Heading]:
    """The headings, where a percentage of nobody knows what is not read: its words name neither a layout nor a workload."""
    named = {plain(name) for one in headings.values() if not one.words for name in (one.text, residual(one.text))}
    layouts = [i for i, heading in headings.items() if heading.role == "layout"]
    baselines = {plain(cell_of(row, i)) for row in rows[1:] for i in layouts}
    found = dict(headings)
    for index, heading in headings.items():
        if plain(heading.words) in baselines - {""}:
            found[index] = heading._replace(of=heading.words, words="")
        elif heading.words and plain(heading.words) not in named and asked(heading.words) is None:
            found[index] = heading._replace(role="unread")
    return found


def layouts_settings(headings: Mapping[int, Heading]) -> dict[int, Heading]:
    """The headings; chunk and record size are of the layout where a column says the block size of the operations."""
    blocks = [i for i, heading in headings.items() if heading.role == "block"]
    role: Role = "setting" if any(heading.role == "layout" for heading in headings.values()) else "unknown"
    found = dict(headings)
    for index, heading in headings.items():
        settles = heading.role == "unknown" or (heading.role == "block" and len(blocks) > 1)
        if settles and _OF_LAYOUTS.fullmatch(heading.text):
            found[index] = heading._replace(role=role)
    return found


def typed(headings: Mapping[int, Heading], rows: Sequence[Row]) -> dict[int, Heading]:
    """The headings; a column `type` is of workloads where its cells say so, and of models beside a column of disks."""
    disks = any(heading.role == "layout" and DISKS.fullmatch(heading.text) for heading in headings.values())
    found = dict(headings)
    for index, heading in headings.items():
        if heading.role == "unknown" and heading.text.lower() == "type":
            said = [read_label(cell) for row in rows[1:] if (cell := cell_of(row, index))]
            workloads = bool(said) and all(one.pattern is not None or one.random is not None for one in said)
            found[index] = heading._replace(role="workload" if workloads else "model" if disks else "unknown")
    return found


def commands(headings: Mapping[int, Heading], rows: Sequence[Row]) -> dict[int, Heading]:
    """The headings; cells that are commands are so under any name, and names beside unlike ones are workloads."""
    found = dict(headings)
    for index, heading in headings.items():
        cells = said_in(index, rows)
        if heading.role in ("unknown", "fsync", "ignored") and cells and all(map(is_command, cells)):
            found[index] = heading._replace(role="command")
    names = [i for i, heading in found.items() if heading.role in ("layout", "workload")]
    if len(names) == 1 and _NAME.fullmatch(found[names[0]].text) and _name_workloads(names[0], found, rows):
        found[names[0]] = found[names[0]]._replace(role="workload")
    return found


def _name_workloads(index: int, headings: Mapping[int, Heading], rows: Sequence[Row]) -> bool:
    """Whether names are those of what their commands measure: the names say so, or the commands do unlike things."""
    runs = [cell_of(row, i) for i in headings if headings[i].role == "command" for row in rows[1:]]
    done = {said for run in runs if measures(run) and (said := read_command(run)) is not None}
    return bool(done) and (len(done) > 1 or all(asked(cell_of(row, index)) for row in rows[1:]))


def measured_by_nobody(headings: Mapping[int, Heading], rows: Sequence[Row]) -> list[int]:
    """Columns of numbers, of which nobody knows what they count; they name nothing."""
    return [
        index
        for index, heading in headings.items()
        if index and heading.role == "unknown" and _all_numbers(index, rows)
        and (not _SETTING.search(heading.text) or _PER_SECOND_OR_TIME.search(heading.text))
    ]  # fmt: skip


def telling_apart(headings: Mapping[int, Heading], rows: Sequence[Row]) -> list[int]:
    """Columns that nobody knows, of which something must tell rows apart: all that is known of these is equal."""
    known = [i for i, heading in headings.items() if heading.role in _LABELLING]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows[1:]:
        groups.setdefault(tuple(cell_of(row, i) for i in known), []).append(row)
    alike = [group for group in groups.values() if len(group) > 1]
    unknown = [
        i for i, heading in headings.items()
        if heading.role == "unknown" and not all(_WHEN.fullmatch(cell_of(row, i)) for row in rows[1:])
    ]  # fmt: skip
    return [i for i in unknown if any(len({cell_of(row, i) for row in group}) > 1 for group in alike)]


def _all_numbers(index: int, rows: Sequence[Row]) -> bool:
    cells = said_in(index, rows)
    return bool(cells) and all(read_cell(cell) is not None for cell in cells)
