"""Results and tables named on the command line: files, stdin and runs."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from raidtui.base.files import is_there
from raidtui.base.text import clean, named
from raidtui.cli.session import connect
from raidtui.foreign.documents import read_numbers
from raidtui.foreign.imported import aligned, extract_of
from raidtui.foreign.sources import Source
from raidtui.front.files import read_bytes, results_folder, table_file
from raidtui.model.problem import fail
from raidtui.model.refusals import UNKNOWN_NAME
from raidtui.model.result import Result
from raidtui.results.comparison import Comparison
from raidtui.results.extract import Extract, extract
from raidtui.results.load import read_result

_MOST = 12
"""Number of names listed in a message; names that contain the wanted one come first."""
_RUN = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]{8}")


def given_result(args: Namespace, name: str) -> Result:
    """Return the result named by `name`, a file or a run. Raises ProblemError."""
    return read_result(given_data(args, name), name)


def kept_file(args: Namespace, name: str) -> Path | None:
    """Return the file of that name, or the kept result of the run of that name; None for a run to ask its server for."""
    if is_there(name) or not _RUN.fullmatch(name):
        return Path(name)
    return next(iter(sorted(results_folder().glob(f"*-{name}.result.json"))), None) if not args.on else None


def given_data(args: Namespace, name: str) -> bytes:
    """Return the bytes of the file or run named by `name`. Raises ProblemError."""
    if (path := kept_file(args, name)) is not None:
        return read_bytes(table_file(str(path)))
    with connect(args) as engine:
        return engine.result(name)


def check_baseline(comparison: Comparison, wanted: str) -> None:
    """Check that the baseline is one of the layouts. Raises ProblemError (`unknown-name`)."""
    if wanted and comparison.baseline != wanted:
        labels = sorted((row.label for row in comparison.rows), key=lambda label: wanted.lower() not in label.lower())
        raise fail(UNKNOWN_NAME, f"these results have no layout {wanted!r}",
                   remedy=f"Known: {named([clean(label) for label in labels], _MOST)}.")  # fmt: skip


def given_numbers(args: Namespace, names: Sequence[str]) -> list[Result | Extract]:
    """Return the results, and tables with their workloads matched to those of the results. Raises ProblemError."""
    read = [read_numbers(Source(name, given_data(args, name))) for name in names]
    tables = {index: one for index, one in enumerate(read) if not isinstance(one, Result)}
    if not tables:
        return [one for one in read if isinstance(one, Result)]
    return list(aligned([extract(one) if isinstance(one, Result) else extract_of(one) for one in read], tables))
