"""`raidtui results`, `show` and `open`: find and show results."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from raidtui.base.text import plural
from raidtui.cli.inputs import check_baseline, given_result, kept_file
from raidtui.cli.report import show_result
from raidtui.cli.screen import console, print_json, table, text
from raidtui.front.library import library
from raidtui.model.convert import plain
from raidtui.model.problem import Exit, fail
from raidtui.model.refusals import FILE, NO_TERMINAL
from raidtui.results.compare import compare
from raidtui.results.comparison import without_cells
from raidtui.results.library import Known

_MOST = 100


def add_results_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", metavar="WORD", nargs="*", help="text to find in name, title, server, date, layouts, "
                        "workloads, kernel or disks")  # fmt: skip
    parser.add_argument("--in", dest="folder", metavar="FOLDER", help="search this folder of result files instead")
    parser.add_argument("--all", action="store_true", help=f"list all results, not only the newest {_MOST}")
    parser.add_argument("--json", action="store_true", help="print all results as JSON")


def results_command(args: Namespace) -> int:
    """Print the results, newest first."""
    folder = Path(args.folder) if args.folder else None
    if folder is not None and not folder.is_dir():
        raise fail(FILE, "it is not a folder", place=args.folder)
    with library(folder) as known:
        found = known.search(" ".join(args.words))
    if args.json:
        print_json({"schema": "raidtui.results/1", "results": [_document(one) for one in found]})
        return 0
    _show(args, found if args.all else found[:_MOST], len(found))
    return 0


def _document(one: Known) -> dict[str, object]:
    flags = {"rehearsal": bool(one.rehearsal), "complete": bool(one.complete)}
    return {**one._asdict(), "path": str(one.path), **flags}


def _show(args: Namespace, shown: list[Known], count: int) -> None:
    out = console(args)
    if not shown:
        out.print("No result has these words." if args.words else "No results yet: `raidtui replay SCENARIO` makes one.")
        return
    listing = table("BEGAN", "SCENARIO", "SERVER", "VALID", "RUN", right=("VALID",))
    for one in shown:
        if one.problem:
            continue
        mark = " (rehearsal)" if one.rehearsal else ""
        listing.add_row(text(one.started[:16].replace("T", " ")), text(one.scenario + mark), text(one.host),
                        f"{one.valid}/{one.cells}", text(one.run))  # fmt: skip
    out.print(listing)
    for one in shown:
        if one.problem:
            out.print(text(f"✗ {one.path.name} cannot be read: {one.problem}", "red"), soft_wrap=True)
    if count > len(shown):
        out.print(text(f"and {plural(count - len(shown), 'older one')}: --all shows them", "dim"))


def add_show_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="a result file, - for stdin, or the name of a run")
    parser.add_argument("--baseline", default="", metavar="NAME", help="the layout that others are compared with")
    parser.add_argument("--json", action="store_true", help="the comparison as JSON")


def show_command(args: Namespace) -> int:
    """Print summary, machine, disks, layouts and cells of a result."""
    result = given_result(args, args.result)
    comparison = compare(result, args.baseline)
    check_baseline(comparison, args.baseline)
    if args.json:
        ranking = {"ranking": plain(result.ranking)} if result.ranking else {}
        print_json({"schema": "raidtui.comparison/1", "run": result.run, **plain(without_cells(comparison)), **ranking})
    else:
        show_result(result, comparison, console(args))
    return 0


def add_open_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="a result file, or the name of a run")


def open_command(args: Namespace) -> int:
    """Check that the result can be read, then open it on the screens."""
    if args.screens is None:
        raise fail(NO_TERMINAL, "there are no screens here", remedy="`raidtui show RESULT` needs none.", exit=Exit.USAGE)
    path = kept_file(args, args.result)
    if path is not None:
        given_result(args, args.result)
    args.open_file, args.open_run = path, args.result if path is None else ""
    return int(args.screens(args))


COMMANDS: Final = {
    "results": (add_results_arguments, results_command),
    "show": (add_show_arguments, show_command),
    "open": (add_open_arguments, open_command),
}
