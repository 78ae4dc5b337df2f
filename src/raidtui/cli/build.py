"""`raidtui build`: one layout is built and stays: the one that was measured to be the best, for instance."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from raidtui.cli.plan import request_of
from raidtui.cli.replay import carry_out
from raidtui.model.plan import Keep


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = (
        "Without --erase the plan is printed, with the command line that consents to it; nothing is touched and the exit "
        "code is 3. If the build fails, or is cancelled, everything is taken down and the disks are blank again (4, 130). "
        "Exit code 5: it is built and kept, but something after that failed, such as the mount. No file in /etc is "
        "written: the lines for fstab and mdadm.conf are printed."
    )
    parser.add_argument("scenario", metavar="SCENARIO", help="a scenario or result file, - for stdin, or a shipped name")
    parser.add_argument("--layout", action="append", default=[], metavar="NAME",
                        help="the layout; needed if the scenario has several")  # fmt: skip
    parser.add_argument("--name", default="data", help="name of the array, volume group or pool (default: data)")
    parser.add_argument("--mount", metavar="PATH", help="mount point of a filesystem (default: /srv/NAME)")
    parser.add_argument("--bind", action="append", default=[], metavar="ROLE=ID,…",
                        help="the disks of a role, by serial or WWN; may be repeated")  # fmt: skip
    parser.add_argument("--erase", action="append", default=[], metavar="ID,…",
                        help="consent: serial or WWN of every disk that the plan erases, no other")  # fmt: skip
    parser.add_argument("--detach", action="store_true", help="start it and return at once")
    parser.add_argument("--json", action="store_true", help="print JSON: one event per line")
    parser.set_defaults(quick=False, workload=[], host=[], output=None)


def run(args: Namespace) -> int:
    """Build one layout for good. Without consent to erase its disks nothing is touched and the exit code is 3."""
    args.keep = Keep(args.name, args.mount or f"/srv/{args.name}")
    return carry_out(args, request_of(args))


COMMANDS: Final = {"build": (add_arguments, run)}
