"""`raidtui disks`, `doctor`, `runs`, `cancel` and `recover` on many servers: one request to each, all at once."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any, Final, TypeVar

from raidtui.base.text import clean
from raidtui.cli import runs
from raidtui.cli.fleet.output import failed, opened, print_of, waiting
from raidtui.cli.screen import console, table, text
from raidtui.cli.server import abilities_text, show_disks
from raidtui.client.engine_client import EngineClient
from raidtui.front.fleet.servers import Fleet, gravest
from raidtui.model.convert import plain
from raidtui.model.problem import Exit, ProblemError
from raidtui.model.protocol import Checkup, DiskList, Recovered, RunInfo, RunList
from raidtui.results.rates import NOTHING

T = TypeVar("T")


def _asked(
    args: Namespace, servers: tuple[str, ...], method: str, params: Any, type_: type[T],
    shown: Callable[[str, T], None] | None = None,
) -> tuple[dict[str, T], list[int]]:  # fmt: skip
    """Return the answers in the order of the servers, and the exit codes of those that gave none.

    With --json each answer is printed as it comes, and none is kept.
    """
    answers: dict[str, T] = {}
    with Fleet(servers) as fleet:
        opened(args, fleet)

        def done(server: str, outcome: T | ProblemError) -> None:
            if isinstance(outcome, ProblemError):
                fleet.failed[server] = outcome
                failed(args, server, outcome)
                return
            if args.json:
                print_of(server, plain(outcome))
            if shown is not None:
                shown(server, outcome)
            elif not args.json:
                answers[server] = outcome

        def ask(engine: EngineClient) -> T:
            answer: T = engine.call(method, params, type_)
            return answer

        fleet.ask(ask, done, waiting)
        codes = [int(error.exit) for error in fleet.failed.values()]
    return {server: answers[server] for server in servers if server in answers}, codes


def disks(args: Namespace, servers: tuple[str, ...]) -> int:
    """Print the disks of each server below its name."""
    answers, codes = _asked(args, servers, "disks", None, DiskList)
    out = console(args)
    for number, (server, found) in enumerate(answers.items()):
        if number:
            out.print()
        out.print(text(server, "bold"))
        show_disks(found, out)
    return int(gravest(codes))


def doctor(args: Namespace, servers: tuple[str, ...]) -> int:
    """Print what is missing and what can be built; servers of which the same is to be said are named together."""
    answers, codes = _asked(args, servers, "doctor", None, Checkup)
    alike: dict[tuple[str, ...], list[str]] = {}
    for server, found in answers.items():
        alike.setdefault(_doctor_lines(found), []).append(clean(server, 80))
    for number, (lines, names) in enumerate(alike.items()):
        print("\n" * bool(number) + ", ".join(names))
        print("\n".join(f"  {line}" for line in lines))
    return int(gravest(codes))


def _doctor_lines(found: Checkup) -> tuple[str, ...]:
    missing = [check for check in found.checks if not check.ok]
    lines = [f"✗ {clean(one.name)}: {clean(one.found)}" for one in missing] or ["✓ nothing that is needed is missing"]
    remedies = dict.fromkeys(clean(one.remedy) for one in missing if one.remedy)
    abilities = [f"· {abilities_text(found)}"] if found.can_build or found.cannot_build else []
    return (*lines, *(f"→ {remedy}" for remedy in remedies), *abilities)


def list_runs(args: Namespace, servers: tuple[str, ...]) -> int:
    """Print the runs of all servers in one table."""
    answers, codes = _asked(args, servers, "runs", None, RunList)
    if args.json:
        return int(gravest(codes))
    listing = table("SERVER", "RUN", "SCENARIO", "STATE", "CELLS", "EXIT", right=("CELLS", "EXIT"), whole=("RUN",))
    count = 0
    for server, found in answers.items():
        for info in found.runs:
            count += 1
            listing.add_row(text(server), text(info.run), text(info.scenario), text(info.state),
                            f"{info.cells_done}/{info.cells}", NOTHING if info.exit is None else str(info.exit)
                            )  # fmt: skip
    out = console(args)
    if count:
        out.print(listing)
    else:
        out.print("No runs yet: `raidtui replay SCENARIO` makes one.")
    if any(info.state == "interrupted" for found in answers.values() for info in found.runs):
        words = f"→ what interrupted runs left is undone by `raidtui --on {clean(args.on, 4096)} recover`"
        out.print(text(words), soft_wrap=True)
    return int(gravest(codes))


def cancel(args: Namespace, servers: tuple[str, ...]) -> int:
    """Ask for the cancellation of the running run of each server."""
    answers, codes = _asked(args, servers, "cancel", {"run": ""}, RunInfo)
    for server, info in answers.items():
        going = "is being cancelled" if info.state == "running" else "is not running any more"
        print(f"{clean(server, 80)}: run {clean(info.run)} {going}")
    return int(gravest(codes))


def recover(args: Namespace, servers: tuple[str, ...]) -> int:
    """Recover every interrupted run of each server; each server is reported as soon as it is done."""
    left: list[int] = []

    def shown(server: str, found: Recovered) -> None:
        left.extend(entry.exit for entry in found.runs)
        if not args.json:
            print("\n".join(f"{clean(server, 80)}: {line}" for line in runs.lines(found)), flush=True)

    _, codes = _asked(args, servers, "recover", {"run": "", "without": ()}, Recovered, shown)
    return int(gravest([*left, *codes, Exit.DONE]))


COMMANDS: Final = {"disks": disks, "doctor": doctor, "runs": list_runs, "cancel": cancel, "recover": recover}
