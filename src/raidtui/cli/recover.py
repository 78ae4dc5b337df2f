"""`raidtui recover`: undo what an interrupted run left behind. May be run any number of times."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Final

from raidtui.base.text import clean
from raidtui.cli.consent import split_ids
from raidtui.cli.screen import print_json
from raidtui.cli.session import connect
from raidtui.front.words import sentence
from raidtui.model.convert import plain
from raidtui.model.problem import Exit
from raidtui.model.protocol import Recovered

_OUTCOMES: Final = {
    "left": "not touched, and still held by the run",
    "missing": "not here, and still held by the run",
    "given up": "given up, as --without says",
}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run_id", nargs="?", default="", metavar="RUN", help="default: every interrupted run")
    parser.add_argument("--without", metavar="DISK,…", default="",
                        help="leave these disks of RUN as they are: gone for good, or somebody else's by now")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: Namespace) -> int:
    """Print what was undone; exits 6 while something is still left."""
    with connect(args) as engine:
        found: Recovered = engine.call("recover", {"run": args.run_id, "without": split_ids([args.without])}, Recovered)
    if args.json:
        print_json(plain(found))
    else:
        print("\n".join(lines(found)))
    return max((entry.exit for entry in found.runs), default=int(Exit.DONE))


def lines(found: Recovered) -> Iterator[str]:
    """What was done, run by run."""
    if not found.runs:
        yield "Nothing to recover: no run left anything behind."
    for entry in found.runs:
        if entry.exit:
            yield f"run {clean(entry.run)}: something is still left"
        else:
            yield f"run {clean(entry.run)}: {'recovered' if entry.actions else 'nothing was left to undo'}"
        for action in entry.actions:
            yield f"  {clean(action)}"
        for disk in entry.disks:
            if disk.outcome != "blank":  # that is among the actions, with how it was done
                yield f"  {clean(disk.disk)}: {_OUTCOMES.get(disk.outcome, disk.outcome)}"
        for problem in entry.problems:
            yield from (f"  {line}" for line in sentence(problem).splitlines())
