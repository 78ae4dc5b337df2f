"""`raidtui free`: a disk that carries something which nobody uses is erased, after it was shown."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from raidtui.base.text import clean
from raidtui.cli.printers import ProgressLines
from raidtui.cli.screen import connect, indented, print_json, show_or_json, text
from raidtui.front.free import done_lines, erasing, found_on, heading
from raidtui.model.convert import plain
from raidtui.model.free import Freed, FreeLook, FreePlan, FreeProgress, FreeRequest
from raidtui.model.problem import Exit

if TYPE_CHECKING:
    from rich.console import Console


def add_free_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("disk", metavar="DISK", help="serial or WWN, as `raidtui disks` shows it")
    parser.add_argument("--erase", metavar="DISK", default="", help="the consent: the same disk once more")
    parser.add_argument("--json", action="store_true", help="print JSON")


def free_command(args: Namespace) -> int:
    """Show what is on a disk, and with --erase erase it. Exit code 3 without consent."""
    with connect(args) as engine:
        plan: FreePlan = engine.call("free-look", FreeLook(args.disk), FreePlan)
        if not args.erase:
            show_or_json(args, plan, show)
            return int(Exit.REFUSED)
        request = FreeRequest(plan.disk.id, plan.digest, args.erase)
        freed = engine.call_with_progress("free", request, Freed, FreeProgress, ProgressLines())
    if args.json:
        print_json(plain(freed))
    else:
        print(*done_lines(freed), sep="\n")
    return 0


def show(plan: FreePlan, out: Console) -> None:
    """Print what would be erased, and the command that does it."""
    name = clean(plan.disk.id)
    out.print(text(heading(plan)))
    for found in found_on(plan):
        out.print(indented(found, 4, "  · "))
    out.print(text(f"\n{erasing(plan)} To do it:\n", "bold"))
    out.print(text(f"  raidtui free {name} --erase {name}"), soft_wrap=True)


COMMANDS: Final = {"free": (add_free_arguments, free_command)}
