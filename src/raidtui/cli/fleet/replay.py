"""`raidtui replay` and `attach` on many servers: all plans first, one consent, all runs at once, one comparison."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from raidtui.base.text import clean, plural
from raidtui.cli.fleet.output import failed, opened, print_of, say, waiting
from raidtui.cli.fleet.planning import planned, replay_lines, requests_of, show_summary
from raidtui.cli.fleet.printers import FleetPrinter, printer_for
from raidtui.cli.fleet.servers import show_servers
from raidtui.cli.plan import split_ids
from raidtui.cli.replay import CONSENT, Signals
from raidtui.cli.runs import latest
from raidtui.cli.screen import console, json_text, table, text
from raidtui.front.fleet.consent import by_server, check_consents, erase_words
from raidtui.front.fleet.files import Outputs, check_folder
from raidtui.front.fleet.runs import Fetched, Runs, ServerRun
from raidtui.front.fleet.servers import Fleet, each, exit_of_runs, gravest
from raidtui.front.follow import Back, Lost, start
from raidtui.front.phrases import PROBLEMS_SCHEMA, sentence
from raidtui.model.convert import plain
from raidtui.model.event import Record
from raidtui.model.plan import Plan
from raidtui.model.problem import Exit, Problem, ProblemError, Problems, fail
from raidtui.model.protocol import PlanRequest
from raidtui.model.refusals import POOL_CONSENT
from raidtui.results.rates import NOTHING
from raidtui.results.servers import ServerComparison, compare_servers

FLEET_SCHEMA: Final = "raidtui.fleet/1"


class FleetConsent(Problems, frozen=True):
    """Output of `raidtui replay --json` on several servers when --erase is missing."""

    erases: dict[str, tuple[str, ...]]
    """Ids of the disks that are erased, by server."""
    command: str
    """Command on several lines that runs the plans, with consent to erase the disks of all servers."""


class FleetServer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One server at the end of a command on several."""

    server: str
    """Name as in --on."""
    exit: int
    run: str = ""
    """Empty if nothing began there."""
    outcome: str = ""
    host: str = ""
    result: str = ""
    """File of its result."""
    problems: tuple[Problem, ...] = ()


class FleetEnd(msgspec.Struct, frozen=True):
    """Last line of `raidtui replay --json` and `attach --json` on several servers."""

    schema: str
    exit: int
    """Exit code of the command."""
    servers: tuple[FleetServer, ...]
    comparison: ServerComparison | None
    """None with fewer than two results."""


_MOST_NAMED = 8
_SIGNAL_EXIT = 128
_LAST_ANSWERS_S = 2.0


def replay(args: Namespace, servers: tuple[str, ...]) -> int:
    """Run a scenario on all servers. Without consent to erase all their disks nothing is touched; the exit code is 3."""
    check_folder(args.output)
    requests = requests_of(args, servers)
    erase = by_server(erase_words(args.erase), servers, "--erase", Exit.REFUSED)
    outputs = Outputs(args.output, servers)
    with Fleet(servers) as fleet:
        opened(args, fleet)
        plans = planned(args, fleet, requests)
        codes = [int(error.exit) for error in fleet.failed.values()]
        if not plans:
            return int(gravest(codes))
        if fleet.failed and not args.keep_going:
            say(f"nothing was started: {plural(len(fleet.failed), 'server')} without a plan, and --no-keep-going")
            return int(gravest(codes))
        outputs.check_free(str(next(iter(plans.values())).scenario.get("name", "")), plans)
        if any(plan.erases for plan in plans.values()) and not args.erase:
            return _ask_for_consent(plans, args)
        if taking := next((plan for plan in plans.values() if plan.takes), None):
            text = f"the plans make images in {', '.join(taking.takes)}, there before: servers would load it together"
            raise fail(POOL_CONSENT, text, place="--on", remedy="Run it on one server at a time.", exit=Exit.REFUSED)
        consents = check_consents(plans, {server: split_ids(words) for server, words in erase.items()})
        if not args.json:
            show_summary(plans, console(args, file=sys.stderr))
        # An interrupt must not end raidtui after runs were started and before their names were printed.
        with Signals() as signals:
            begun = _started(args, fleet, requests, plans, consents)
            if args.detach:
                return _detach(args, fleet, begun)
            return _watched(args, fleet, begun, outputs, signals, owned=True)


def attach(args: Namespace, servers: tuple[str, ...]) -> int:
    """Follow the latest run of each server. After Ctrl-C the runs continue unwatched."""
    check_folder(args.output)
    args.keep_going = True
    with Fleet(servers) as fleet:
        opened(args, fleet)
        begun: dict[str, str] = {}
        fleet.ask(latest, _keeping(args, fleet, begun), waiting)
        with Signals() as signals:
            return _watched(args, fleet, begun, Outputs(args.output, servers), signals, owned=False)


def _ask_for_consent(plans: Mapping[str, Plan], args: Namespace) -> int:
    """Print the summary and the command that consents to erase the disks of all servers."""
    lines = replay_lines(plans, args)
    disks = sum(len(plan.erases) for plan in plans.values())
    problem = CONSENT.problem(
        f"these plans erase {plural(disks, 'disk')} on {plural(len(plans), 'server')}; nothing was touched",
        remedy="To run it:\n" + "\n".join(lines), exit=Exit.REFUSED,
    )  # fmt: skip
    if args.json:
        erases = {server: plan.erases for server, plan in plans.items()}
        document = FleetConsent(PROBLEMS_SCHEMA, problem.exit, (problem,), erases, "\n".join(lines))
        print(json_text(plain(document)))
    else:
        show_summary(plans, console(args))
        print("\nTo run it:\n")
        print("\n".join(f"  {line}" for line in lines))
    sys.stdout.flush()
    say(sentence(problem).splitlines()[0])
    return int(Exit.REFUSED)


def _keeping(args: Namespace, fleet: Fleet, begun: dict[str, str]) -> Callable[[str, str | ProblemError], None]:
    """Return a function that keeps the run of a server in `begun`; a server with a problem takes no part any more."""

    def done(server: str, outcome: str | ProblemError) -> None:
        if isinstance(outcome, ProblemError):
            failed(args, server, outcome)
            fleet.drop(server, outcome)
        else:
            begun[server] = outcome

    return done


def _started(
    args: Namespace, fleet: Fleet, requests: Mapping[str, PlanRequest], plans: Mapping[str, Plan],
    consents: Mapping[str, tuple[str, ...]],
) -> dict[str, str]:  # fmt: skip
    """Start the plan of each server, all at once, and return the runs. A server that refuses takes no part any more."""
    begun: dict[str, str] = {}

    def begin(server: str) -> str:
        engine = fleet.engines[server]
        return start(lambda: fleet.connect(server), engine, requests[server], plans[server], consents[server], ())

    each(tuple(plans), begin, _keeping(args, fleet, begun), waiting)
    return {server: begun[server] for server in plans if server in begun}


def _detach(args: Namespace, fleet: Fleet, begun: Mapping[str, str]) -> int:
    for server, run in begun.items():
        if args.json:
            print_of(server, {"schema": "raidtui.started/1", "run": run})
        else:
            print(f"{clean(server, 80)} {run}")
    if begun:
        say(goodbye(args, begun))
    return int(exit_of_runs([0] * len(begun), [int(error.exit) for error in fleet.failed.values()]))


def goodbye(args: Namespace, runs: Mapping[str, str]) -> str:
    """Return lines with the runs that go on, and the commands that follow them again."""
    lines = [f"{plural(len(runs), 'run')} {'goes' if len(runs) == 1 else 'go'} on; to see all again: "
             f"{clean(shlex.join(['raidtui', '--on', args.on, 'attach']), 65536)}"]  # fmt: skip
    lines += [f"  one of them: {clean(shlex.join(['raidtui', '--on', server, 'attach', run]), 4096)}"
              for server, run in list(runs.items())[:_MOST_NAMED]]  # fmt: skip
    if len(runs) > _MOST_NAMED:
        lines.append(f"  and {len(runs) - _MOST_NAMED} more: `raidtui --on … runs` lists them")
    return "\n".join(lines)


def _watched(
    args: Namespace, fleet: Fleet, begun: dict[str, str], outputs: Outputs, signals: Signals, *, owned: bool
) -> int:
    """Follow runs to their ends, and show and compare their results; or leave them, with the exit code for that."""
    if not begun:
        return int(gravest(int(error.exit) for error in fleet.failed.values()))
    runs = Runs(fleet, begun, outputs)
    all_runs = list(runs.by_server.values())
    printer = printer_for(args, all_runs)
    try:
        left = _watch(args, runs, printer, signals, owned=owned, stop=bool(fleet.failed) and not args.keep_going)
    finally:
        runs.close()
        printer.close()
    return _finish(args, fleet, all_runs) if left is None else left


def _watch(
    args: Namespace, runs: Runs, printer: FleetPrinter, signals: Signals, *, owned: bool, stop: bool
) -> int | None:
    """Show what comes until all runs have ended and their results are here (None), or until they are left."""
    cancelled = False
    while not runs.complete:
        for one, item in runs.items():
            if isinstance(item, Record):
                printer.shown(one, item)
            elif isinstance(item, Lost):
                if not signals.interrupts:
                    printer.say(f"{clean(one.server, 80)}: the connection was lost; trying to come back to the run")
            elif isinstance(item, Back):
                again = "; the server restarted meanwhile" if item.restarted else ""
                printer.say(f"{clean(one.server, 80)}: connected again{again}")
            elif isinstance(item, Fetched) and one.error is not None:
                for problem in one.error.problems:
                    printer.say(sentence(problem))
            if one.ended and not args.keep_going and one.exit not in (Exit.DONE, Exit.INVALID):
                stop = True
            if signals.leave or (signals.interrupts and not owned) or signals.interrupts > 1:
                break
        printer.look()
        going = {one.server: one.run for one in runs.going()}
        if signals.leave:
            printer.say(goodbye(args, going))
            return _SIGNAL_EXIT + signals.leave
        if signals.interrupts and not owned:
            printer.say(goodbye(args, going))
            return int(Exit.CANCELLED)
        if signals.interrupts > 1:
            printer.say(goodbye(args, going))
            # 130 would promise that the disks are restored, which is not confirmed yet.
            return int(Exit.LEFT_BEHIND)
        if (signals.interrupts or stop) and not cancelled:
            cancelled = True
            why = "" if signals.interrupts else "a server failed, and --no-keep-going: "
            printer.say(f"{why}cancelling {plural(len(going), 'run')}: what was built is taken down "
                        "(Ctrl-C again leaves the runs to themselves)")  # fmt: skip
            runs.cancel(lambda server, error: _cancel_asked(printer, server, error))
    return None


def _cancel_asked(printer: FleetPrinter, server: str, error: ProblemError | None) -> None:
    if error is not None and error.problems[0].code != "not-running":
        printer.say(f"{clean(server, 80)}: it could not be cancelled: {clean(error)}")


def _finish(args: Namespace, fleet: Fleet, runs: list[ServerRun]) -> int:
    """Print how each run ended and where its result is, and the comparison of the servers. Return the exit code."""
    code = exit_of_runs([one.exit for one in runs], [int(error.exit) for error in fleet.failed.values()])
    for one in runs:
        for problem in one.view.finished.problems if one.view.finished else ():
            say(f"{clean(one.server, 80)}: {sentence(problem)}")
    extracts = {one.server: one.extract for one in runs if one.extract is not None and one.extract.points}
    compared = compare_servers(extracts) if len(extracts) > 1 else None
    if args.json:
        servers = [_server(one) for one in runs]
        servers += [FleetServer(server, int(error.exit), problems=error.problems) for server, error in fleet.failed.items()]
        print(json_text(plain(FleetEnd(FLEET_SCHEMA, int(code), tuple(servers), compared))), flush=True)
        return int(code)
    out = console(args)
    listing = table("SERVER", "RUN", "EXIT", "OUTCOME", "RESULT", right=("EXIT",), whole=("RUN",))
    for one in runs:
        listing.add_row(text(one.server), text(one.run), str(one.exit), text(_outcome(one)),
                        text(one.path) if one.path else NOTHING)  # fmt: skip
    for server, error in fleet.failed.items():
        listing.add_row(text(server), NOTHING, str(int(error.exit)), text(f"no run: {error.problems[0].code}"), NOTHING)
    out.print()
    out.print(listing)
    if compared is not None:
        out.print()
        show_servers(compared, out)
    return int(code)


def _outcome(one: ServerRun) -> str:
    if one.view.finished is None:
        return "its end is not known" if one.view.recovered is None else "recovered"
    invalid = sum(not cell.valid for cell in one.view.cells)
    cells = f"{one.view.finished.outcome}, {plural(len(one.view.cells), 'cell')}"
    return cells + (f", {invalid} invalid" if invalid else "")


def _server(one: ServerRun) -> FleetServer:
    return FleetServer(
        one.server, one.exit, one.run, _outcome(one), one.extract.host if one.extract is not None else "",
        str(one.path) if one.path else "", one.error.problems if one.error is not None else (),
    )  # fmt: skip


COMMANDS: Final = {"replay": replay, "attach": attach}
