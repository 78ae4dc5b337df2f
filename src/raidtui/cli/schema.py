"""`raidtui schema`: the JSON Schema of a scenario, a result or a table, as the engine at that place reads them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from raidtui.cli.screen import print_json
from raidtui.cli.session import connect


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("of", choices=("scenario", "result", "table"), help="of what")


def run(args: Namespace) -> int:
    """Print it."""
    with connect(args, root=False) as engine:
        print_json(engine.call("schema", {"of": args.of}))
    return 0
