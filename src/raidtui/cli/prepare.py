"""`raidtui prepare`: install the packages that a server lacks, with the very command shown before."""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser, Namespace
from typing import Final

from raidtui.base.proc import CLEAN_ENV, ToolError, spawn
from raidtui.base.text import clean
from raidtui.cli.screen import connect
from raidtui.client.not_started import Lacks
from raidtui.client.places import Place, place, root_argv
from raidtui.model.packages import INSTALLERS, family_of, install_argv
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.model.protocol import Checkup

PREPARE: Final = Refusal(
    "prepare",
    "The server was not prepared",
    "`raidtui prepare` installs packages of Debian, Ubuntu, Fedora, RHEL and its like, and SUSE, once you agree to the "
    "command that it shows.",
    "On a terminal answer y, in scripts add --yes. Elsewhere `raidtui doctor` lists what is missing.",
)
_ROUNDS: Final = 3
"""Python, a library of the engine, and the rest are each known only once the one before is there."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="install without asking")


def prepare_command(args: Namespace) -> int:
    """Install what is missing until nothing is that a package provides."""
    where = place(args.on)
    if args.on.partition(":")[0] == "sim":
        raise fail(PREPARE, "a simulated server needs no packages", remedy="Name a server: --on root@HOST.")
    done: set[str] = set()
    for _ in range(_ROUNDS):
        distribution, packages, more = _missing(args, where)
        if not packages:
            break
        if again := done.intersection(packages):
            raise fail(PREPARE, f"{', '.join(sorted(again))}: installed, and still missing", place=where.name,
                       exit=Exit.REFUSED, remedy="`raidtui doctor` says what is wrong with it.")  # fmt: skip
        _install(args, where, distribution, packages)
        done.update(packages)
    if more:
        print(f"What no package provides, or is not needed by all: raidtui{_on(args)} doctor lists it.", file=sys.stderr)
    print(f"{clean(where.name)} is prepared: nothing is missing that its packages provide.")
    return int(Exit.DONE)


def _missing(args: Namespace, where: Place) -> tuple[str, tuple[str, ...], bool]:
    """Return the distribution, the packages that are missing, and whether something else is."""
    try:
        with connect(args) as engine:
            found: Checkup = engine.call("doctor", None, Checkup)
    except Lacks as error:
        if not error.packages:
            raise
        return error.distribution, error.packages, False
    return found.distribution, found.packages, any(not check.ok for check in found.checks)


def _install(args: Namespace, where: Place, distribution: str, packages: tuple[str, ...]) -> None:
    argv = install_argv(distribution, packages)
    name = clean(where.name)
    if not argv:
        raise fail(PREPARE, f"raidtui knows no package manager of {name} ({clean(distribution) or 'no os-release'})",
                   place=name, exit=Exit.REFUSED, remedy="Install by hand what `raidtui doctor` lists: "
                   f"{clean(' '.join(packages))}")  # fmt: skip
    print(f"On {name}, as root:\n  {shlex.join(argv)}", file=sys.stderr)
    if not args.yes:
        if not sys.stdin.isatty():
            raise fail(PREPARE, "nothing was installed: there is no terminal to ask on", place=name, exit=Exit.REFUSED,
                       remedy="Add --yes to run the command above.")  # fmt: skip
        print("Run it? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise fail(PREPARE, "nothing was installed: the answer was no", place=name, exit=Exit.REFUSED)
    full = root_argv(where, argv)
    env = CLEAN_ENV if where.shell is None else dict(os.environ)
    try:
        child = spawn(full, stdout=sys.stderr.fileno(), env=env)
    except ToolError as error:
        raise fail(PREPARE, str(error), place=name, remedy="Is that command installed here?") from None
    try:
        code = child.wait(None)
    finally:
        child.end()
    if code != 0:
        refresh = INSTALLERS[family_of(distribution)].refresh
        raise fail(PREPARE, f"the command on {name} ended with {code}; its output is above", place=name, exit=Exit.REFUSED,
                   remedy=f"If it does not find a package: `{refresh}` there, then again.")  # fmt: skip


def _on(args: Namespace) -> str:
    return f" --on {clean(args.on)}" if args.on else ""


COMMANDS: Final = {"prepare": (add_arguments, prepare_command)}
