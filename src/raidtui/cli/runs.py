"""`raidtui runs`: the runs of a server."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from raidtui.base.text import clean
from raidtui.cli.screen import console, print_json, table, text
from raidtui.cli.session import connect
from raidtui.client.engine_client import EngineClient
from raidtui.model.convert import plain
from raidtui.model.problem import fail
from raidtui.model.protocol import RunInfo, RunList
from raidtui.results.numbers import NOTHING

if TYPE_CHECKING:
    from rich.console import Console

_STATE_STYLES = {"running": "cyan", "interrupted": "bold red"}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: Namespace) -> int:
    """Print them, oldest first."""
    with connect(args) as engine:
        found: RunList = engine.call("runs", None, RunList)
    if args.json:
        print_json(plain(found))
    else:
        show(found, console(args))
    return 0


def latest(engine: EngineClient) -> str:
    """The run that is going on, else the latest. Raises ProblemError (`no-run`)."""
    found: RunList = engine.call("runs", None, RunList)
    if not found.runs:
        raise fail("no-run", "there are no runs on this server")
    return next((info.run for info in reversed(found.runs) if info.state == "running"), found.runs[-1].run)


def show(found: RunList, out: Console) -> None:
    """One line a run."""
    if not found.runs:
        out.print("No runs yet: `raidtui replay SCENARIO` makes one.")
        return
    listing = table("RUN", "SCENARIO", "STATE", "CELLS", "EXIT", "OUTCOME", right=("CELLS", "EXIT"))
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
