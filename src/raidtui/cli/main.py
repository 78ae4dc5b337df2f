"""Parse the command line, run one command, and report problems with a sentence and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from importlib import import_module

from raidtui import __version__

# In the order in which a newcomer needs them. The module of a command is imported only when the command is used.
COMMANDS = {
    "doctor": "check what this server can build and measure, and how to install what is missing",
    "prepare": "install what this server lacks for building and measuring, after showing the command",
    "disks": "list the disks, and the reasons why a disk is not free",
    "free": "erase what is on a disk that nobody uses, after showing it",
    "design": "compare layouts for disks that you only describe: room, failures, ceilings, cost; no server is needed",
    "guide": "answer three questions (purpose, failures to survive, disks) and get a scenario with reasons",
    "scenarios": "list the shipped scenarios",
    "kinds": "list the kinds of layers and workloads, or all options of one kind",
    "preview": "show layouts, capacities and commands of a scenario, complete or not; nothing is built",
    "plan": "show what replay would do: steps, commands, disks to erase, time, bytes to write",
    "replay": "build, measure and take down every layout of a scenario, and save the result",
    "build": "build one layout for good, by the same checks and journal as a run; nothing is measured or taken down",
    "runs": "list the runs of this server",
    "attach": "follow a run to its end",
    "cancel": "cancel a run: take down what it built and restore its disks",
    "recover": "undo what an interrupted run left behind",
    "show": "print one result",
    "open": "open one result on the screens, with its timeline",
    "results": "list or search the results kept on this machine",
    "lint": "check results and published tables for contradictions",
    "compare": "compare layouts × workloads of results, as a table, web page, workbook, charts or data",
    "import": "convert fio job files and results of other tools to scenarios, results or tables",
    "explain": "explain a problem code and the way out",
    "schema": "list or print the JSON Schemas of files and of what is printed with --json",
    "completion": "print the completion of commands and options for bash, zsh or fish",
    "man": "print the manual page",
    "lab": "run a throwaway storage server in a virtual machine",
}

_MODULES = {
    "scenarios": "scenarios", "kinds": "scenarios", "schema": "schemas",
    "runs": "runs", "attach": "runs", "cancel": "runs", "recover": "runs",
    "results": "results", "show": "results", "open": "results", "compare": "results",
    "disks": "server", "doctor": "server", "plan": "plan", "preview": "plan",
    "import": "importing",
}  # fmt: skip
"""Modules of the commands that are not in a module of their own name."""

BROKEN_PIPE_EXIT = 141
"""Exit code that a shell reports for a command ended by SIGPIPE."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a full disk behind standard output. Writers of raidtui's own files report these errors themselves."""

DESCRIPTION = """Compose, build, measure and compare Linux storage layouts from a terminal.

`raidtui` without a command opens the screens. A command does the same for
scripts:
  raidtui --on root@stor1 plan md-local    what a replay would do there; nothing
                                           is touched
A server needs only ssh and Python 3.11 or newer: raidtui brings its code along."""
EPILOG = """exit codes: 0 done, every cell valid · 1 unexpected error · 2 usage, unreadable
or invalid file, server not reached or its answer unusable · 3 refused, nothing
was touched · 4 build failed, disks restored · 5 measured, but a cell is
invalid; or compare --fail-if is met, or lint found something, or what follows
a kept build failed · 6 something is left behind: recover · 130 cancelled, disks
restored
With several servers it is the gravest code: 6, 1, 4, 130, 5; a server on which
nothing ran counts as 5."""


class Help(argparse.HelpFormatter):
    """Help whose words are never broken at a hyphen: names of options and of choices have them."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return textwrap.fill(" ".join(text.split()), width, initial_indent=indent, subsequent_indent=indent,
                             break_on_hyphens=False)  # fmt: skip


Screens = Callable[[argparse.Namespace], int]
"""Opens the screens; handed in, because the command line knows nothing of them."""


def main(words: Sequence[str], screens: Screens | None = None) -> int:
    """Run `raidtui WORDS…` and return its exit code. Without a command, and for `open`, the screens are opened."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # A descriptor closed by the parent (`>&-`) would be reused by the next file that is opened.
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal's encoding lacks is escaped; it must not cause a traceback.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    try:
        code = _run(words, screens)
        sys.stdout.flush()
    except OSError as error:
        # The null device takes what Python would still flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE_EXIT
        with contextlib.suppress(OSError):
            print(f"error: the output could not be written: {error.strerror}", file=sys.stderr)
            print("  → Send it to where there is room. A run that was started goes on: `raidtui runs`.", file=sys.stderr)
        return 1
    return code


def parser_for(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser. Commands among `words` get all their arguments, other commands a name and a help line only."""
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--on", metavar="PLACE", help="server: user@host, lab[:NAME] or sim[:NAME|:FILE]; several: "
                        "A,B,C or @FILE with one per line (default: this machine)")  # fmt: skip
    common.add_argument("--no-color", action="store_true", help="print without colours, like NO_COLOR in the environment")
    parser = argparse.ArgumentParser(
        prog="raidtui",
        usage="%(prog)s [-h] [--on PLACE] [--no-color] [-V] [COMMAND ...]",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common],
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action="version", version=f"raidtui {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", prog="raidtui")
    for name, summary in COMMANDS.items():
        if name not in words:
            commands.add_parser(name, help=summary)
        elif name == "lab":
            import_module("raidtui.cli.lab").add_parser(commands)
        else:
            command = commands.add_parser(
                name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", parents=[common],
                allow_abbrev=False, formatter_class=Help,
            )  # fmt: skip
            add_arguments, run = import_module(f"raidtui.cli.{_MODULES.get(name, name)}").COMMANDS[name]
            add_arguments(command)
            command.set_defaults(handler=run)
    return parser


def _for_many(args: argparse.Namespace) -> Callable[[argparse.Namespace], int] | None:
    """Return the command for several servers where `--on` names them. Raises ProblemError."""
    if "," not in args.on and not args.on.startswith("@"):
        return None
    from raidtui.cli.fleet.commands import for_many  # only then its modules are loaded

    return for_many(args)


def _run(words: Sequence[str], screens: Screens | None) -> int:
    parser = parser_for(words)
    args = parser.parse_args(words)
    args.on = getattr(args, "on", "")
    args.no_color = getattr(args, "no_color", False)
    if args.command is None:
        if screens is None:
            parser.print_help(sys.stderr)
            return 2
        args.handler = screens
    args.screens = screens
    from raidtui.model.problem import Exit, ProblemError

    try:
        return int((_for_many(args) or args.handler)(args))
    except ProblemError as error:
        from raidtui.cli.screen import report

        # Any server explains a code; of several, none is asked.
        one = "" if "," in args.on or args.on.startswith("@") else args.on
        return report(error, as_json=getattr(args, "json", False), explain_on=one)
    except KeyboardInterrupt:
        return int(Exit.CANCELLED)
    except Exception as error:
        if isinstance(error, BrokenPipeError) or (isinstance(error, OSError) and error.errno in NO_ROOM):
            raise
        from raidtui.cli.screen import report_bug

        return report_bug(words)
