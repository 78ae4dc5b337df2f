"""`raidtui show`: one result in the terminal."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from raidtui.cli.given_result import check_baseline, given_result
from raidtui.cli.report import show
from raidtui.cli.screen import console, print_json
from raidtui.model.convert import plain
from raidtui.results.compare import compare
from raidtui.results.slimming import without_cells


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="a result file, - for stdin, or the name of a run")
    parser.add_argument("--baseline", default="", metavar="NAME", help="the layout that others are compared with")
    parser.add_argument("--json", action="store_true", help="the comparison as JSON")


def run(args: Namespace) -> int:
    """Print summary, machine, disks, layouts and cells of a result."""
    result = given_result(args, args.result)
    comparison = compare(result, args.baseline)
    check_baseline(comparison, args.baseline)
    if args.json:
        ranking = {"ranking": plain(result.ranking)} if result.ranking else {}
        print_json({"schema": "raidtui.comparison/1", "run": result.run, **plain(without_cells(comparison)), **ranking})
    else:
        show(result, comparison, console(args))
    return 0
