"""`raidtui compare --servers`: results of one scenario from many servers, beside each other."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from io import StringIO
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from raidtui.base.text import clean
from raidtui.cli.screen import console, indented, json_text, print_json, text
from raidtui.front.files import check_output
from raidtui.front.library import write_new
from raidtui.model.convert import plain
from raidtui.model.problem import fail
from raidtui.model.refusals import OUTPUT
from raidtui.results.extract import Extract, lean_extract
from raidtui.results.load import NOT_A_RESULT
from raidtui.results.server_lines import server_lines
from raidtui.results.servers import ServerComparison, check_servers, compare_servers, server_names

if TYPE_CHECKING:
    from rich.console import Console


def show_servers(found: ServerComparison, out: Console) -> None:
    """Print which server is unlike the others, the values of all servers, and what differs between them."""
    for said in server_lines(found):
        if said.head:
            out.print()
        style = "bold" if said.head else "bold red" if said.mark == "✗" else "yellow" if said.mark == "⚠" else ""
        words = text(said.words, style) if said.head else said.words
        out.print(words if said.head else indented(clean(words, 65536), said.indent, said.mark, style))


def compare_files(args: Namespace, data_of: Callable[[str], bytes]) -> int:
    """Print the comparison of the servers of results. `data_of` returns the bytes of a named result."""
    if args.format not in ("", "table", "json") or args.baseline or args.meant or args.chart or args.fail_if:
        raise fail(OUTPUT, "--servers prints text, or JSON with --json", place="--servers",
                   remedy="Leave out --format, --baseline, --meant, --chart and --fail-if.")  # fmt: skip
    output = None if args.output == "-" else args.output
    check_output(output)
    read = [(PurePath(name).name, _extract(name, data_of(name))) for name in args.results]
    extracts = server_names(read)
    check_servers(extracts)
    found = compare_servers(extracts)
    as_json = args.json or args.format == "json" or (output or "").endswith(".json")
    if output is not None:
        text_file = StringIO()
        if as_json:
            text_file.write(json_text(plain(found), indent=2) + "\n")
        else:
            show_servers(found, console(args, file=text_file))
        write_new(output, text_file.getvalue().encode())
        print(f"Comparison: {clean(output)}", file=sys.stderr)
    elif as_json:
        print_json(plain(found))
    else:
        show_servers(found, console(args))
    return 0


def _extract(name: str, data: bytes) -> Extract:
    try:
        return lean_extract(data)[0]
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise fail(NOT_A_RESULT, f"it is no result of raidtui: {clean(error, 200)}", place=name,
                   remedy="Name *.result.json files, or runs.") from None  # fmt: skip
