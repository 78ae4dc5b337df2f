"""`raidtui cancel`: end a run and restore its disks."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from raidtui.base.text import clean
from raidtui.cli.screen import print_json
from raidtui.cli.session import connect
from raidtui.model.convert import plain
from raidtui.model.protocol import RunInfo


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run_id", nargs="?", default="", metavar="RUN", help="default: the run that is going on")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: Namespace) -> int:
    """Ask for the end of a run; `attach` shows how it is taken down."""
    with connect(args) as engine:
        info: RunInfo = engine.call("cancel", {"run": args.run_id}, RunInfo)
    if args.json:
        print_json(plain(info))
    elif info.state == "running":
        print(f"run {clean(info.run)} is being cancelled: what it built is taken down")
    else:
        print(f"run {clean(info.run)} is not running any more: {clean(info.outcome or info.state)}")
    return 0
