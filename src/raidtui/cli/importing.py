"""`raidtui import`: convert fio job files and results of other tools."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from raidtui.base.files import write_atomic
from raidtui.base.text import clean
from raidtui.cli.screen import json_text
from raidtui.foreign.columns import column_mapping
from raidtui.foreign.documents import READ, READERS, reader_of
from raidtui.foreign.sources import Source
from raidtui.front.files import check_output, read_bytes
from raidtui.model.problem import fail
from raidtui.model.refusals import IMPORT_UNKNOWN


def add_arguments(parser: ArgumentParser) -> None:
    kinds = "; ".join(f"{name}: {READERS[name].title}" for name in READ)
    parser.add_argument(
        "files",
        metavar="[KIND] FILE",
        nargs="+",
        help=f"files of one kind, - is stdin; the kind is detected if not given ({kinds})",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="new file to write to (default: stdout)")
    parser.add_argument(
        "--leave-out",
        action="store_true",
        help="leave out (and report) what raidtui does not support, instead of refusing the file",
    )
    parser.add_argument("--map", action="append", default=[], metavar="ROLE=HEADING",
                        help="role of a table column whose heading is not recognised, for example layout=X")  # fmt: skip


def run(args: Namespace) -> int:
    """Print or write the converted files, and report changes and omissions on stderr."""
    check_output(args.output)
    kind = args.files[0] if args.files[0] in READERS else ""
    names = args.files[1:] if kind else args.files
    if not names:
        raise fail(IMPORT_UNKNOWN, "no file was named", place=kind, remedy=f"raidtui import {kind} FILE")
    columns = column_mapping(args.map)
    sources = [Source(name, read_bytes(name), columns) for name in names]
    imported = (READERS[kind] if kind else reader_of(sources)).read(sources, leave_out=args.leave_out)
    for note in imported.notes:
        print(clean(note, limit=2000), file=sys.stderr)
    text = json_text(imported.document, indent=2) + "\n"
    if args.output:
        write_atomic(Path(args.output), text.encode(), 0o644)
        print(f"Written: {clean(args.output)}", file=sys.stderr)
        if imported.suffix == ".scenario.json":
            print(f"To look at it: raidtui preview {clean(args.output)}", file=sys.stderr)
    else:
        sys.stdout.write(text)
    return 0


COMMANDS: Final = {"import": (add_arguments, run)}
