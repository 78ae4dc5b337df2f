"""`raidtui man`: the manual page in roff, made from the parser, so that it has every command and option."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Final

from raidtui import __version__
from raidtui.cli.main import DESCRIPTION, EPILOG
from raidtui.cli.parser_view import Command, Option, commands


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = "To read it: raidtui man | man -l -; to install it: raidtui man > /usr/local/share/man/man1/raidtui.1"


def man_command(_: Namespace) -> int:
    """Print the manual page."""
    print("\n".join(_page()))
    return 0


def _page() -> Iterator[str]:
    (root, *others) = commands()
    yield f'.TH RAIDTUI 1 "" "raidtui {__version__}" "User Commands"'
    yield from (".SH NAME", r"raidtui \- compose, build, measure and compare Linux storage layouts from a terminal")
    yield from (".SH SYNOPSIS", r".B raidtui", r"[\fIoptions\fR] [\fIcommand\fR [\fIarguments\fR]]")
    yield ".SH DESCRIPTION"
    yield from (_plain(line.strip()) or ".PP" for line in DESCRIPTION.splitlines())
    yield ".SH OPTIONS"
    yield from _options(root)
    yield ".SH COMMANDS"
    for command in others:
        yield f".SS {_plain(' '.join(command.words))}"
        yield _plain(f"{command.summary[:1].upper()}{command.summary[1:]}.") if command.summary else ".PP"
        yield from _options(command)
        if command.epilog:
            yield from (".PP", _plain(" ".join(command.epilog.split())))
    yield from (".SH EXIT STATUS", _plain(" ".join(EPILOG.removeprefix("exit codes:").split())))
    yield ".SH FILES"
    for path, what in _FILES:
        yield from (".TP", f".I {_plain(path)}", _plain(what))
    yield from (".SH SEE ALSO", ".BR mdadm (8), .BR lvm (8), .BR zpool (8), .BR fio (1)".replace("), .BR", "),\n.BR"))


_FILES: Final = (
    ("~/.config/raidtui/config.toml", "Theme and keys."),
    ("~/.local/state/raidtui/results/", "Results; /var/lib/raidtui/results/ for root."),
    ("/var/lib/raidtui/runs/", "Runs on a storage server, each with its journal."),
)


def _options(command: Command) -> Iterator[str]:
    for option in (*command.operands, *command.options):
        yield ".TP"
        yield _head(option)
        choices = f" One of {', '.join(option.choices)}." if option.choices else ""
        yield _plain(f"{option.help[:1].upper()}{option.help[1:]}.{choices}" if option.help else choices.strip() or "–")


def _head(option: Option) -> str:
    value = f" \\fI{_plain(option.metavar)}\\fR" if option.metavar else ""
    if not option.flags:
        return f"\\fI{_plain(option.metavar)}\\fR"
    return ", ".join(f"\\fB{_plain(flag)}\\fR{value}" for flag in option.flags)


def _plain(text: str) -> str:
    r"""Return text that roff takes as it is: `\`, `-`, and a dot or quote at the begin of a line have a meaning there."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


COMMANDS: Final = {"man": (add_arguments, man_command)}
