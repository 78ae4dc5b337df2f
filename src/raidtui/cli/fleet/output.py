"""Messages about many servers, and one JSON document per line with the server's name."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from raidtui.base.text import clean, named, plural
from raidtui.cli.screen import json_text
from raidtui.front.fleet.servers import Fleet
from raidtui.front.phrases import problems_document, sentence
from raidtui.model.problem import ProblemError

_MOST_NAMED = 6


def say(words: str) -> None:
    """Print a message."""
    print(words, file=sys.stderr, flush=True)


def waiting(left: Sequence[str], waited_s: float) -> None:
    """Print which servers have not answered yet."""
    names = named([clean(name, 80) for name in left], _MOST_NAMED)
    say(f"waiting for {plural(len(left), 'server')}: {names}: {waited_s:.0f} s (Ctrl-C gives up)")


def print_of(server: str, document: dict[str, Any]) -> None:
    """Print a document of one server on one line."""
    print(json_text({"server": server, **document}), flush=True)


def failed(args: Namespace, server: str, error: ProblemError) -> None:
    """Tell that a server takes no part any more: as sentences, and with --json as a document too."""
    if args.json:
        print_of(server, problems_document(error.problems))
    for problem in error.problems:
        say(sentence(problem))


def opened(args: Namespace, fleet: Fleet) -> None:
    """Connect to all servers, and tell which of them are not reached. Raises ProblemError (`server-twice`)."""
    fleet.open(waiting)
    for server, error in fleet.failed.items():
        failed(args, server, error)
    for note in fleet.notes:
        say(f"note: {note}")
