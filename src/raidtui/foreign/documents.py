"""Reading of any file with measured numbers: a result, a table of raidtui, or the output of another tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Final

import msgspec

from raidtui.base.text import clean
from raidtui.foreign.disk_marks import CRYSTAL_DISK_MARK
from raidtui.foreign.elbencho import ELBENCHO
from raidtui.foreign.fio_jobs import FIO_JOB
from raidtui.foreign.fio_reports import FIO
from raidtui.foreign.hcibench import HCIBENCH
from raidtui.foreign.imported import table_of_result
from raidtui.foreign.iperf3 import IPERF3
from raidtui.foreign.openbenchmarking import OPENBENCHMARKING
from raidtui.foreign.other_tools import DD, IOSTAT, IOZONE, PG_TEST_FSYNC
from raidtui.foreign.plain_table import PLAIN_TABLE
from raidtui.foreign.published import read_number
from raidtui.foreign.sources import Imported, Reader, Source, TableReader
from raidtui.foreign.sysbench import SYSBENCH
from raidtui.foreign.vdbench import VDBENCH
from raidtui.foreign.zpool_iostat import ZPOOL_IOSTAT
from raidtui.model.convert import in_words, plain
from raidtui.model.jsonio import read_json
from raidtui.model.problem import ProblemError, fail
from raidtui.model.refusals import IMPORT_UNKNOWN, SCHEMA
from raidtui.model.result import RESULT_SCHEMA, Result
from raidtui.model.scenario_words import SCHEMA as SCENARIO_SCHEMA
from raidtui.model.table import LARGEST, MAX_TABLE_BYTES, TABLE_SCHEMA, UNITS_OF, Figure, Table
from raidtui.results.load import named, read_result, short_name

_SAME = 1e-9


def schema_named(data: bytes) -> str:
    """The schema that a JSON document says it is of; empty for anything else, however broken."""
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return ""
    try:
        return str(msgspec.json.decode(data, type=_Head).schema)[:80]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


def read_table(source: Source) -> Table:
    """The numbers of a file. Raises ProblemError: `json`, `schema`, `import-unknown`, `table-unreadable`."""
    if schema_named(source.data) == TABLE_SCHEMA:
        with named(source.name):
            return table_of(read_json(source.data, max_bytes=MAX_TABLE_BYTES))
    claiming = [reader for reader in readers_of(source) if isinstance(reader, TableReader)]
    if not claiming:
        with named(source.name):
            why = _unknown(source)
        names = ", ".join(name for name in READ if isinstance(READERS[name], TableReader))
        raise fail(IMPORT_UNKNOWN, why, place=short_name(source.name),
                   remedy=f"Known: results and tables of raidtui, and {names}. The cells of a plain table stand between "
                   "commas, semicolons, tabs or bars, not between spaces.")  # fmt: skip
    return claiming[0].table([source])


def _unknown(source: Source) -> str:
    """Return the reason why no reader claims a file. Raises ProblemError (`json`) for broken JSON."""
    if not source.data.strip(b"\xef\xbb\xbf \t\r\n"):
        return "it is empty"
    if source.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        value = read_json(source.data.removeprefix(b"\xef\xbb\xbf"), max_bytes=MAX_TABLE_BYTES)
        schema = value.get("schema")
        said = f"is of schema {clean(str(schema), 80)!r}" if schema is not None else "says no schema"
        return f"it {said}; a result is of {RESULT_SCHEMA!r}, a table of {TABLE_SCHEMA!r}"
    return "it holds no numbers in a form that is known here"


def table_of(value: Any) -> Table:
    """A table as plain JSON data. Raises ProblemError (`schema`) naming the place."""
    try:
        table = msgspec.convert(value, Table)
    except msgspec.ValidationError as error:
        raise _wrong(*in_words(error)) from None
    for index, figure in enumerate(table.figures):
        if figure.layout not in table.layouts or figure.workload not in table.workloads:
            missing = figure.layout if figure.layout not in table.layouts else figure.workload
            raise _wrong(f"{clean(missing, 80)!r} is neither a layout nor a workload of this table", f"$.figures[{index}]")
        if figure.unit not in UNITS_OF[figure.metric]:
            raise _wrong(f"{figure.metric} is not counted in {figure.unit}", f"$.figures[{index}].unit")
        if figure.value < 0:
            raise _wrong(f"{figure.value:g} is less than nothing", f"$.figures[{index}].value")
        if figure.value > LARGEST:
            raise _wrong(f"{figure.value:g} is more than anything can do", f"$.figures[{index}].value")
    figures = tuple(figure if _agrees(figure) else msgspec.structs.replace(figure, text="") for figure in table.figures)
    for index, claim in enumerate(table.claims):
        if unknown := next((name for pair in claim.pairs for name in pair if name not in table.layouts), None):
            raise _wrong(f"{clean(unknown, 80)!r} is no layout of this table", f"$.claims[{index}].pairs")
    return msgspec.structs.replace(table, figures=figures)


def _agrees(figure: Figure) -> bool:
    """Return True if text and number of a figure agree; the number counts."""
    number = read_number(figure.text) if figure.text else None
    return number is None or abs(number.value - figure.value) <= _SAME * max(1.0, abs(figure.value))


def _wrong(message: str, place: str) -> ProblemError:
    return fail(SCHEMA, message, place=place, remedy="`raidtui schema table` prints what may stand there.")


class _Head(msgspec.Struct, frozen=True):
    schema: str


class Own:
    """Reader of raidtui's own results and tables. Several are not joined: they may give one name to different things."""

    name = "raidtui"
    title = "a result or a table of raidtui, as a table"

    def claims(self, source: Source) -> bool:
        return schema_named(source.data) in (RESULT_SCHEMA, TABLE_SCHEMA)

    def read(self, sources: Sequence[Source], *, leave_out: bool) -> Imported:
        if len(sources) > 1:
            raise fail(IMPORT_UNKNOWN, "results and tables of raidtui are not put together",
                       place=clean(sources[1].name), remedy="Import each alone.")  # fmt: skip
        return Imported(plain(read_as_table(sources[0])), ".table.json")


OWN: Reader = Own()
READERS: Final = MappingProxyType[str, Reader](
    {reader.name: reader for reader in (
        CRYSTAL_DISK_MARK, DD, ELBENCHO, FIO, FIO_JOB, HCIBENCH, IOSTAT, IOZONE, IPERF3, OPENBENCHMARKING, PG_TEST_FSYNC,
        SYSBENCH, VDBENCH, ZPOOL_IOSTAT, OWN, PLAIN_TABLE,
    )}
)
"""Readers by the word that names them on the command line. A new kind of file is a reader and an entry here."""
READ: Final = tuple(name for name, reader in READERS.items() if not (isinstance(reader, TableReader) and reader.refuses))
"""Kinds that are read."""


def readers_of(source: Source) -> list[Reader]:
    """Return the readers that claim a file; if none does, plain tables if its name or a column mapping suggests that.

    The reader of plain tables then reports the errors, with the line.
    """
    claiming: list[Reader] = [reader for reader in READERS.values() if reader.claims(source)]
    if len(claiming) > 1:  # output of tools may look like a table: commas and units in equally many lines
        claiming = [reader for reader in claiming if reader.name != "table"]
    suffix = PurePath(source.name).suffix.lower()
    meant = source.mapping or suffix in (".csv", ".tsv") or (suffix in (".md", ".markdown") and b"|" in source.data)
    return claiming or ([PLAIN_TABLE] if meant and source.data.strip() else [])


def reader_of(sources: Sequence[Source]) -> Reader:
    """Return the reader that recognises all the files. Raises ProblemError (`import-unknown`)."""
    found: dict[str, Reader] = {}
    for source in sources:
        claimed = {reader.name: reader for reader in readers_of(source)}
        if not claimed:
            raise fail(IMPORT_UNKNOWN, "the kind of this file was not recognised", place=clean(source.name),
                       remedy=f"Name it: {', '.join(READ)}.")  # fmt: skip
        found |= claimed
    if len(found) > 1:
        several = f"these are of several kinds: {', '.join(sorted(found))}"
        raise fail(IMPORT_UNKNOWN, several, remedy="Import each kind alone.")
    return next(iter(found.values()))


def read_numbers(source: Source) -> Result | Table:
    """A result as it is, everything else as a table. Raises ProblemError naming file and place."""
    if schema_named(source.data) in (RESULT_SCHEMA, SCENARIO_SCHEMA):
        return read_result(source.data, source.name)
    return read_table(source)


def read_as_table(source: Source) -> Table:
    """The same, a result too as a table."""
    found = read_numbers(source)
    return table_of_result(found) if isinstance(found, Result) else found
