"""Space for what a run writes on each of its hosts: journal and result, and the files of fio on hosts that load."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from raidtui.base.paths import state_folder
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal
from raidtui.model.units import size_text

NO_SPACE: Final = Refusal(
    "no-space",
    "Too little space for the run's files",
    "The filesystem in which raidtui keeps journals and results has too little free space, or ran full while the run was "
    "going on. A run that has not begun is refused; one that is going on ends, and everything is taken down.",
    "Make space on the host that the message names (`df /var/lib/raidtui`), then run it again.",
)
LEAST_BYTES: Final = 64 << 20
"""Free space without which no run begins: the journal's reserve, and some hours of live numbers."""
THIS: Final = "the storage server"
FULL: Final = (errno.ENOSPC, errno.EDQUOT)


def free_bytes(folder: Path) -> int | None:
    """Return the space that this user can have in the filesystem of a folder; None if that cannot be told."""
    try:
        room = os.statvfs(folder)
    except OSError:
        return None
    return room.f_bavail * room.f_frsize


def too_little(host: str, folder: str, free: int | None) -> Problem | None:
    """Return why a run cannot begin on a host; None if there is space enough, or nobody knows."""
    if free is None or free >= LEAST_BYTES:
        return None
    text = f"{host} has {size_text(free)} free in {folder}, and a run needs {size_text(LEAST_BYTES)} there"
    return NO_SPACE.problem(text, place=folder, exit=Exit.REFUSED, remedy=NO_SPACE.way_out)


def known() -> tuple[str, int | None]:
    """Return the folder of this host's journals, and the space there."""
    try:
        folder = state_folder()
    except OSError as error:
        return error.filename or "/var/lib/raidtui", 0 if error.errno in FULL else None
    return str(folder), free_bytes(folder)


def here(host: str) -> Problem | None:
    """Return why a run cannot begin on this host, for want of space."""
    return too_little(host, *known())


def ran_full(host: str, folder: Path) -> Problem:
    """Return why a run ends on a host whose journal found no space any more."""
    text = f"the filesystem of {folder} on {host} ran full: the run ended there"
    return NO_SPACE.problem(text, place=str(folder), exit=Exit.INVALID, remedy=NO_SPACE.way_out)


@contextmanager
def told(host: str, folder: Path) -> Iterator[None]:
    """Raise ProblemError (`no-space`) for an OSError that says that the filesystem of a run's folder is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise ProblemError(ran_full(host, folder)) from error
