"""Sources and readers of foreign files: the interface of a reader, and a table in the making."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Literal, NamedTuple, Protocol, cast

import msgspec

from raidtui.base.text import clean
from raidtui.foreign.published import Published, read_number
from raidtui.model.convert import plain
from raidtui.model.findings import TABLE_UNREADABLE
from raidtui.model.problem import ProblemError, fail
from raidtui.model.table import (
    LARGEST,
    MAX_FIGURES,
    MAX_TABLE_BYTES,
    TABLE_SCHEMA,
    Asked,
    Claim,
    Figure,
    Metric,
    Subject,
    Table,
    Unit,
)
from raidtui.results.load import short_name


class Source(NamedTuple):
    """A file as it was given: its name, for messages and titles, and its whole content."""

    name: str
    data: bytes
    mapping: tuple[tuple[str, str], ...] = ()
    """Roles of columns that their headings do not tell: `("layout", "Setup")`."""


class Imported(NamedTuple):
    """Result of an import."""

    document: Any
    """A scenario, a result or a table as plain JSON data."""
    suffix: str
    """Suffix of a file for it: `.scenario.json`, `.table.json`."""
    notes: tuple[str, ...] = ()
    """Notes on everything that was interpreted or left out, one sentence each: nothing is lost silently."""


class Reader(Protocol):
    """Reader of a kind of foreign file."""

    @property
    def name(self) -> str:
        """Word on the command line: `fio-job`."""

    @property
    def title(self) -> str:
        """Short description: `fio job file, as a scenario`."""

    def claims(self, source: Source) -> bool:
        """Return True if the file looks like this kind. Never raises; no two kinds claim the same file."""

    def read(self, sources: Sequence[Source], *, leave_out: bool) -> Imported:
        """Raises ProblemError naming file, line and what cannot be taken over.

        With `leave_out`, what has no counterpart here is left out and said instead of refused.
        """


MAX_LINE: int = 20_000
MAX_NOTES: int = 100
MAX_CAPTIONS: int = 1000
MAX_ROUND: int = 10**9
SNIFFED_BYTES: int = 1 << 16
_MAX_LABEL = 400
_NOTES_OF_AN_ERROR = 3


class TableReader(NamedTuple):
    """Reader of a kind of file with measured numbers. Several files become one table."""

    name: str
    title: str
    sniff: Callable[[str], bool]
    """Return True if this text, cut after 64 KiB, belongs to this kind."""
    add: Callable[[Building, str, str], None]
    """Adds what a text says to the table; gets the file's name, for places. Raises ProblemError."""
    kind: Literal["published", "printed"] = "printed"
    refuses: bool = False
    """Recognise the files of this kind only to say why they cannot be read."""

    def claims(self, source: Source) -> bool:
        """Return True if the file looks like this kind."""
        head = source.data[:SNIFFED_BYTES].decode(_encoding(source.data), "replace").lstrip("\ufeff")
        return "\x00" not in head and self.sniff(head)

    def table(self, sources: Sequence[Source]) -> Table:
        """The files as one table. Raises ProblemError (`table-unreadable`) naming file and line."""
        making = Building(self.kind, several=len(sources) > 1)
        try:
            for source in sources:
                making.mapping = source.mapping
                self.add(making, text_of(source), short_name(source.name))
            return making.finish(short_name(sources[0].name), self.title.removesuffix(", as a table"))
        except ProblemError as error:
            raise _with_notes(error, making.notes) from None

    def read(self, sources: Sequence[Source], *, leave_out: bool) -> Imported:
        """The table as a document."""
        table = self.table(sources)
        return Imported(plain(table), ".table.json", table.notes)


class Building:
    """A table in the making."""

    def __init__(self, kind: Literal["published", "printed"], *, several: bool = False) -> None:
        self.kind = kind
        self.several = several
        """Read several files: measured objects are distinguished by the name of the file."""
        self.mapping: Sequence[tuple[str, str]] = ()
        self.head: dict[str, str] = {}
        self.notes: list[str] = []
        self.captions: dict[str, str] = {}
        """Captions of the source's tables by the place at which they begin."""
        self.layouts: dict[str, Subject] = {}
        self.workloads: dict[str, Asked] = {}
        self.figures: list[Figure] = []
        self.claims: list[Claim] = []
        self.measured: set[tuple[str, str]] = set()
        """Layouts and workloads that have a figure."""
        self.jobs: dict[tuple[str, str], int] = {}
        """Jobs of one name in a layout, by layout and name."""

    def layout(self, key: str, subject: Subject | None = None) -> str:
        """A layout under this key; what was said of it before stays."""
        key = _label(key) or "unnamed"
        self.layouts.setdefault(key, subject if subject is not None else Subject())
        return key

    def workload(self, key: str, asked: Asked | None = None) -> str:
        key = _label(key) or "unnamed"
        self.workloads.setdefault(key, asked if asked is not None else Asked())
        return key

    def add(self, layout: str, workload: str, metric: Metric, number: Published | None, unit: str, place: str,
            text: str = "", **more: Any) -> None:  # fmt: skip
        """Add a figure, if there is a number. Raises ProblemError for one that cannot be, or if there are too many."""
        if number is None:
            return
        if number.value < 0:
            raise unreadable(place, f"{text or format(number.value, 'g')} is less than nothing")
        if number.value > LARGEST:
            raise unreadable(place, f"{number.value:g} is more than anything can do")
        if more.get("round", 1) > MAX_ROUND:
            raise unreadable(place, f"{str(more['round'])[:20]} is more than the largest number of a round")
        if len(self.figures) >= MAX_FIGURES:
            raise unreadable(place, f"there are more than {MAX_FIGURES} numbers")
        layout, workload = self.layout(layout), self.workload(workload)
        self.measured.add((layout, workload))
        self.figures.append(
            Figure(layout, workload, metric, number.value, cast(Unit, unit), text[:60],
                   place[:_MAX_LABEL], rough=number.rough, **more)
        )  # fmt: skip

    def printed(self, cell: tuple[str, str], metric: Metric, text: str, unit: str, place: str, **more: Any) -> None:
        """Add a figure of a layout and a workload as a tool printed it."""
        self.add(*cell, metric, read_number(text), unit, place, text, **more)

    def tell_apart(self, before: int, corner: str) -> None:
        """Treat figures from `before` on of cells that were there: where most are equal, the equal ones are left out.

        The others are of another layout, named after `corner`, the first heading of their table.
        """

        def cell(figure: Figure) -> tuple[str, ...]:
            return figure.layout, figure.workload, figure.metric, figure.direction

        earlier, new = self.figures[:before], self.figures[before:]
        taken = {cell(figure) for figure in earlier if figure.metric != "share"}
        again = [figure for figure in new if cell(figure) in taken]
        known = {(*cell(f), f.unit, f.statistic, f.round, f.value) for f in earlier}
        same = [f for f in again if (*cell(f), f.unit, f.statistic, f.round, f.value) in known]
        if 2 * len(same) > len(again):
            new = [figure for figure in new if figure not in same]
        names: dict[tuple[str, str], str] = {}
        for figure in new:
            if cell(figure) in taken and (figure.layout, figure.workload) not in names:
                name = other = f"{corner} {figure.layout}".strip()
                number = 1
                while (other, *cell(figure)[1:]) in taken:
                    number += 1
                    other = f"{name} #{number}"
                names[figure.layout, figure.workload] = self.layout(other)
        for index, f in enumerate(new):
            layout, of = (names.get((name, f.workload), name) for name in (f.layout, f.of))
            new[index] = msgspec.structs.replace(f, layout=layout, of=of)
        self.figures[before:] = new

    def caption(self, place: str, text: str) -> None:
        """Keep the caption of the source's table that begins here, if it has one."""
        if text and len(self.captions) < MAX_CAPTIONS:
            self.captions[place] = text

    def note(self, sentence: str) -> None:
        """Something that a reader of the table must know, once."""
        if len(self.notes) < MAX_NOTES and (text := clean(sentence)) not in self.notes:
            self.notes.append(text if len(self.notes) < MAX_NOTES - 1 else "There is more to note, which is left out here.")

    def finish(self, name: str, source: str) -> Table:
        """Raises ProblemError where nothing was found."""
        if not self.figures:
            raise unreadable(name, "no number was found")
        used = {figure.layout for figure in self.figures}, {figure.workload for figure in self.figures}
        table = Table(
            schema=TABLE_SCHEMA, name=_label(self.head.get("name", PurePath(name).name.split(".")[0])) or "table",
            title=_label(self.head.get("title", "")), source=_label(self.head.get("source", source)), kind=self.kind,
            date=_label(self.head.get("date", "")), host=_label(self.head.get("host", "")), notes=tuple(self.notes),
            captions={place[:_MAX_LABEL]: _label(text) for place, text in self.captions.items()},
            layouts={key: value for key, value in self.layouts.items() if key in used[0]},
            workloads={key: value for key, value in self.workloads.items() if key in used[1]},
            figures=tuple(self.figures), claims=tuple(self.claims),
        )  # fmt: skip
        # What was read is held against the same limits as a file that is read back.
        try:
            return msgspec.convert(msgspec.to_builtins(table), Table)
        except msgspec.ValidationError as error:
            raise unreadable(name, str(error)) from None


def _with_notes(error: ProblemError, notes: Sequence[str]) -> ProblemError:
    """The error, with what was noted before: it may be the reason."""
    if not notes:
        return error
    first, *rest = error.problems
    noted = " ".join(notes[:_NOTES_OF_AN_ERROR]).rstrip(".")
    return ProblemError(msgspec.structs.replace(first, message=f"{first.message}. Noted before: {noted}"), *rest)


def exact(value: float) -> Published:
    """A number that a tool printed in full."""
    return Published(value, 0.0)


def unreadable(place: str, message: str, remedy: str = "`raidtui explain table-unreadable` says more.") -> ProblemError:
    return fail(TABLE_UNREADABLE, message, place=clean(place), remedy=remedy)


def text_of(source: Source) -> str:
    """The text of a file. Raises ProblemError where it is too large, has lines without end or is no UTF-8."""
    name = short_name(source.name)
    if len(source.data) > MAX_TABLE_BYTES:
        raise unreadable(name, f"it has {len(source.data)} bytes; at most {MAX_TABLE_BYTES} are read")
    try:
        text = source.data.decode(_encoding(source.data))
    except UnicodeDecodeError as error:
        raise unreadable(name, f"byte {error.start} is not UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _encoding(data: bytes) -> str:
    return "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def lines_of(text: str, name: str) -> list[str]:
    """Return the lines. Raises ProblemError for a line that is longer than any tool prints."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            raise unreadable(f"{name}:{number}", f"the line has {len(line)} characters; at most {MAX_LINE} are read")
    return lines


def stem(name: str) -> str:
    """The name that a file gives to what was measured in it."""
    return name.partition(".")[0] or name


@lru_cache(maxsize=4096)
def _label(text: str) -> str:
    return clean(text.strip(), _MAX_LABEL - 40)
