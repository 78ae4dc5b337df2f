"""`raidtui attach`: follow a run to its end, from its beginning."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from raidtui.cli.ending import finish
from raidtui.cli.runs import latest
from raidtui.cli.session import connect
from raidtui.cli.signals import Signals
from raidtui.cli.watching import watch
from raidtui.front.results_files import check_output


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run_id", nargs="?", default="", metavar="RUN", help="default: the latest")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to keep the result (a new file)")
    parser.add_argument("--json", action="store_true", help="one event a line")


def run(args: Namespace) -> int:
    """Show a run until it ends; Ctrl-C leaves it to itself."""
    check_output(args.output)
    with connect(args) as engine:
        with Signals() as signals:
            view, left = watch(args, args.run_id or latest(engine), engine, signals, owned=False)
        return finish(args, view, engine) if left is None else left
