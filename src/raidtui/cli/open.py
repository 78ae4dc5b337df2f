"""`raidtui open`: one result on the screens, with its timeline."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from raidtui.cli.given_result import given_result, kept_file
from raidtui.model.problem import Exit, fail


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", help="a result file, or the name of a run")


def run(args: Namespace) -> int:
    """Check that the result can be read, and open the screens with it."""
    if args.screens is None:
        raise fail("no-terminal", "there are no screens here", remedy="`raidtui show RESULT` needs none.", exit=Exit.USAGE)
    path = kept_file(args, args.result)
    if path is not None:
        given_result(args, args.result)
    args.open_file, args.open_run = path, args.result if path is None else ""
    return int(args.screens(args))
