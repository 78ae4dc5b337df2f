"""Replay every shipped scenario layout by layout, run the long lab tests, and print a table of the outcomes.

`python scripts/lab_all [--only WORDS] [--resume] [--brief] [--at-once N]`;
`make lab-all ONLY=zpool-layouts,lvm-local/vdo-*,rows RESUME=1`.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench import replay_layouts
from jobs import Job, side_by_side
from report import Report, Wish, table, wish
from rows import row_files, run_tests
from wanted import shipped_scenarios

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """0 where everything that was asked for passed."""
    args = _arguments()
    only = [word.strip() for word in args.only.split(",") if word.strip()]
    report = Report(ROOT / "build" / "lab-all", resume=args.resume)
    wishes: list[Wish] = []
    jobs: list[tuple[int, Job]] = []
    for one in shipped_scenarios():
        # What passed in brief has not passed whole.
        source = one.data + (b"brief" if args.brief else b"")
        layouts = [wish(one.name, name, source) for name in one.layouts if _chosen(f"{one.name}/{name}", only)]
        wishes += layouts
        if left := [layout for layout in layouts if not report.known(layout)]:
            jobs.append((len(left), partial(replay_layouts, one, left, report, args.brief, args.at_once)))
    jobs.sort(key=lambda job: -job[0])
    for path in row_files(ROOT):
        row = wish(path.stem, "", path.read_bytes())
        if args.no_rows or not _chosen(f"rows/{path.stem}", only):
            continue
        wishes.append(row)
        if not report.known(row):
            jobs.append((1, partial(run_tests, ROOT, path, row, report, args.at_once)))
    if not wishes:
        print(f"Nothing is called {args.only}.", file=sys.stderr)
        return 2
    try:
        side_by_side([job for _, job in jobs], args.at_once)
    finally:
        rows = report.rows(wishes)
        print(table(rows))
    return 0 if all(row.passed for row in rows) else 1


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
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="labs side by side (2)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
