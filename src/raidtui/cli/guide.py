"""`raidtui guide`: three questions, and the scenario that answers them; every choice is shown with its reason."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Final, TypeVar

from raidtui.cli.design import add_design_arguments, print_design, refuse_place
from raidtui.front.design.assumptions import assumed
from raidtui.front.design.guide import PURPOSES, Answers, guided
from raidtui.front.files import check_output
from raidtui.model.disk_text import imaginary_disks, parse_disks
from raidtui.model.problem import ProblemError, Refusal, fail

T = TypeVar("T")

GUIDE_ANSWER: Final = Refusal(
    "guide-answer",
    "An answer is missing or not valid",
    "`raidtui guide` needs three answers: the purpose, how many disks may fail, and the disks. Without a terminal they are "
    "options.",
    'For example: raidtui guide --for database --survive 2 --disks "12x3.84TB nvme"',
)
MOST_FAILURES: Final = 10


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = "What is not given is asked on a terminal. `raidtui design` shows the same for all layouts."
    parser.add_argument("--for", dest="purpose", metavar="PURPOSE", help=f"purpose: {', '.join(PURPOSES)}")
    parser.add_argument("--survive", metavar="N", help="any N disks may fail without data loss")
    parser.add_argument("--disks", metavar="DISKS", help="for example '12x20TB hdd at 350 EUR, 2x3.2TB nvme'")
    parser.add_argument("--layout", action="append", default=[], metavar="NAME", help="only this layout; may be repeated")
    add_design_arguments(parser)


def guide_command(args: Namespace) -> int:
    """Ask what is not given, and print the layouts that fit, with reasons."""
    refuse_place(args)
    check_output(args.save)
    purposes = "\n".join(f"  {name:<9} {purpose.words}" for name, purpose in PURPOSES.items())
    purpose = _answer(args.purpose, "--for", f"What is it for?\n{purposes}\n> ", _purpose)
    survive = _answer(args.survive, "--survive", "How many disks may fail, whichever, without data loss? > ", _survive)
    groups = _answer(args.disks, "--disks", "Which disks? (12x20TB hdd, 2x3.2TB nvme) > ", parse_disks)
    disks = imaginary_disks(groups)
    answers = Answers(purpose, survive, groups, disks, assumed(args.assume))
    text = ", ".join(group.words for group in groups)
    return print_design(args, text, disks, lambda engine: guided(engine, answers))


def _answer(given: str | None, option: str, question: str, read: Callable[[str], T]) -> T:
    """Return the option, or the answer on a terminal, which is asked again until it is valid. Raises ProblemError."""
    if given is not None:
        return read(given)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise fail(GUIDE_ANSWER, f"{option} is missing, and there is no terminal to ask", place=option,
                   remedy=GUIDE_ANSWER.way_out)  # fmt: skip
    while True:
        print(question, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise fail(GUIDE_ANSWER, f"{option} was not answered", place=option, remedy=GUIDE_ANSWER.way_out)
        try:
            return read(line.strip())
        except ProblemError as error:
            print(f"{error.problems[0].message}. {error.problems[0].remedy}", file=sys.stderr)


def _purpose(text: str) -> str:
    near = [name for name in PURPOSES if text and name.startswith(text.lower())]
    if len(near) != 1:
        raise fail(GUIDE_ANSWER, f"{text[:40]!r} is no purpose", place="--for", remedy=f"Purposes: {', '.join(PURPOSES)}.")
    return near[0]


def _survive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > MOST_FAILURES:
        raise fail(GUIDE_ANSWER, f"{text[:40]!r} is no number from 0 to {MOST_FAILURES}", place="--survive",
                   remedy="Write 2.")  # fmt: skip
    return int(text)


COMMANDS: Final = {"guide": (add_arguments, guide_command)}
