"""`raidtui results`: the results that were kept on this machine, found by words."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from raidtui.base.text import plural
from raidtui.cli.screen import console, print_json, table, text
from raidtui.front.library import library
from raidtui.model.problem import fail
from raidtui.results.library.index import Known

_MOST = 100


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", metavar="WORD", nargs="*", help="each is found in name, title, server, date, layouts, "
                        "workloads, kernel or disks")  # fmt: skip
    parser.add_argument("--in", dest="folder", metavar="FOLDER", help="another folder of result files")
    parser.add_argument("--all", action="store_true", help=f"all of them, not the newest {_MOST} alone")
    parser.add_argument("--json", action="store_true", help="as JSON, all of them")


def run(args: Namespace) -> int:
    """Print them, the newest first."""
    folder = Path(args.folder) if args.folder else None
    if folder is not None and not folder.is_dir():
        raise fail("file", "it is not a folder", place=args.folder)
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
