"""Every shipped scenario, layout by layout, and then every long test of the lab: one table of what passed.

`python scripts/lab_all [--only WORDS] [--resume] [--brief]`;
`make lab-all ONLY=zpool-layouts,lvm-local/vdo-*,rows RESUME=1`.
"""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, Namespace
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench import Bench
from report import COLUMNS, Report, Row
from rows import row_files, run_rows
from wanted import Wanted, shipped_scenarios

ROOT = Path(__file__).resolve().parents[2]
ROWS = "rows"


def main() -> int:
    """0 where everything that was asked for passed."""
    args = _arguments()
    # So that a lab is taken down also when make is ended.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    only = [word.strip() for word in args.only.split(",") if word.strip()]
    report = Report(ROOT / "build" / "lab-all", resume=args.resume)
    found = [one for one in shipped_scenarios() if any(_chosen(f"{one.name}/{name}", only) for name in one.layouts)]
    files = [path for path in row_files(ROOT) if not args.no_rows and _chosen(f"{ROWS}/{path.stem}", only)]
    if not found and not files:
        print(f"Nothing is called {args.only}.", file=sys.stderr)
        return 2
    for one in found:
        _scenario(one, [name for name in one.layouts if _chosen(f"{one.name}/{name}", only)], report, brief=args.brief)
    for path in files:
        if not report.known(path.stem, "", path.read_bytes()):
            report.add(run_rows(ROOT, path, report.folder), path.read_bytes())
    print(report.table())
    return 0 if report.passed() else 1


def _scenario(one: Wanted, layouts: list[str], report: Report, *, brief: bool) -> None:
    """All of its layouts that are not known to pass, in one lab; in a fresh one after whatever went wrong."""
    bench: Bench | None = None
    try:
        for name in layouts:
            # What passed in brief has not passed whole.
            source = one.data + (b"brief" if brief else b"")
            if report.known(one.name, name, source):
                continue
            try:
                bench = bench or Bench(one)
                row = bench.run(name, report.folder / one.name, brief=brief)
            except Exception as error:
                row = Row(one.name, name, dict.fromkeys(COLUMNS, False), 0.0, (f"{type(error).__name__}: {error}",))
            report.add(row, source)
            clean = all(row.passed_columns.get(column) for column in ("gone", "blank", "canary"))
            if not clean and bench is not None:
                bench.close()
                bench = None
    finally:
        if bench is not None:
            bench.close()


def _chosen(name: str, only: list[str]) -> bool:
    """`scenario/layout` against words that are a scenario, or a pattern of both."""
    return not only or any(fnmatch(name, word) or fnmatch(name, f"{word}/*") for word in only)


def _arguments() -> Namespace:
    parser = ArgumentParser(prog="lab_all", description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD,…",
                        help="scenarios, scenario/layout, or rows; * stands for anything")  # fmt: skip
    parser.add_argument("--resume", action="store_true", help="what passed before, and has not changed since, is kept")
    parser.add_argument(
        "--brief", action="store_true", help="two workloads a layout instead of all: one that writes, one other"
    )
    parser.add_argument("--no-rows", action="store_true", help="the scenarios alone")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
