"""`raidtui show`: one result in the terminal."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from pathlib import Path

import msgspec

from raidtui.cli.report import show
from raidtui.cli.screen import console, print_json
from raidtui.cli.session import connect
from raidtui.front.inputs import read_bytes
from raidtui.front.results_files import results_folder
from raidtui.model.convert import plain
from raidtui.model.problem import fail
from raidtui.results.compare import compare
from raidtui.results.load import read_result

_RUN = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]{8}")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="a result file, - for stdin, or the name of a run")
    parser.add_argument("--baseline", default="", metavar="NAME", help="the layout that others are compared with")
    parser.add_argument("--json", action="store_true", help="the comparison as JSON")


def run(args: Namespace) -> int:
    """Print summary, machine, disks, layouts and cells of a result."""
    result = read_result(_data(args), args.result)
    comparison = compare(result, args.baseline)
    if args.baseline and comparison.baseline != args.baseline:
        names = ", ".join(row.label for row in comparison.rows)
        raise fail("unknown-name", f"there is no layout {args.baseline!r} in this result", remedy=f"Known: {names}.")
    if args.json:
        print_json({"schema": "raidtui.comparison/1", "run": result.run, **plain(comparison)})
    else:
        show(result, comparison, console(args))
    return 0


def _data(args: Namespace) -> bytes:
    name = args.result
    if name == "-" or Path(name).exists() or not _RUN.fullmatch(name):
        return read_bytes(name)
    if not args.on and (kept := sorted(results_folder().glob(f"*-{name}.result.json"))):
        return read_bytes(str(kept[0]))
    with connect(args) as engine:
        return bytes(engine.call("result", {"run": name}, msgspec.Raw))
