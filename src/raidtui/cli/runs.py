"""`raidtui runs`, `attach`, `cancel` and `recover`: the runs of a server."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from raidtui.base.text import clean
from raidtui.cli.plan import split_ids
from raidtui.cli.printers import ProgressLines
from raidtui.cli.replay import Signals, finish, watch
from raidtui.cli.screen import add_json_argument, connect, print_json, print_lines, show_or_json, table, text
from raidtui.client.engine_client import EngineClient
from raidtui.front.files import check_output
from raidtui.front.phrases import sentence
from raidtui.model.convert import plain
from raidtui.model.problem import Exit, fail
from raidtui.model.protocol import Recovered, RecoverProgress, RunInfo, RunList
from raidtui.model.refusals import NO_RUN
from raidtui.results.rates import NOTHING

if TYPE_CHECKING:
    from rich.console import Console

_STATE_STYLES = {"running": "cyan", "interrupted": "bold red"}


def runs_command(args: Namespace) -> int:
    """Print the runs, oldest first."""
    with connect(args) as engine:
        found: RunList = engine.call("runs", None, RunList)
    return show_or_json(args, found, show)


def latest(engine: EngineClient) -> str:
    """Return the running run, else the latest one. Raises ProblemError (`no-run`)."""
    found: RunList = engine.call("runs", None, RunList)
    if not found.runs:
        raise fail(NO_RUN, "there are no runs on this server")
    return next((info.run for info in reversed(found.runs) if info.state == "running"), found.runs[-1].run)


def show(found: RunList, out: Console) -> None:
    """Print a line per run."""
    if not found.runs:
        out.print("No runs yet: `raidtui replay SCENARIO` makes one.")
        return
    listing = table("RUN", "SCENARIO", "STATE", "CELLS", "EXIT", "OUTCOME", right=("CELLS", "EXIT"),
                    whole=("RUN", "STATE"))  # fmt: skip
    for info in found.runs:
        listing.add_row(
            text(info.run),
            text(info.scenario),
            text(info.state, _STATE_STYLES.get(info.state, "")),
            f"{info.cells_done}/{info.cells}",
            NOTHING if info.exit is None else str(info.exit),
            text(_outcome(info)),
        )
    out.print(listing)
    if found.older:
        out.print(f"… and {found.older} older ones, which left nothing")
    for info in found.runs:
        if info.state == "interrupted":
            how = "was ended by a restart of the server and left" if info.restarted else "left"
            line = f"→ run {info.run} {how} something behind: `raidtui recover {info.run}` undoes it"
            out.print(text(line), soft_wrap=True)


def _outcome(info: RunInfo) -> str:
    return f"{clean(info.outcome)} {'(rehearsal)' if info.rehearsal else ''}".strip()


def add_attach_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run_id", nargs="?", default="", metavar="RUN", help="default: the latest")
    parser.add_argument("-o", "--output", metavar="FILE", help="new file for the result")
    parser.add_argument("--json", action="store_true", help="one event a line")


def attach_command(args: Namespace) -> int:
    """Show a run until it ends. After Ctrl-C the run continues unwatched."""
    check_output(args.output)
    with connect(args) as engine:
        with Signals() as signals:
            view, left = watch(args, args.run_id or latest(engine), engine, signals, owned=False)
        return finish(args, view, engine) if left is None else left


def add_cancel_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run_id", nargs="?", default="", metavar="RUN", help="default: the running one")
    parser.add_argument("--json", action="store_true", help="print JSON")


def cancel_command(args: Namespace) -> int:
    """Request the cancellation of a run; `attach` shows its teardown."""
    with connect(args) as engine:
        info: RunInfo = engine.call("cancel", {"run": args.run_id}, RunInfo)
    if args.json:
        print_json(plain(info))
    elif info.state == "running":
        print(f"run {clean(info.run)} is being cancelled: what it built is taken down")
    else:
        print(f"run {clean(info.run)} is not running any more: {clean(info.outcome or info.state)}")
    return 0


_OUTCOMES: Final = {
    "left": "not touched, and still held by the run",
    "missing": "not here, and still held by the run",
    "given up": "given up, as --without says",
}


def add_recover_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run_id", nargs="?", default="", metavar="RUN", help="default: every interrupted run")
    parser.add_argument(
        "--without",
        metavar="DISK,…",
        default="",
        help="leave these disks of RUN untouched: they are gone for good or in other use by now",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def recover_command(args: Namespace) -> int:
    """Recover and print what was undone. The exit code is 6 while something is still left."""
    params: dict[str, object] = {"run": args.run_id, "without": split_ids([args.without])}
    with connect(args) as engine:
        if sys.stderr.isatty():
            params["progress"] = True
            found = engine.call_with_progress("recover", params, Recovered, RecoverProgress, ProgressLines())
        else:
            found = engine.call("recover", params, Recovered)
    if args.json:
        print_json(plain(found))
    else:
        print_lines(lines(found))
    return max((entry.exit for entry in found.runs), default=int(Exit.DONE))


def lines(found: Recovered) -> Iterator[str]:
    """Return the report of a recovery, run by run."""
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


COMMANDS: Final = {
    "runs": (add_json_argument, runs_command),
    "attach": (add_attach_arguments, attach_command),
    "cancel": (add_cancel_arguments, cancel_command),
    "recover": (add_recover_arguments, recover_command),
}
