"""Consent: which disks a plan erases, which of them the operator named, and the line that names them all."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from raidtui.base.text import clean
from raidtui.model.disk import Fingerprint, names_of
from raidtui.model.plan import Options, Plan
from raidtui.model.problem import Exit, Problem, ProblemError, fail


def add_scenario_arguments(parser: ArgumentParser) -> None:
    """What `plan` and `replay` share."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a scenario or result file, - for stdin, or a shipped name")
    parser.add_argument("--bind", action="append", default=[], metavar="ROLE=ID,…",
                        help="the disks of a role, by serial or WWN; may be repeated")  # fmt: skip
    parser.add_argument("--layout", action="append", default=[], metavar="NAME", help="only this layout; may be repeated")
    parser.add_argument("--workload", action="append", default=[], metavar="NAME",
                        help="only this workload; may be repeated")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="a rehearsal: 3 s a workload; not for comparing")
    parser.add_argument("--json", action="store_true", help="as JSON (replay: one event a line)")


def options_of(args: Namespace) -> Options:
    return Options(quick=args.quick, layouts=tuple(args.layout), workloads=tuple(args.workload))


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


def erased_disks(plan: Plan) -> tuple[Fingerprint, ...]:
    """What is known of each disk that the plan erases, in its order."""
    known = {disk.id: disk for disks in plan.binding.values() for disk in disks}
    return tuple(known[id_] for id_ in plan.erases if id_ in known)


def check_consent(plan: Plan, named: Sequence[str]) -> tuple[str, ...]:
    """The ids of the disks to erase, when `named` are exactly these. Raises ProblemError (exit 3) naming which is wrong."""
    problems: list[Problem] = []
    meant: set[str] = set()
    for name in named:
        fitting = [disk for disk in erased_disks(plan) if name in names_of(disk)]
        if len(fitting) == 1:
            meant.add(fitting[0].id)
        else:
            what = "names more than one disk of this plan" if fitting else "is not a disk that this plan erases"
            problems.append(_refused("erase-too-many", f"{name[:80]!r} {what}", "Leave it out; nothing was touched."))
    for disk in erased_disks(plan):
        if disk.id not in meant:
            facts = f"{disk.model}, {disk.id}"
            remedy = f"Add {disk.id} to --erase, or bind other disks; nothing was touched."
            problems.append(_refused("erase-too-few", f"this plan erases a disk that was not named: {facts}", remedy))
    if problems:
        raise ProblemError(*problems)
    return plan.erases


def replay_line(plan: Plan, args: Namespace) -> str:
    """The exact command line that runs this plan and consents to what it erases."""
    words = ["raidtui", *(["--on", args.on] if args.on else []), "replay", args.scenario]
    for role, disks in plan.binding.items():
        words += ["--bind", f"{role}={','.join(_writable_name(disk) for disk in disks)}"]
    for flag, names in (("--layout", args.layout), ("--workload", args.workload)):
        for name in names:
            words += [flag, name]
    words += ["--quick"] if args.quick else []
    words += ["--json"] if args.json and args.command == "replay" else []
    words += ["--detach"] if getattr(args, "detach", False) else []
    words += ["-o", args.output] if getattr(args, "output", None) else []
    if plan.erases:
        words += ["--erase", ",".join(_writable_name(disk) for disk in erased_disks(plan))]
    return clean(shlex.join(words), limit=65536)


def _writable_name(disk: Fingerprint) -> str:
    """An id that survives a terminal and a shell: the WWN where the serial has signs that do not."""
    return next((name for name in (disk.id, disk.wwid) if name and clean(name) == name and "," not in name), disk.id)


def _refused(code: str, message: str, remedy: str) -> Problem:
    return Problem(code, message, "--erase", remedy, exit=int(Exit.REFUSED))
