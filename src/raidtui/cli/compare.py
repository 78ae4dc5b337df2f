"""`raidtui compare`: layouts × workloads of several results, in any format."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from raidtui.cli.comparison import show_comparison
from raidtui.cli.given_result import check_baseline, given_result
from raidtui.cli.screen import console
from raidtui.front.exporting import export
from raidtui.front.results_files import check_output
from raidtui.model.problem import fail
from raidtui.results.compare import Comparison, compare_many
from raidtui.results.formats import FORMATS


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("results", metavar="RESULT", nargs="+", help="a result file, - for stdin, or the name of a run")
    parser.add_argument("--baseline", default="", metavar="NAME", help="the layout that others are compared with")
    parser.add_argument("--format", choices=list(FORMATS), default="", metavar="FORMAT",
                        help=f"one of {', '.join(FORMATS)} (default: by the name of the file, else table)")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write it (a new file)")
    parser.add_argument("--json", action="store_true", help="the same as --format json")


def run(args: Namespace) -> int:
    """Print or write the comparison."""
    check_output(args.output)
    comparison = compare_many([given_result(args, name) for name in args.results], args.baseline)
    check_baseline(comparison, args.baseline)
    name = _format(args)
    if args.output:
        export(comparison, FORMATS[name], args.output)
        print(f"Comparison: {args.output}", file=sys.stderr)
    elif name == "table":
        show_comparison(comparison, console(args), about=True)
    else:
        _to_stdout(comparison, name)
    return 0


def _format(args: Namespace) -> str:
    if args.json or args.format:
        return "json" if args.json else str(args.format)
    by_suffix = {made.suffix: made.name for made in FORMATS.values()}
    return next((name for suffix, name in by_suffix.items() if (args.output or "").endswith(suffix)), "table")


def _to_stdout(comparison: Comparison, name: str) -> None:
    if FORMATS[name].binary and sys.stdout.isatty():
        raise fail("output", f"{name} is not for a terminal", remedy="Write it to a file with -o FILE.")
    sys.stdout.flush()
    sys.stdout.buffer.write(FORMATS[name].write(comparison))
