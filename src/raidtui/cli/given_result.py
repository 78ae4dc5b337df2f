"""A result that was named on the command line: a file, stdin, or a run."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path

from raidtui.base.files import is_there
from raidtui.base.text import clean, named
from raidtui.cli.session import connect
from raidtui.front.inputs import read_bytes, table_file
from raidtui.front.results_files import results_folder
from raidtui.model.problem import fail
from raidtui.model.result import Result
from raidtui.results.comparison import Comparison
from raidtui.results.load import read_result

_MOST = 12
"""Names that are listed, those first that the wanted one is part of."""
_RUN = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]{8}")


def given_result(args: Namespace, name: str) -> Result:
    """The result that `name` means. Raises ProblemError: what is wrong with the file, or with the run."""
    return read_result(given_data(args, name), name)


def kept_file(args: Namespace, name: str) -> Path | None:
    """The file that `name` is, or that holds the run of that name; None for a run that only its server knows."""
    if is_there(name) or not _RUN.fullmatch(name):
        return Path(name)
    return next(iter(sorted(results_folder().glob(f"*-{name}.result.json"))), None) if not args.on else None


def given_data(args: Namespace, name: str) -> bytes:
    """The bytes of the file or run that `name` means. Raises ProblemError."""
    if (path := kept_file(args, name)) is not None:
        return read_bytes(table_file(str(path)))
    with connect(args) as engine:
        return engine.result(name)


def check_baseline(comparison: Comparison, wanted: str) -> None:
    """Refuse a baseline that is no layout here. Raises ProblemError (`unknown-name`)."""
    if wanted and comparison.baseline != wanted:
        labels = sorted((row.label for row in comparison.rows), key=lambda label: wanted.lower() not in label.lower())
        raise fail("unknown-name", f"there is no layout {wanted!r} with these results",
                   remedy=f"Known: {named([clean(label) for label in labels], _MOST)}.")  # fmt: skip
