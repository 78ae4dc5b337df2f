"""Rows of a plain table with the same layout and workload: rounds, or measurements under something that differs.

What differs between them is part of the configuration where its column says a setting (kernel, mode, clients); where it may
be anything, it is asked for with --map.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from raidtui.foreign.cells import Row, read_cell, said_in
from raidtui.foreign.headings import Heading
from raidtui.foreign.statistic_words import kind_of

_ENVIRONMENT: Final = re.compile(
    r"(?:linux |os |fio |driver |firmware |zfs |openzfs |mdadm |lvm |host )?(?:kernel|version|release)s?|kernel version"
    r"|uname|os|distro|distribution|operating system|fio|zfs|driver|firmware|fw|bios|host(?:name)?s?|servers?|machines?"
    r"|i/?o ?sched\w*|scheduler|elevator|governor"
    r"|mitigations|cpu model|ram|numa|hypervisor|instance(?: type)?|kernel-version|ядро|версия"
    r"|версия ядра|сервер|betriebssystem|kernelversion|rechner|noyau|serveur|version du noyau|内核|内核版本|服务器",
    re.IGNORECASE,
)
"""Whole headings of the surroundings of a measurement; their values are part of the layout's name where they differ."""
_DAYS: Final = re.compile(r"(?:date|day|datum|tag|дата|jour|日期|(?:date ?|run ?)?time ?stamp)s?", re.IGNORECASE)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}/\d\d?/\d\d?|\d{8}")
_WHEN: Final = re.compile(r"(?:\d{4}-\d\d-\d\d.*|\d{1,2}[./]\d{1,2}[./]\d{2,4}.*|(?:[01]?\d|2[0-3]):[0-5]\d.*)?")
"""A date or a time of day, under any name."""
_QUANTITY: Final = re.compile(
    r"/s|%|(?<![a-z])(?:pct|percent|secs?|seconds?|ms|us|ns|s|min|watts?|w|temp\w*|°c|c|time|wait|delay|duration|elapsed|ctx\w*"
    r"|switches|ticks|load|errors?|retries|timeouts?|faults?|used|free|util\w*|cpu|usr|sys|price|cost|id|seq|index|row|pid"
    r"|written|moved|efficiency|hits?|miss(?:es)?|[kmgt]i?b|bytes)(?![a-z])",
    re.IGNORECASE,
)
"""Words of something that was measured beside the rates: it differs between rounds, too."""
_LABELLING: Final = (
    "layout", "setting", "workload", "block", "iodepth", "numjobs", "fsync", "round", "model", "metric", "unit", "command",
    "baseline",
)  # fmt: skip


class Undecided(NamedTuple):
    """A column that differs between two rows of one cell, with their lines, and nothing says what it is."""

    heading: str
    first: int
    second: int


def with_surroundings(headings: Mapping[int, Heading], rows: Sequence[Row]) -> dict[int, Heading]:
    """The headings; a column of the surroundings (kernel, host) is a setting if it differs between rows."""
    labelled = any(heading.role in ("layout", "workload") for heading in headings.values())
    found = dict(headings)
    for index, heading in headings.items():
        surroundings = heading.role == "unknown" and _ENVIRONMENT.fullmatch(heading.text)
        if surroundings and (index or labelled) and _differs(index, rows[1:]):
            found[index] = heading._replace(role="setting")
    return found


def telling_apart(headings: Mapping[int, Heading], rows: Sequence[Row]) -> list[int]:
    """Unknown columns that differ between rows of which all known labels are equal; never dates and times."""
    groups = _groups([i for i, heading in headings.items() if heading.role in _LABELLING], rows)
    return [
        i for i, heading in headings.items()
        if heading.role == "unknown" and not all(_WHEN.fullmatch(row.cells[i]) for row in rows[1:])
        and any(_differs(i, group) for group in groups)
    ]  # fmt: skip


def undecided(headings: Mapping[int, Heading], rows: Sequence[Row], read: Sequence[int]) -> Undecided | None:
    """Return the first column that may or may not make rows of one cell unlike: dates, numbers under an unknown word.

    `read` are columns that are part of the cell's name. A table that says the round has no such column.
    """
    if any(heading.role == "round" for heading in headings.values()):
        return None
    labels = [i for i, heading in headings.items() if i in read or heading.role in _LABELLING]
    for group in _groups(labels, rows):
        for i, heading in headings.items() if len(group) > 1 else ():
            if i not in labels and _may_matter(heading, i, rows) and (pair := _unlike(i, group, heading)) is not None:
                return Undecided(heading.text, pair[0].line, pair[1].line)
    return None


def unread_words(headings: Mapping[int, Heading], rows: Sequence[Row], read: Sequence[int]) -> list[str]:
    """Headings of unknown columns of words that differ between rows and are part of no name."""
    return [
        heading.text for i, heading in headings.items()
        if heading.role == "unknown" and i not in read and said_in(i, rows) and _differs(i, rows[1:])
    ]  # fmt: skip


def _may_matter(heading: Heading, index: int, rows: Sequence[Row]) -> bool:
    if heading.stated or _is_day(heading):
        return not heading.stated
    plain_number = all(map(read_cell, said_in(index, rows)))
    return (heading.role in ("unknown", "ignored") and plain_number and heading.was_unknown
            and kind_of(heading.text) == "" and not _QUANTITY.search(heading.text))  # fmt: skip


def _is_day(heading: Heading) -> bool:
    return heading.role in ("ignored", "unknown") and _DAYS.fullmatch(heading.text) is not None


def _unlike(index: int, group: Sequence[Row], heading: Heading) -> tuple[Row, Row] | None:
    """Return two rows that differ in a column, of dates in the day."""

    def said(row: Row) -> str:
        day = _DAY.search(row.cells[index]) if _is_day(heading) else None
        return day.group() if day is not None else row.cells[index]

    return next(((group[0], row) for row in group if said(row) != said(group[0])), None)


def _groups(labels: Sequence[int], rows: Sequence[Row]) -> list[list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows[1:]:
        found.setdefault(tuple(row.cells[i] for i in labels), []).append(row)
    return list(found.values())


def _differs(index: int, rows: Sequence[Row]) -> bool:
    return len({row.cells[index] for row in rows}) > 1
