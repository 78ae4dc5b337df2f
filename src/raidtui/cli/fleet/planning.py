"""`raidtui plan` on many servers: one summary of all plans, and the command that consents to them."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from raidtui.base.text import clean, named, plural
from raidtui.cli.fleet.output import failed, opened, print_of, waiting
from raidtui.cli.plan import asked, binding_of, make_plan
from raidtui.cli.screen import console, table, text
from raidtui.front.fleet.consent import by_server, command_lines
from raidtui.front.fleet.runs import light
from raidtui.front.fleet.servers import Fleet, each, gravest
from raidtui.front.phrases import looks_line
from raidtui.front.plan import erased_disks, writable_name, writes_text
from raidtui.model.convert import plain
from raidtui.model.plan import Plan
from raidtui.model.problem import Exit, ProblemError
from raidtui.model.protocol import PlanRequest
from raidtui.model.units import duration_text, size_text

if TYPE_CHECKING:
    from rich.console import Console

_MOST_NAMED = 6


def plan_command(args: Namespace, servers: tuple[str, ...]) -> int:
    """Print a summary of the plans; nothing is touched."""
    requests = requests_of(args, servers)
    with Fleet(servers) as fleet:
        opened(args, fleet)
        plans = planned(args, fleet, requests, whole=args.json)
        codes = [int(error.exit) for error in fleet.failed.values()]
    if not args.json and plans:
        show_summary(plans, console(args))
        print("\nThe steps of one server: raidtui --on SERVER plan …\nTo run it on all servers with a plan:\n")
        print("\n".join(f"  {line}" for line in replay_lines(plans, args)))
    return int(gravest(codes))


def requests_of(args: Namespace, servers: Sequence[str]) -> dict[str, PlanRequest]:
    """Return the request for each server. Raises ProblemError for words and files that cannot be used."""
    words = by_server(args.bind, servers, "--bind", Exit.USAGE)
    document, _, options = asked(args, ())  # read once: it may be stdin
    return {server: PlanRequest(document, binding_of(words.get(server, ())), options) for server in servers}


def planned(
    args: Namespace, fleet: Fleet, requests: Mapping[str, PlanRequest], *, whole: bool = False
) -> dict[str, Plan]:
    """Plan on all servers at once and return the plans in the servers' order, without their commands.

    Servers that refuse are told, and take no part any more. With `whole` each plan is printed as a JSON document, and none
    is returned.
    """
    if sys.stderr.isatty():
        print(f"Planning on {plural(len(fleet.engines), 'server')} …", file=sys.stderr)
    plans: dict[str, Plan] = {}

    def plan(server: str) -> Plan:
        made = make_plan(fleet.engines[server], requests[server])
        return made if whole else light(made)

    def done(server: str, outcome: Plan | ProblemError) -> None:
        if isinstance(outcome, ProblemError):
            failed(args, server, outcome)
            fleet.drop(server, outcome)
        elif whole:
            print_of(server, plain(outcome))
        else:
            plans[server] = outcome

    each(tuple(fleet.engines), plan, done, waiting)
    return {server: plans[server] for server in fleet.names if server in plans}


def show_summary(plans: Mapping[str, Plan], out: Console) -> None:
    """Print a line per server, and the disks that are erased on each."""
    first = next(iter(plans.values()))
    name, title = clean(first.scenario.get("name", "")), clean(first.scenario.get("title", ""))
    out.print(text(f"Plan of {name} on {plural(len(plans), 'server')}{': ' if title else ''}{title}", "bold"))
    if first.options.quick:
        out.print("A rehearsal (--quick): good for trying, not for comparing.")
    listing = table("SERVER", "ERASES", "CELLS", "TIME", "WRITES", right=("CELLS",))
    for server, plan in plans.items():
        erases = plural(len(plan.erases), "disk") if plan.erases else "nothing"
        most = "at most " if plan.ends_early else ""
        listing.add_row(text(server), erases, str(len(plan.cells)), f"{most}{duration_text(plan.seconds)}",
                        text(writes_text(plan)))  # fmt: skip
    out.print(listing)
    for line in erase_lines(plans):
        out.print(text(line), soft_wrap=True)
    for line in _warning_lines(plans):
        out.print(text(line), soft_wrap=True)


def erase_lines(plans: Mapping[str, Plan]) -> Iterator[str]:
    """Yield the disks that are ERASED, server by server, and how much of them was searched."""
    for server, plan in plans.items():
        if plan.erases:
            disks = ", ".join(f"{clean(writable_name(disk))} ({clean(disk.model) or 'unknown model'}, "
                              f"{size_text(disk.size_bytes)})" for disk in erased_disks(plan))  # fmt: skip
            yield f"On {clean(server, 80)} will be ERASED: {disks}"
    yield from _grouped({server: line for server, plan in plans.items() if (line := looks_line(plan))})


def _warning_lines(plans: Mapping[str, Plan]) -> Iterator[str]:
    for warning in dict.fromkeys(one for plan in plans.values() for one in plan.warnings):
        who = {server: f"Warning: {clean(warning)}" for server, plan in plans.items() if warning in plan.warnings}
        yield from _grouped(who, len(plans))


def _grouped(lines: Mapping[str, str], of: int | None = None) -> Iterator[str]:
    """Yield each line once, with the servers that it is about."""
    for line in dict.fromkeys(lines.values()):
        who = [clean(server, 80) for server, one in lines.items() if one == line]
        yield f"{'all servers' if len(who) == (of or len(lines)) else named(who, _MOST_NAMED)}: {line}"


def replay_lines(plans: Mapping[str, Plan], args: Namespace) -> list[str]:
    """Return the command, on several lines, that replays these plans with consent to erase their disks."""
    words = ["raidtui", "--on", args.on, "replay", args.scenario]
    for option, values in (("--bind", args.bind), ("--layout", args.layout), ("--workload", args.workload)):
        for value in values:
            words += [option, value]
    words += ["--quick"] if args.quick else []
    if args.command == "replay":
        words += ["--json"] if args.json else []
        words += ["--detach"] if args.detach else []
        words += [] if args.keep_going else ["--no-keep-going"]
        words += ["-o", args.output] if args.output else []
    return command_lines(plans, words)


COMMANDS: Final = {"plan": plan_command}
