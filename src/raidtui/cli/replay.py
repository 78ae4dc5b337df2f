"""`raidtui replay`: show, ask for consent, run, follow, keep the result."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Final

from raidtui.base.text import clean, plural
from raidtui.cli.plan import add_scenario_arguments, make_plan, plan_lines, replay_line, request_of, split_ids
from raidtui.cli.screen import json_text, print_json
from raidtui.cli.session import connect
from raidtui.cli.watch import Signals, finish, goodbye, watch
from raidtui.front.consent import check_consent
from raidtui.front.files import check_output
from raidtui.front.follow import start
from raidtui.front.phrases import looks_line
from raidtui.front.problems import problems_document, sentence
from raidtui.model.convert import plain
from raidtui.model.plan import Plan
from raidtui.model.problem import Exit, Refusal

CONSENT: Final = Refusal(
    "consent",
    "Consent is missing",
    "The plan erases disks. --erase must name every one of them by serial or WWN, and no other disk. Nothing was "
    "touched.",
    "Use the command line that `raidtui plan` prints.",
)


def add_arguments(parser: ArgumentParser) -> None:
    add_scenario_arguments(parser)
    parser.add_argument("--erase", action="append", default=[], metavar="ID,…",
                        help="consent: serial or WWN of every disk that the plan erases, no other")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="FILE", help="new file for the result")
    parser.add_argument("--detach", action="store_true", help="start the run and return at once")


def run(args: Namespace) -> int:
    """Run a scenario to its end. Without consent to erase its disks nothing is touched and the exit code is 3."""
    check_output(args.output)
    request = request_of(args)
    if sys.stderr.isatty():
        print(f"Planning on {clean(args.on) or 'this machine'} …", file=sys.stderr)
    with connect(args) as engine:
        plan = make_plan(engine, request)
        if plan.erases and not args.erase:
            return _ask_for_consent(plan, args)
        erase = check_consent(plan, split_ids(args.erase))
        # An interrupt must not end raidtui after the run was started and before its name was printed.
        with Signals() as signals:
            begun = start(lambda: connect(args), engine, request, plan, erase)
            if args.detach:
                return _detach(args, begun)
            view, left = watch(args, begun, engine, signals, owned=True)
        return finish(args, view, engine) if left is None else left


def _ask_for_consent(plan: Plan, args: Namespace) -> int:
    """Print the disks to be erased and the command line that consents to it."""
    line = replay_line(plan, args)
    problem = CONSENT.problem(
        f"this plan erases {plural(len(plan.erases), 'disk')}; nothing was touched",
        remedy=f"To run it:\n{line}",
        exit=Exit.REFUSED,
    )
    if args.json:
        print(json_text({**problems_document([problem]), "plan": plain(plan), "command": line}))
    else:
        print("\n".join(plan_lines(plan)))
        if looked := looks_line(plan):
            print(f"\n{looked}")
        print(f"\nTo run it:\n\n  {line}")
    sys.stdout.flush()
    print(sentence(problem).splitlines()[0], file=sys.stderr)
    return int(Exit.REFUSED)


def _detach(args: Namespace, run: str) -> int:
    if args.json:
        print_json({"schema": "raidtui.started/1", "run": run})
    else:
        print(run)
    print(goodbye(args, run), file=sys.stderr)
    return 0


COMMANDS: Final = {"replay": (add_arguments, run)}
