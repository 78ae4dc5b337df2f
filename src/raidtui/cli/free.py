"""`raidtui free`: a disk that carries something which nobody uses is erased, after it was shown."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from raidtui.base.text import clean
from raidtui.cli.printers import ProgressLines
from raidtui.cli.screen import connect, indented, print_json, show_or_json, text
from raidtui.model.convert import plain
from raidtui.model.free import Freed, FreeLook, FreePlan, FreeProgress, FreeRequest
from raidtui.model.problem import Exit
from raidtui.model.units import duration_text, size_text

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
        print(f"{clean(freed.disk)} is blank and free ({clean(freed.method)}, {duration_text(freed.seconds)}).")
        print(f"Its first and last bytes as they were: {clean(freed.saved)} on the server.")
    return 0


def show(plan: FreePlan, out: Console) -> None:
    """Print what would be erased, and the command that does it."""
    disk = plan.disk
    facts = ", ".join(filter(None, (clean(disk.model), size_text(disk.size_bytes), clean(disk.path))))
    out.print(text(f"{clean(disk.id)} ({facts}) is used by nobody, and carries:"))
    for reason in disk.reasons:
        out.print(indented(clean(reason.message), 4, "  · "))
    out.print(text(f"\nAll of it would be ERASED, in about {duration_text(plan.seconds)}. To do it:\n", "bold"))
    out.print(text(f"  raidtui free {clean(disk.id)} --erase {clean(disk.id)}"), soft_wrap=True)


COMMANDS: Final = {"free": (add_free_arguments, free_command)}
