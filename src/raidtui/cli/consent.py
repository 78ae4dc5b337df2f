"""The options that `plan` and `replay` share, and the line that runs a plan with consent to what it erases."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from raidtui.front import command_line
from raidtui.front.ad_hoc import names_of, with_workloads
from raidtui.front.inputs import document
from raidtui.model.plan import Options, Plan
from raidtui.model.problem import fail


def add_scenario_arguments(parser: ArgumentParser) -> None:
    """What `plan` and `replay` share."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a scenario or result file, - for stdin, or a shipped name")
    parser.add_argument("--bind", action="append", default=[], metavar="ROLE=ID,…",
                        help="the disks of a role, by serial or WWN; may be repeated")  # fmt: skip
    parser.add_argument("--layout", action="append", default=[], metavar="NAME", help="only this layout; may be repeated")
    parser.add_argument("--workload", action="append", default=[], metavar="NAME",
                        help="only this workload; may be repeated; or one said here: 'T8Q32 4k randread'")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="a rehearsal: 3 s a workload; not for comparing")
    parser.add_argument("--json", action="store_true", help="as JSON (replay: one event a line)")


def options_of(args: Namespace) -> Options:
    return Options(quick=args.quick, layouts=tuple(args.layout), workloads=names_of(args.workload))


def document_of(args: Namespace) -> str:
    """The scenario that was named, with the workloads that were said beside it."""
    return with_workloads(document(args.scenario), args.workload)


def binding_of(args: Namespace) -> dict[str, tuple[str, ...]]:
    """`--bind` as role → ids. Raises ProblemError (`bind`)."""
    bound: dict[str, tuple[str, ...]] = {}
    for word in args.bind:
        role, equals, ids = word.partition("=")
        names = split_ids([ids])
        if not (role and equals and names):
            raise fail("bind", f"{word[:200]!r} is not ROLE=ID,ID,…", place="--bind")
        if role in bound:
            raise fail("bind", f"role {role[:80]!r} is bound twice", place="--bind")
        bound[role] = names
    return bound


def split_ids(words: Sequence[str]) -> tuple[str, ...]:
    """Ids from comma separated words, each once, in order."""
    return tuple(dict.fromkeys(part.strip() for word in words for part in word.split(",") if part.strip()))


def replay_line(plan: Plan, args: Namespace) -> str:
    """The exact command line that runs this plan and consents to what it erases."""
    more = ["--json"] if args.json and args.command == "replay" else []
    more += ["--detach"] if getattr(args, "detach", False) else []
    more += ["-o", args.output] if getattr(args, "output", None) else []
    on = ["--on", args.on] if args.on else []
    options = Options(quick=args.quick, layouts=tuple(args.layout), workloads=tuple(args.workload))
    return command_line.replay_line(plan, args.scenario, options, on=on, more=more)
