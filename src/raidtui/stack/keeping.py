"""Keeping a layout for good: names that are taken, and mounts that everybody sees.

A run's own mounts are in its private namespace (`mounts.py`); a kept filesystem is mounted where the system's services are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from raidtui.inventory.mounts import read_own_mounts
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, Refusal
from raidtui.stack import mounts

NAME_TAKEN: Final = Refusal(
    "name-taken",
    "The name is taken",
    "An array, volume group or pool of that name is on the server already. Two of one name cannot both be found by it, and "
    "after a restart it would be chance which one is.",
    "Choose another name: --name NAME",
)
MOUNT_TAKEN: Final = Refusal(
    "mount-taken",
    "The mount point is in use",
    "Something is mounted there, or the folder has files in it, which the new filesystem would hide.",
    "Choose another folder: --mount PATH",
)
_EVERYBODY: Final = ("nsenter", "--target=1", "--mount")


def name_taken(what: str, name: str) -> Problem:
    """Return the problem of a name that is in use: `volume group`, `tank`."""
    return NAME_TAKEN.problem(f"there is a {what} {name} already", place="--name", exit=Exit.REFUSED,
                              remedy=NAME_TAKEN.way_out)  # fmt: skip


def mount_taken(point: str) -> Iterator[Problem]:
    """Yield why nothing can be mounted on a folder: it is a mount point, it has files, or it is no folder."""
    why = ""
    if any(mount.point == point for mount in read_own_mounts()):
        why = "something is mounted on it"
    elif Path(point).is_dir():
        with os.scandir(point) as entries:
            why = "it has files in it" if next(entries, None) is not None else ""
    elif os.path.lexists(point):
        why = "it is not a folder"
    if why:
        yield MOUNT_TAKEN.problem(f"nothing can be mounted on {point}: {why}", place="--mount", exit=Exit.REFUSED,
                                  remedy=MOUNT_TAKEN.way_out)  # fmt: skip


def for_everybody(argv: Argv) -> Argv:
    """Return the command, done in the mount namespace of the system's services."""
    return (*_EVERYBODY, *argv)


def mount_argvs(kind: str, source: str, point: str, options: Sequence[str]) -> tuple[Argv, ...]:
    """Return the commands that make a mount point and mount a filesystem on it, for everybody."""
    return (
        for_everybody(("mkdir", "-p", point)),
        for_everybody(("mount", "-t", kind, "-o", ",".join(options), source, point)),
    )


def run_all(argvs: Sequence[Argv], folder: Path) -> tuple[Argv, ...]:
    """Run commands in order; return them. Raises ProblemError."""
    return tuple(mounts.tool(argv, cwd=folder) for argv in argvs)
