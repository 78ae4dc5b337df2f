"""`raidtui doctor`: check what a server can build and measure, and how to install what is missing."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from raidtui.base.text import clean
from raidtui.cli.screen import console, indented, print_json, table, text
from raidtui.cli.session import connect
from raidtui.model.convert import plain
from raidtui.model.protocol import Checkup

if TYPE_CHECKING:
    from rich.console import Console


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace) -> int:
    """Print every check. The exit code is 0 even if something is missing, since the rest can be used."""
    with connect(args) as engine:
        checkup: Checkup = engine.call("doctor", None, Checkup)
    if args.json:
        print_json(plain(checkup))
    else:
        show(checkup, console(args))
    return 0


def show(checkup: Checkup, out: Console) -> None:
    """Print the checks as a table, and below it how to install what is missing."""
    listing = table("", "CHECK", "FOUND", "NEEDED FOR")
    for check in checkup.checks:
        mark = text("✓ ok", "green") if check.ok else text("✗ missing", "bold red")
        listing.add_row(mark, text(check.name), text(check.found), text(check.needed_for))
    out.print(listing)
    if missing := [check for check in checkup.checks if not check.ok]:
        out.print()
        for check in missing:
            what = check.remedy or "no remedy is known"
            out.print(indented(f"{clean(check.name)}: {clean(what)}", 0, "→"))
    else:
        out.print(text(f"Nothing is missing on {checkup.host}."))


COMMANDS: Final = {"doctor": (add_arguments, run)}
