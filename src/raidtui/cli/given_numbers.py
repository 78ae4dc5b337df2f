"""What is to be compared, as it was named on the command line: results, runs, and tables of others."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from raidtui.cli.given_result import given_data
from raidtui.model.result import Result
from raidtui.results.anything import read_numbers
from raidtui.results.extract import Extract, extract
from raidtui.results.from_table import aligned, extract_of
from raidtui.results.imports import Source


def given_numbers(args: Namespace, names: Sequence[str]) -> list[Result | Extract]:
    """Results as they are; tables with their workloads beside those that ask for the same. Raises ProblemError."""
    read = [read_numbers(Source(name, given_data(args, name))) for name in names]
    tables = {index: one for index, one in enumerate(read) if not isinstance(one, Result)}
    if not tables:
        return [one for one in read if isinstance(one, Result)]
    return list(aligned([extract(one) if isinstance(one, Result) else extract_of(one) for one in read], tables))
