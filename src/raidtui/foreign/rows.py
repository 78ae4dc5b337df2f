"""Rows of plain tables: the layout and workload that their cells name, and roles of columns that follow from the cells.

Also claims in comments, tables that repeat an earlier one, and mappings without a match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from raidtui.base.text import named
from raidtui.foreign.cells import NOTHING, Directive, Row, cell_of, mapped, numbers, read_cell
from raidtui.foreign.columns import Columns, asked, block_bytes_of, of_unit, plain, whole
from raidtui.foreign.headings import MAPPED_ROLES, Heading, Role, residual
from raidtui.foreign.labels import read_command, read_label
from raidtui.foreign.published import tolerance
from raidtui.foreign.sources import Building, stem, unreadable
from raidtui.model.problem import ProblemError
from raidtui.model.table import RATE_UNITS, TIME_UNITS, Asked, Claim, Figure, Subject

DISKS: Final = re.compile(r"(?:disk|drive|device|ssd|hdd|nvme)s?", re.IGNORECASE)
_BUILDS: Final = re.compile(
    r"^`?(?:sudo\s+)?(?:/\S*/)?(?:mdadm|lvcreate|lvconvert|vgcreate|pvcreate|zpool|zfs|mkfs|mke2fs|cryptsetup)[\s.]"
)
"""Commands that make a layout; all others run a workload."""
_RUNS: Final = re.compile(r"^`?(?:sudo\s+)?(?:/\S*/)?(?:fio|dd|iozone|vdbench)\s")
_NUMBERED: Final = re.compile(r"(.*\w)\s*#\d+")


def said_in(index: int, rows: Sequence[Row]) -> list[str]:
    """Return the texts of a column, without its heading in the first row and without signs for nothing."""
    return [cell for row in rows[1:] if (cell := cell_of(row, index)).lower() not in NOTHING]


def is_command(text: str) -> bool:
    """Return True if a cell is a command that builds or measures."""
    return _BUILDS.search(text) is not None or _RUNS.search(text) is not None


def measures(text: str) -> bool:
    """Return True if a cell is a command that runs a workload."""
    return _RUNS.search(text) is not None


class RowLabels:
    """Layouts and workloads of one table of a file, added to the whole as its rows name them."""

    def __init__(self, making: Building, columns: Columns, name: str, default_layout: str) -> None:
        self._making, self._columns, self._name = making, columns, name
        self._default_layout = default_layout
        self._apart: Sequence[int] = ()

    def tell_apart(self, columns: Sequence[int]) -> None:
        """Names layouts by these columns too."""
        self._apart = columns

    def layout(self, row: Row, corner: str) -> str:
        """The layout that a row names, else the corner of its table, else the file."""
        columns = self.layout_columns()
        text = " ".join(filter(None, (cell_of(row, i) for i in columns)))
        model = next((cell_of(row, i) for i in self._columns.of("model")), "") or self._numbered(text, columns)
        layout = text or corner or self._default_layout or stem(self._name)
        return self.layout_key(layout, model, row)

    def layout_columns(self) -> list[int]:
        """The columns that name layouts."""
        named = self._columns.of("layout", "setting")
        named += self._apart
        return named or (self._columns.of("unknown") if self._columns.of("workload") else [])

    def layout_key(self, text: str, model: str = "", built: Row | None = None) -> str:
        """The layout of this name. `built` is a row that may have the command that made it."""
        if self._making.several and not text.startswith(stem(self._name)):
            text = f"{stem(self._name)} {text}"
        command = self._command(built, builds=True) if built is not None else ""
        place = f"{self._name}:{built.line}" if built is not None and command else ""
        return self._making.layout(text, Subject(like=model[:400], command=command, place=place))

    def workload(self, row: Row, labels: Sequence[int], label: str = "") -> str:
        """The label with what columns beside it say of it."""
        heading = {role: next(iter(self._columns.of(role)), None) for role in ("block", "iodepth", "numjobs", "fsync")}
        parts = {role: cell_of(row, index) for role, index in heading.items() if index is not None}
        text = label or " ".join(filter(None, (cell_of(row, i) for i in labels)))
        said = read_label(text)
        block = said.block_bytes or block_bytes_of(parts.get("block", ""), heading["block"], self._columns)
        command = self._command(row, builds=False)
        extra = [f"bs={parts['block']}" if said.block_bytes is None and parts.get("block") else "",
                 f"qd={parts['iodepth']}" if said.iodepth is None and parts.get("iodepth") else "",
                 f"jobs={parts['numjobs']}" if said.numjobs is None and parts.get("numjobs") else ""]  # fmt: skip
        key = " ".join(filter(None, (text, *extra))) or "workload"
        asked = Asked(
            pattern=said.pattern, random=said.random, block_bytes=block, read_percent=said.read_percent,
            iodepth=said.iodepth or whole(parts.get("iodepth")), numjobs=said.numjobs or whole(parts.get("numjobs")),
            fsync=said.fsync if said.fsync is not None else whole(parts.get("fsync")),
            random_percent=said.random_percent, command=command,
            place=f"{self._name}:{row.line}" if command else "",
        )  # fmt: skip
        known = self._making.workloads.get(key)
        if known is not None and command and known.command != command:
            asked = msgspec.structs.replace(asked, label=key)
            key = f"{key} ({self._name}:{row.line})"
        return self._making.workload(key, asked)

    def _numbered(self, text: str, columns: Sequence[int]) -> str:
        """The model of `P4510 #2` in a column of disks, where nothing else tells it."""
        disks = len(columns) == 1 and DISKS.fullmatch(self._columns.headings[columns[0]].text)
        match = _NUMBERED.fullmatch(text) if disks else None
        return match.group(1) if match is not None else ""

    def _command(self, row: Row, *, builds: bool) -> str:
        """The first command of a row that builds a layout, or the first that does not."""
        cells = (cell_of(row, i).strip("`")[:4000] for i in self._columns.of("command"))
        return next((cell for cell in cells if cell and bool(_BUILDS.search(cell)) == builds), "")


def claims_of(directives: Iterable[Directive], layouts: Sequence[str], name: str, baseline: str) -> list[Claim]:
    """Return the claims about the layouts that a sentence names, or about all; the reference is named behind the number."""
    found = []
    for one in directives:
        if one.word != "claim" or (said := tolerance(one.text)) is None:
            continue
        named, behind = _named(one.text, layouts), _named(one.text[said.end :], layouts)
        chosen = named if len(named) > 1 else list(layouts)
        wanted = next((k for k in layouts if _plain(k) == _plain(one.subject or baseline)), "")
        after = [key for key in named if key in behind]
        first = wanted or (after[0] if len(after) == 1 else chosen[0] if chosen else "")
        if pairs := tuple((first, key) for key in chosen if key != first):
            found.append(Claim(one.text[:400], said.percent, pairs, f"{name}:{one.line}"))
    return found


def _named(text: str, layouts: Sequence[str]) -> list[str]:
    """The layouts that a text names, in its order; where a name is part of a longer one that stands there, the longer."""
    sentence = f" {_plain(text)} "
    found: dict[int, str] = {}
    for key in sorted(layouts, key=lambda key: -len(_plain(key))):
        while (name := _plain(key)) and (start := sentence.find(f" {name} ")) >= 0:
            found.setdefault(start, key)
            sentence = f"{sentence[:start]} {'.' * len(name)} {sentence[start + len(name) + 2 :]}"
    return list(dict.fromkeys(found[start] for start in sorted(found)))


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


_MOST_NAMES: Final = 20


def refuse_unmatched(
    blocks: Sequence[Sequence[Row]], directives: Sequence[Directive], given: Mapping[str, str], name: str
) -> None:
    """Refuse unknown roles, columns and units. `given` are mappings of the command line."""
    for role, heading in given.items():
        _refuse_column(blocks, role, heading, name)
    for one in directives:
        place = f"{name}:{one.line}"
        if one.word == "map" and one.subject:
            if one.subject.lower() not in MAPPED_ROLES:
                raise no_such(place, f"{one.subject!r} is nothing that a column can be", MAPPED_ROLES)
            _refuse_column(blocks, one.subject, one.text, place)
        elif one.word == "unit" and not one.subject and of_unit(one.text, "") is None:
            raise no_such(place, f"{one.text!r} is no unit that is known here", ("IOPS", *RATE_UNITS, *TIME_UNITS, "%"))


def no_such(place: str, message: str, names: Iterable[str]) -> ProblemError:
    return unreadable(place, message, f"There are: {named(list(names), _MOST_NAMES)}.")


def _refuse_column(blocks: Sequence[Sequence[Row]], role: str, heading: str, place: str) -> None:
    if not any(mapped(block[0].cells, {role: heading}) for block in blocks):
        raise no_such(place, f"no column is called {heading!r}", blocks[0][0].cells if blocks else ())


def told_again(figures: Sequence[Figure], before: int, again: Mapping[tuple[str, str], str]) -> list[int]:
    """Return the figures from `before` on that repeat earlier ones; none unless most of them do.

    `again` has the other name that a layout got there, by its own name and the workload. Where most differ, they were
    measured again, and what is equal may have been copied.
    """
    names = {(other, workload): layout for (layout, workload), other in again.items()}
    earlier = {(*_cell(figure, figure.layout), figure.value) for figure in figures[:before]}
    renamed = [i for i in range(before, len(figures)) if (figures[i].layout, figures[i].workload) in names]
    found = [
        i for i in renamed
        if (*_cell(figures[i], names[figures[i].layout, figures[i].workload]), figures[i].value) in earlier
    ]  # fmt: skip
    return found if 2 * len(found) > len(renamed) else []


def _cell(figure: Figure, layout: str) -> tuple[object, ...]:
    return layout, figure.workload, figure.metric, figure.unit, figure.direction, figure.statistic, figure.round


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
    """Return the role of a column that follows only from its cells: a layout called Baseline or names of baselines, `a vs
    b` in percent or a label.
    """
    both = _VERSUS.fullmatch(heading.text) if heading.role == "unknown" else None
    if heading.role != "baseline" and both is None:
        return heading
    cells = list(numbers(index, rows))
    if both is not None and cells and all(cell.unit == "%" for cell in cells):
        return Heading("share", heading.text, "share", "%", of=both.group(2), other=both.group(1))
    return heading._replace(role="unknown") if both is None and cells else heading


def shares_told_apart(headings: Mapping[int, Heading], rows: Sequence[Row]) -> dict[int, Heading]:
    """Return the headings without percentages of an unknown object: their words name neither a layout nor a workload."""
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
    """Return True if names are those of the measured commands: the names match, or the commands differ."""
    runs = [cell_of(row, i) for i in headings if headings[i].role == "command" for row in rows[1:]]
    done = {said for run in runs if measures(run) and (said := read_command(run)) is not None}
    return bool(done) and (len(done) > 1 or all(asked(cell_of(row, index)) for row in rows[1:]))


def measured_by_nobody(headings: Mapping[int, Heading], rows: Sequence[Row]) -> list[int]:
    """Columns of numbers of an unknown kind; they name nothing."""
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
