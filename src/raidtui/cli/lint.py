"""`raidtui lint`: check results and published tables for contradictions."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

import msgspec

from raidtui.base.text import clean, plural
from raidtui.cli.results import given_data
from raidtui.cli.screen import console, indented, print_json, text
from raidtui.foreign.columns import column_mapping
from raidtui.foreign.documents import read_as_table, schema_named
from raidtui.foreign.lint import CHECKED, Group, grouped, lint
from raidtui.foreign.sources import Source
from raidtui.model.convert import plain
from raidtui.model.problem import Exit
from raidtui.model.table import Finding, FindingGroup, Findings, Table

if TYPE_CHECKING:
    from rich.console import Console


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+",
                        help="a result, a run or its folder, a table, what fio, iostat and others print, or -")  # fmt: skip
    parser.add_argument("--map", action="append", default=[], metavar="ROLE=HEADING",
                        help="role of a table column whose heading is not recognised, for example layout=X")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the findings as JSON")


def run(args: Namespace) -> int:
    """Print the findings. The exit code is 5 if there are any."""
    columns = column_mapping(args.map)
    tables = {name: _table(Source(name, given_data(args, name), columns)) for name in dict.fromkeys(args.files)}
    found = {name: lint(table) for name, table in tables.items()}
    if args.json:
        print_json(plain(_document(found)))
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


def _document(found: Mapping[str, Sequence[Finding]]) -> Findings:
    """Return the findings by file. Of several files each finding names its own."""
    if len(found) > 1:
        found = {name: [_of_file(finding, name) for finding in findings] for name, findings in found.items()}
    groups = [
        FindingGroup(clean(name), group.code, group.sentence, tuple(finding.where for finding in group.findings))
        for name, findings in found.items()
        for group in grouped(findings)
    ]
    return Findings("raidtui.findings/1", tuple(chain.from_iterable(found.values())), tuple(groups))


def _of_file(finding: Finding, name: str) -> Finding:
    return msgspec.structs.replace(finding, where=f"{clean(name)}: {finding.where}")


def _show(args: Namespace, name: str, findings: Sequence[Finding], numbers: int) -> None:
    """Print the findings of a file, by code; those of one kind behind one sentence. Without any, print what was checked."""
    out = console(args)
    if not findings:
        out.print(text(f"{clean(name)}: no contradictions were found in {plural(numbers, 'number')}."))
        out.print(text(f"Checked: {', '.join(CHECKED)}."))
        return
    out.print(text(f"{clean(name)}: {plural(len(findings), 'finding')}", "bold"))
    groups = grouped(findings)
    for code in dict.fromkeys(group.code for group in groups):
        out.print(text(f"{code}: {sum(finding.code == code for finding in findings)}", "bold"))
        for group in groups:
            if group.code == code:
                _show_group(group, out)
    out.print(text("`raidtui explain CODE` explains a code."))


def _show_group(group: Group, out: Console) -> None:
    if len(group.findings) == 1:
        out.print(indented(f"{group.findings[0].where}: {group.sentence}", 2))
        return
    out.print(indented(f"{group.sentence.removesuffix('.')}:", 2))
    for finding in group.findings:
        out.print(indented(f"{finding.where}: {finding.evidence or finding.sentence}", 4))


COMMANDS: Final = {"lint": (add_arguments, run)}
