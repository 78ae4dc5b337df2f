"""`raidtui lint`: check results and published tables for contradictions."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Final

import msgspec

from raidtui.base.text import clean, plural
from raidtui.cli.screen import console, indented, print_json, text
from raidtui.foreign.columns import column_mapping
from raidtui.foreign.documents import read_as_table, schema_named
from raidtui.foreign.lint import CHECKED, lint
from raidtui.foreign.sources import Source
from raidtui.front.files import read_bytes, table_file
from raidtui.model.convert import plain
from raidtui.model.problem import Exit
from raidtui.model.table import Finding, Findings, Table


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+",
                        help="a result, a table, or what fio, iostat and others print; - for stdin")  # fmt: skip
    parser.add_argument("--map", action="append", default=[], metavar="ROLE=HEADING",
                        help="role of a table column whose heading is not recognised, for example layout=X")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the findings as JSON")


def run(args: Namespace) -> int:
    """Print the findings. The exit code is 5 if there are any."""
    columns = column_mapping(args.map)
    tables = {name: _table(Source(name, read_bytes(table_file(name)), columns)) for name in dict.fromkeys(args.files)}
    found = {name: lint(table) for name, table in tables.items()}
    several = len(found) > 1
    if args.json:
        named = [(name, finding) for name, findings in found.items() for finding in findings]
        listed = tuple(_of_file(finding, name) if several else finding for name, finding in named)
        print_json(plain(Findings("raidtui.findings/1", listed)))
    else:
        for name, findings in found.items():
            _show(args, name, findings, len(tables[name].figures))
    return int(Exit.INVALID if any(found.values()) else Exit.DONE)


def _table(source: Source) -> Table:
    """Read a file as a table and print notes about ignored parts on stderr.

    raidtui's own documents had these notes printed when they were made.
    """
    table = read_as_table(source)
    for note in () if schema_named(source.data) else table.notes:
        print(clean(note, limit=2000), file=sys.stderr)
    return table


def _of_file(finding: Finding, name: str) -> Finding:
    return msgspec.structs.replace(finding, where=f"{clean(name)}: {finding.where}")


def _show(args: Namespace, name: str, findings: Sequence[Finding], numbers: int) -> None:
    """Print the findings of a file, grouped by code; without any, what was checked."""
    out = console(args)
    if not findings:
        out.print(text(f"{clean(name)}: no contradictions were found in {plural(numbers, 'number')}."))
        out.print(text(f"Checked: {', '.join(CHECKED)}."))
        return
    out.print(text(f"{clean(name)}: {plural(len(findings), 'finding')}", "bold"))
    for code in dict.fromkeys(finding.code for finding in findings):
        these = [finding for finding in findings if finding.code == code]
        out.print(text(f"{code}: {len(these)}", "bold"))
        for finding in these:
            out.print(indented(f"{finding.where}: {finding.sentence}", 2))
    out.print(text("`raidtui explain CODE` explains a code."))


COMMANDS: Final = {"lint": (add_arguments, run)}
