"""What raidtui wrote itself, results and tables: checked, and as a table."""

from __future__ import annotations

from collections.abc import Sequence

from raidtui.base.text import clean
from raidtui.model.convert import plain
from raidtui.model.problem import fail
from raidtui.model.refusals import IMPORT_UNKNOWN
from raidtui.model.result import RESULT_SCHEMA
from raidtui.model.table import TABLE_SCHEMA
from raidtui.results.imports.base import Imported, Reader, Source
from raidtui.results.imports.document import schema_named


class Own:
    """One file: two tables of raidtui may mean different things by one name."""

    name = "raidtui"
    title = "a result or a table of raidtui, as a table"

    def claims(self, source: Source) -> bool:
        return schema_named(source.data) in (RESULT_SCHEMA, TABLE_SCHEMA)

    def read(self, sources: Sequence[Source], *, leave_out: bool) -> Imported:
        from raidtui.results.anything import read_as_table

        if len(sources) > 1:
            raise fail(IMPORT_UNKNOWN, "results and tables of raidtui are not put together",
                       place=clean(sources[1].name), remedy="Import each alone.")  # fmt: skip
        return Imported(plain(read_as_table(sources[0])), ".table.json")


READER: Reader = Own()
