"""`raidtui replay`: show, ask for consent, run, watch, keep the result. `attach` watches a run in the same way."""

from __future__ import annotations

import shlex
import signal
import sys
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from types import FrameType
from typing import Final

import msgspec

from raidtui.base.text import clean, plural
from raidtui.cli.plan import add_scenario_arguments, command_line, make_plan, plan_lines, request_of, split_ids
from raidtui.cli.printers import Printer, printer_for
from raidtui.cli.screen import connect, console, json_text, print_json, print_lines
from raidtui.client.engine_client import EngineClient
from raidtui.front.files import check_output, save
from raidtui.front.follow import Back, Ended, Follower, Lost, start
from raidtui.front.phrases import PROBLEMS_SCHEMA, looks_line, sentence
from raidtui.front.plan import check_consent, check_pools, kept_lines
from raidtui.front.progress import RunView, advance
from raidtui.model.convert import plain
from raidtui.model.event import CellDone, Record
from raidtui.model.plan import Plan
from raidtui.model.problem import Exit, ProblemError, Problems, Refusal
from raidtui.model.protocol import PlanRequest, RunInfo
from raidtui.model.refusals import POOL_CONSENT, RUN_INTERRUPTED
from raidtui.model.result import Cell

CONSENT: Final = Refusal(
    "consent",
    "Consent is missing",
    "The plan erases disks. --erase must name every one of them by serial or WWN, and no other disk. Nothing was "
    "touched.",
    "Use the command line that `raidtui plan` prints.",
)


class Consent(Problems, frozen=True):
    """Output of `raidtui replay --json` when --erase is missing."""

    plan: Plan
    command: str
    """Command line that runs the plan, with consent to erase its disks."""


class StartedRun(msgspec.Struct, frozen=True):
    """Output of `raidtui replay --detach --json`."""

    schema: str
    run: str


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "Without --erase the plan is printed, with the command line that consents to it; nothing is touched and the exit "
        "code is 3. A plan that erases no disk needs no --erase."
    )
    add_scenario_arguments(parser, json_help="print JSON: one event per line")
    parser.add_argument("--erase", action="append", default=[], metavar="ID,…",
                        help="consent: serial or WWN of every disk that the plan erases, no other; with several servers "
                             "SERVER:ID,… for each, or @FILE with a line for each")  # fmt: skip
    parser.add_argument("--pool", action="append", default=[], metavar="NAME",
                        help="consent: an existing pool of a cluster in which the plan makes images")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="new file for the result (default: one in $XDG_STATE_HOME/raidtui/results, for root in "
                             "/var/lib/raidtui/results); with several servers a folder")  # fmt: skip
    parser.add_argument("--keep-going", action=BooleanOptionalAction, default=True,
                        help="with several servers: a server that fails does not stop the others (default)")  # fmt: skip
    parser.add_argument("--detach", action="store_true", help="start the run and return at once")


def run(args: Namespace) -> int:
    """Run a scenario to its end. Without consent to erase its disks nothing is touched and the exit code is 3."""
    check_output(args.output)
    return carry_out(args, request_of(args))


def carry_out(args: Namespace, request: PlanRequest) -> int:
    """Plan, ask for consent, run and watch; return the exit code."""
    if sys.stderr.isatty():
        print(f"Planning on {clean(args.on) or 'this machine'} …", file=sys.stderr)
    with connect(args) as engine:
        plan = make_plan(engine, request)
        pools = getattr(args, "pool", [])
        if (plan.erases and not args.erase) or (plan.takes and not pools):
            return _ask_for_consent(plan, args)
        erase, pools = check_consent(plan, split_ids(args.erase)), check_pools(plan, pools)
        # An interrupt must not end raidtui after the run was started and before its name was printed.
        with Signals() as signals:
            begun = start(lambda: connect(args), engine, request, plan, erase, pools)
            if args.detach:
                return _detach(args, begun)
            view, left = watch(args, begun, engine, signals, owned=True)
        return finish(args, view, engine) if left is None else left


def _ask_for_consent(plan: Plan, args: Namespace) -> int:
    """Print the disks to be erased and the command line that consents to it."""
    line = command_line(plan, args)
    what = [f"erases {plural(len(plan.erases), 'disk')}"] if plan.erases else []
    what += [f"makes images in {', '.join(plan.takes)}, there before"] if plan.takes else []
    problem = (CONSENT if plan.erases else POOL_CONSENT).problem(
        f"this plan {' and '.join(what)}; nothing was touched",
        remedy=f"To run it:\n{line}",
        exit=Exit.REFUSED,
    )
    if args.json:
        print(json_text(plain(Consent(PROBLEMS_SCHEMA, problem.exit, (problem,), plan, line))))
    else:
        print_lines(plan_lines(plan))
        if looked := looks_line(plan):
            print_lines(["", looked])
        print(f"\nTo run it:\n\n  {line}")
    sys.stdout.flush()
    print(sentence(problem).splitlines()[0], file=sys.stderr)
    return int(Exit.REFUSED)


def _detach(args: Namespace, run: str) -> int:
    if args.json:
        print_json(plain(StartedRun("raidtui.started/1", run)))
    else:
        print(run)
    print(goodbye(args, run), file=sys.stderr)
    return 0


_TICK_S = 0.2
_SIGNAL_EXIT = 128


def watch(args: Namespace, run: str, engine: EngineClient, signals: Signals, *, owned: bool) -> tuple[RunView, int | None]:
    """Show a run until it has ended, or until it is left to itself: then with the exit code for that.

    `owned`: the run was started by this command, so that the first SIGINT cancels it. A run that is only watched is left
    by SIGINT. SIGTERM and SIGHUP always leave: losing the terminal is no request to end the run.
    Raises ProblemError when the connection is lost for good, and when the run's end cannot be known.
    """
    follower = Follower(lambda: connect(args, quiet=True), run, first=engine)
    printer = printer_for(args)
    view, cancelled = RunView(run=run), False
    try:
        while True:
            item = follower.next(_TICK_S)
            if isinstance(item, Record):
                view = advance(view, _counted(item))
                printer.shown(view, item)
            elif isinstance(item, Ended):
                return _ended(view, item), None
            elif isinstance(item, Lost):
                if not signals.interrupts:
                    problem = item.error.problems[0]
                    printer.say(f"{clean(problem.message, 2000)}; trying to come back to the run")
            elif isinstance(item, Back):
                printer.say("connected again" + ("; the server restarted meanwhile" if item.restarted else ""))
            if signals.leave:
                printer.say(goodbye(args, run))
                return view, _SIGNAL_EXIT + signals.leave
            if signals.interrupts and not owned:
                printer.say(goodbye(args, run))
                return view, int(Exit.CANCELLED)
            if signals.interrupts and not cancelled:
                cancelled = True
                printer.say("cancelling: what was built is taken down (Ctrl-C again leaves the run to itself)")
                _cancel(args, run, printer)
            elif signals.interrupts > 1:
                printer.say(goodbye(args, run))
                # 130 would promise that the disks are restored, which is not confirmed yet.
                return view, int(Exit.LEFT_BEHIND)
    finally:
        follower.close()
        printer.close()


def _counted(record: Record) -> Record:
    """Return the record without the numbers of a finished cell: the view needs only its identity and validity."""
    if not isinstance(event := record.event, CellDone):
        return record
    cell = Cell(event.cell.id, event.cell.layout, event.cell.workload, event.cell.round, event.cell.valid)
    return msgspec.structs.replace(record, event=CellDone(cell))


def goodbye(args: Namespace, run: str) -> str:
    """Return a line with the command that follows the continuing run again."""
    on = ["--on", args.on] if args.on else []
    return f"run {clean(run)} goes on; to see it again: {clean(shlex.join(['raidtui', *on, 'attach', run]))}"


def _ended(view: RunView, ended: Ended) -> RunView:
    if ended.error is not None:
        raise ended.error
    if view.finished is None and view.recovered is None:
        raise ProblemError(
            RUN_INTERRUPTED.problem(
                "the run ended without a last record: its runner was killed or the server went down",
                place=view.run,
                remedy=f"`raidtui recover {view.run}` undoes what it left behind.",
                exit=Exit.LEFT_BEHIND,
            )
        )
    return view


def _cancel(args: Namespace, run: str, printer: Printer) -> None:
    # A terminal sends SIGINT to the connection's process as well: what was connected may be dying right now.
    try:
        with connect(args, quiet=True) as engine:
            engine.call("cancel", {"run": run}, RunInfo)
    except ProblemError as error:
        printer.say(f"it could not be cancelled: {clean(error)}")


class Signals:
    """Counts SIGINT and remembers SIGTERM and SIGHUP while entered; none of them ends raidtui at once."""

    def __init__(self) -> None:
        self.interrupts = 0
        self.leave = 0
        """The signal that asks raidtui to go, or 0."""
        self._before: dict[int, object] = {}

    def __enter__(self) -> Signals:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]

    def _note(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGINT:
            self.interrupts += 1
        else:
            self.leave = number


def finish(args: Namespace, view: RunView, engine: EngineClient) -> int:
    """Fetch, keep and show the result of a run that has ended, and give the run's exit code.

    `engine` is the connection that watched it; it may have been lost in between.
    """
    # Imported here so that starting or refusing a run does not wait for the modules of tables and charts.
    from raidtui.cli.report import show_comparison, show_rankings
    from raidtui.results.compare import compare
    from raidtui.results.load import read_result

    finished = view.finished
    code = finished.exit if finished else view.recovered.exit if view.recovered else int(Exit.LEFT_BEHIND)
    for problem in finished.problems if finished else ():
        print(sentence(problem), file=sys.stderr)
    try:
        raw = _fetched(args, view.run, engine)
    except ProblemError as error:
        if error.problems[0].code == "no-result" and not view.cells:
            return code
        raise
    result = read_result(raw)
    path = save(raw, str(result.scenario.get("name", "")), result.run, args.output)
    if not args.json:
        out = console(args)
        if result.cells or any(built.status == "failed" for built in result.layouts):
            out.print()
            show_comparison(compare(result), out)
            show_rankings(result.ranking, out)
        if (kept := view.kept_layout) is not None:
            print_lines(["", *kept_lines(kept)])
        print(f"\nResult: {clean(path, 4096)}")
    else:
        print(f"result: {clean(path, 4096)}", file=sys.stderr)
    return code


def _fetched(args: Namespace, run: str, engine: EngineClient) -> bytes:
    """Fetch the result over the old connection if possible: a new one may ask for a password."""
    try:
        return engine.result(run)
    except ProblemError as error:
        if error.problems[0].code != "engine-lost":
            raise
    with connect(args) as another:
        return another.result(run)


COMMANDS: Final = {"replay": (add_arguments, run)}
