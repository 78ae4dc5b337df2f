"""The command line as data: every command with its options and operands, read from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from raidtui.cli.main import COMMANDS, parser_for


class Option(NamedTuple):
    """One option or operand."""

    flags: tuple[str, ...]
    """`-o`, `--output`; empty for an operand."""
    metavar: str
    """Name of its value; empty for a switch."""
    choices: tuple[str, ...]
    help: str


class Command(NamedTuple):
    """One command, or `raidtui` itself (without words)."""

    words: tuple[str, ...]
    """`("lab", "up")`"""
    summary: str
    options: tuple[Option, ...]
    operands: tuple[Option, ...]
    below: tuple[str, ...]
    """Commands of its own."""
    epilog: str = ""


def commands() -> tuple[Command, ...]:
    """Return all commands, `raidtui` itself first."""
    return tuple(_walk(parser_for([*COMMANDS]), (), ""))


def _walk(parser: argparse.ArgumentParser, words: tuple[str, ...], summary: str) -> Iterator[Command]:
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    nested = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    plain = [_option(action) for action in actions if action not in nested]
    summaries = {choice.dest: choice.help or "" for one in nested for choice in one._choices_actions}
    yield Command(
        words, summary, tuple(one for one in plain if one.flags), tuple(one for one in plain if not one.flags),
        tuple(summaries), parser.epilog or "",
    )  # fmt: skip
    for one in nested:
        for name, below in one.choices.items():
            if name in summaries:
                yield from _walk(below, (*words, name), summaries[name])


def _option(action: argparse.Action) -> Option:
    flags = tuple(action.option_strings)
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    choices = tuple(map(str, action.choices)) if action.choices is not None else ()
    return Option(flags, "" if action.nargs == 0 else metavar, choices, (action.help or "").replace("%%", "%"))
