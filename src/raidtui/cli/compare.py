"""`raidtui compare`: layouts × workloads of several results, in any format."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import PurePath
from typing import Final

from raidtui.base.text import clean
from raidtui.cli.inputs import check_baseline, given_numbers
from raidtui.cli.report import show_comparison
from raidtui.cli.screen import console
from raidtui.front.files import check_output, export
from raidtui.front.library import found_results
from raidtui.model.problem import Refusal, fail
from raidtui.model.refusals import OUTPUT, UNKNOWN_NAME
from raidtui.model.result import Result
from raidtui.results.charts.catalog import CHARTS
from raidtui.results.compare import compare_many
from raidtui.results.comparison import Comparison
from raidtui.results.extract import Extract, extract
from raidtui.results.formats import FORMATS
from raidtui.results.formats.base import Format

NO_SUCH_CHART: Final = Refusal(
    "no-such-chart",
    "The format has no charts to select",
    "--chart selects charts of a picture, and only the formats svg and png are pictures.",
    "Add --format svg or --format png, or remove --chart.",
)
NOTHING_GIVEN: Final = Refusal(
    "nothing-given",
    "Nothing to compare",
    "No result was named, and no words to find kept results by.",
    "Name a file or a run, or use --find WORDS.",
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("results", metavar="RESULT", nargs="*", help="a result, a table, - for stdin, or a run")
    parser.add_argument("--find", metavar="WORDS", help="also compare every kept result with these words")
    parser.add_argument("--baseline", default="", metavar="NAME", help="layout that the others are compared with")
    parser.add_argument("--meant", action="append", default=[], metavar="FACT",
                        help="a fact that differs on purpose, for example kernel or md.chunk")  # fmt: skip
    parser.add_argument("--format", choices=list(FORMATS), default="", metavar="FORMAT",
                        help=f"one of {', '.join(FORMATS)} (default: by the file extension, else table)")  # fmt: skip
    parser.add_argument("--chart", action="append", default=[], choices=list(CHARTS), metavar="KIND",
                        help=f"only charts of this kind (formats svg and png): {', '.join(CHARTS)}")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="FILE", help="new file to write to; - is stdout")
    parser.add_argument("--json", action="store_true", help="the same as --format json")


def run(args: Namespace) -> int:
    """Print or write the comparison."""
    output = None if args.output == "-" else args.output
    check_output(output)
    name = _format(args, output)
    made = _chosen(name, args.chart)
    extracts = [one if isinstance(one, Extract) else extract(one) for one in _given(args)]
    _check_meant(extracts, args.meant)
    comparison = compare_many(extracts, args.baseline, frozenset(args.meant))
    check_baseline(comparison, args.baseline)
    if output:
        export(comparison, made, output)
        print(f"Comparison: {clean(output)}", file=sys.stderr)
    elif name == "table":
        show_comparison(comparison, console(args), about=True)
    else:
        _to_stdout(comparison, made)
    return 0


def _given(args: Namespace) -> list[Result | Extract]:
    """Return the named results, followed by the found ones. Raises ProblemError."""
    if not args.results and args.find is None:
        raise fail(NOTHING_GIVEN, "no result was named",
                   remedy="Name results, or find kept ones: --find WORDS.")  # fmt: skip
    given = given_numbers(args, args.results)
    if args.find is not None:
        found, known = found_results(args.find)
        if len(known) > len(found):
            print(f"{len(known)} results contain these words; the newest {len(found)} are compared", file=sys.stderr)
        given += found
    return given


def _check_meant(extracts: Iterable[Extract], meant: Iterable[str]) -> None:
    """Check that every --meant fact occurs in a result. Raises ProblemError (`unknown-name`)."""
    named = set(meant)
    known = {fact for one in extracts for fact in _facts(one)} if named else named
    if unknown := sorted(named - known):
        raise fail(UNKNOWN_NAME, f"--meant {clean(unknown[0])}: no result has a fact of this name",
                   remedy=f"Known: {', '.join(map(clean, sorted(known)))}.")  # fmt: skip


def _facts(one: Extract) -> Iterator[str]:
    yield from one.facts
    yield from chain.from_iterable(one.layouts.values())
    yield from chain.from_iterable(point.facts for point in one.points)


def _chosen(name: str, charts: list[str]) -> Format:
    """Return the format limited to these charts. Raises ProblemError (`no-such-chart`) for a format without charts."""
    made = FORMATS[name]
    write = made.charts
    if not charts:
        return made
    if write is None:
        raise fail(NO_SUCH_CHART, f"--chart is for svg and png, not for {name}", remedy="Add --format svg.")
    return made._replace(write=lambda comparison: write(comparison, charts))


def _format(args: Namespace, output: str | None) -> str:
    """Return the format given by --json, --format or the file extension. Raises ProblemError (`output`)."""
    if args.json or args.format:
        return "json" if args.json else str(args.format)
    ending = PurePath(output or "").suffix.lower()
    if not ending:
        return "table"
    by_ending = {made.suffix: made.name for made in FORMATS.values()}
    if ending not in by_ending:
        raise fail(OUTPUT, f"{clean(output)}: no format has the file extension {clean(ending)}",
                   remedy=f"Use one of {', '.join(by_ending)}, or add --format.")  # fmt: skip
    return by_ending[ending]


def _to_stdout(comparison: Comparison, made: Format) -> None:
    if made.binary and sys.stdout.isatty():
        raise fail(OUTPUT, f"{made.name} is binary and not for a terminal", remedy="Write it to a file with -o FILE.")
    data = made.write(comparison)
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


COMMANDS: Final = {"compare": (add_arguments, run)}
