"""A file with measured numbers, whatever it is: a result, a table of raidtui's own, or what another tool printed."""

from __future__ import annotations

from raidtui.model.result import RESULT_SCHEMA, Result
from raidtui.model.scenario_words import SCHEMA as SCENARIO_SCHEMA
from raidtui.model.table import Table
from raidtui.results.imports.base import Source
from raidtui.results.imports.document import read_table, schema_named
from raidtui.results.load import read_result
from raidtui.results.to_table import table_of_result


def read_numbers(source: Source) -> Result | Table:
    """A result as it is, everything else as a table. Raises ProblemError naming file and place."""
    if schema_named(source.data) in (RESULT_SCHEMA, SCENARIO_SCHEMA):
        return read_result(source.data, source.name)
    return read_table(source)


def read_as_table(source: Source) -> Table:
    """The same, a result too as a table."""
    found = read_numbers(source)
    return table_of_result(found) if isinstance(found, Result) else found
