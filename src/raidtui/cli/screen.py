"""Connect to the engine of --on, and print JSON, tables, text and problems. Foreign strings are never markup."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import sys
import textwrap
import time
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

from raidtui import __version__
from raidtui.base.files import private_folder
from raidtui.base.paths import state_folder
from raidtui.base.text import clean, clean_lines
from raidtui.client.engine_client import EngineClient
from raidtui.client.places import place
from raidtui.front.follow import WaitingTalk
from raidtui.front.phrases import problems_document, sentence
from raidtui.model.convert import plain
from raidtui.model.problem import Exit, ProblemError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.containers import Lines
    from rich.table import Table
    from rich.text import Text

T = TypeVar("T")
PIPE_WIDTH = 120
"""Columns where the output is not a terminal and COLUMNS does not say otherwise."""


def connect(args: Namespace, *, root: bool = True, quiet: bool = False) -> EngineClient:
    """Start the engine at `--on`. With `root` false, sudo is not used: the request needs no root.

    `quiet` suppresses the messages about a long wait, for callers that draw on the terminal.
    """
    where = place(args.on)
    if not root and where.argv[0] == "sudo":
        words = where.argv
        where = where._replace(argv=words[words.index("--") + 1 :])
    return EngineClient(where, None if quiet else WaitingTalk(where.name))


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON in printable ASCII: a terminal shows it without obeying it."""
    separators = (",", ":") if indent is None else None
    return json.dumps(value, indent=indent, separators=separators, ensure_ascii=True).replace("\x7f", "\\u007f")


def print_json(value: Any) -> None:
    """Print a document on stdout piece by piece: a plan of thousands of cells is long."""
    for part in json.JSONEncoder(indent=2).iterencode(value):
        sys.stdout.write(part.replace("\x7f", "\\u007f"))
    print()


def add_json_argument(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def show_or_json(args: Namespace, document: T, show: Callable[[T, Console], None]) -> int:
    """Print a document as JSON with --json, else with `show`. Return exit code 0."""
    if args.json:
        print_json(plain(document))
    else:
        show(document, console(args))
    return 0


def console(args: Namespace | None = None, file: IO[str] | None = None, width: int | None = None) -> Console:
    """A Rich console on `file` (stdout): colours only on a terminal, and never where NO_COLOR or --no-color says so."""
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            """Called while a BrokenPipeError is handled, which is told to `main`; Rich would exit with 1."""
            raise

    file = file or sys.stdout
    colourless = bool(os.environ.get("NO_COLOR")) or bool(args and getattr(args, "no_color", False))
    if width is None and not file.isatty():
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isascii() and columns.isdigit() and 20 <= int(columns) <= 1000 else PIPE_WIDTH
    return Piped(file=file, width=width, no_color=colourless, markup=False, highlight=False, emoji=False,
                 legacy_windows=False)  # fmt: skip


def table(*columns: str, right: tuple[str, ...] = (), whole: tuple[str, ...] = ()) -> Table:
    """An empty table without lines: columns two spaces apart, headings in bold; those in `right` are aligned right.

    Columns in `whole` are never wrapped: they hold names that are copied.
    """
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
    for name in columns:
        made.add_column(Text(name), justify="right" if name in right else "left", overflow="fold",
                        no_wrap=name in whole)  # fmt: skip
    return made


def text(value: object, style: str = "") -> Text:
    """Return a foreign string as text without control characters, which breaks long words at their signs."""
    return _long_words()(clean(value), style=style)


_AFTER: Final = "-/,:_."
"""Signs behind which a word that is longer than its column is broken."""


def breaks(plain: str, width: int) -> list[int]:
    """Return where words that are longer than `width` are broken: behind a sign; a part without one stays whole."""
    found = []
    for word in re.finditer(r"\S+", plain):
        start = word.start()
        while word.end() - start > width:
            place = next((at for at in range(start + width, start, -1) if plain[at - 1] in _AFTER), 0)
            if not place:
                break
            found.append(start := place)
    return found


@cache
def _long_words() -> type[Text]:
    """Return Rich's text with breaks in long words. Rich is imported late, since few commands print text."""
    from rich.text import Text

    class Words(Text):
        def wrap(self, console: Console, width: int, **how: Any) -> Lines:
            places = [] if how.get("no_wrap") else breaks(self.plain, width)
            whole = Text("\n").join(self.divide(places)) if places else self.copy()
            return whole.wrap(console, width, **how)

    return Words


def print_lines(lines: Iterable[str], file: IO[str] | None = None) -> None:
    """Print plain lines on `file` (stdout).

    A terminal would break words: for it, long lines are wrapped, but commands are not.
    """
    file = file or sys.stdout
    width = console(file=file).width if file.isatty() else None
    for line in lines:
        print(line if width is None else "\n".join(wrapped(line, width)), file=file)


_HANGS: Final = re.compile(r"\s*(?:[A-Z][a-z]+(?: [a-z]+)?\s{2,}|[✗→·↓⚠✓] )?")
"""Indentation of a line, with the label before its text."""
_COMMAND: Final = re.compile(r"\s*(?:→ )?(?:\$|raidtui) ")


def wrapped(line: str, width: int) -> list[str]:
    """Return a line as lines of this width, whole words each. Further lines stand below its text, a command is one line."""
    match = _HANGS.match(line)
    hang = len(match[0]) if match else 0
    if len(line) <= width or _COMMAND.match(line) or hang > width // 2:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False)


def indented(value: object, columns: int, mark: str = "", style: str = "") -> Any:
    """A paragraph, cleaned and wrapped, behind `columns` spaces and a mark that its further lines stay clear of."""
    from rich.padding import Padding
    from rich.table import Table

    if not mark:
        return Padding(text(value, style), (0, 0, 0, columns), expand=False)
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(text(mark, style), text(value, style))
    return Padding(grid, (0, 0, 0, columns), expand=False)


def report(error: ProblemError, *, as_json: bool, explain_on: str = "") -> int:
    """Print problems as sentences on stderr, and as JSON on stdout if `as_json`, and return the exit code."""
    if as_json:
        # On one line, so that it can also end a stream of events.
        print(json_text(problems_document(error.problems)), flush=True)
    for problem in error.problems:
        print_lines(sentence(problem).splitlines(), sys.stderr)
    if any(problem.exit != Exit.USAGE for problem in error.problems):
        on = f" --on {clean(explain_on)}" if explain_on else ""
        print(f"`raidtui{on} explain {clean(error.problems[0].code)}` explains it.", file=sys.stderr)
    return int(error.exit)


def _write_crash(body: bytes) -> Path:
    """Write a file that is named by the time, and return its path. Another one of the same second keeps its name."""
    folder = private_folder(state_folder() / "crashes")
    began = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    for number in count(1):
        path = folder / (f"{began}-{number}.txt" if number > 1 else f"{began}.txt")
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(fd, "wb") as file:
            file.write(body)
        return path
    raise AssertionError("numbers do not end")


def report_bug(words: Sequence[str]) -> int:
    """Save the traceback of the current exception to a file, print its path, and return the exit code."""
    kind, error, _ = sys.exc_info()
    text = clean_lines(traceback.format_exc())
    about = f"raidtui {__version__}, Python {platform.python_version()}, {platform.platform()}"
    body = f"{about}\n$ raidtui {clean(shlex.join(words))}\n\n{text}\n"
    print(f"error: raidtui made a mistake: {kind.__name__ if kind else ''}: {clean(error)} [bug]", file=sys.stderr)
    try:
        path = _write_crash(body.encode("utf-8", "backslashreplace"))
    except OSError as reason:
        print(f"{body}(It could not be kept in a file: {clean(reason)})", file=sys.stderr)
    else:
        print(
            f"  → Please report it with the file {path}. A run that was started goes on: `raidtui runs`.", file=sys.stderr
        )
    return int(Exit.BUG)
