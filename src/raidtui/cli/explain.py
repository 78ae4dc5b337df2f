"""`raidtui explain`: what a problem code means and what to do about it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

import msgspec

from raidtui.base.text import clean_lines
from raidtui.cli.screen import console, indented, print_json, table, text
from raidtui.cli.session import connect
from raidtui.model.convert import plain


class Explanation(msgspec.Struct, frozen=True):
    """What the engine knows of one code."""

    code: str
    title: str
    meaning: str
    way_out: str


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", default="", metavar="CODE", help="as printed in brackets; without: all codes")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: Namespace) -> int:
    """Print one explanation, or the list of codes."""
    with connect(args, root=False) as engine:
        found = engine.call("explain", {"code": args.code}, Explanation if args.code else tuple[Explanation, ...])
    if args.json:
        print_json(plain(found))
        return 0
    out = console(args)
    if isinstance(found, Explanation):
        out.print(text(f"{found.code}: {found.title}", "bold"))
        for paragraph in clean_lines(found.meaning).splitlines():
            out.print(indented(paragraph, 2))
        for paragraph in clean_lines(found.way_out).splitlines():
            out.print(indented(paragraph, 2, "→"))
        return 0
    listing = table("CODE", "MEANS")
    for entry in found:
        listing.add_row(text(entry.code), text(entry.title))
    out.print(listing)
    return 0


COMMANDS: Final = {"explain": (add_arguments, run)}
