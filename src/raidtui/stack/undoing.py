"""What taking away has in common for every layer: what is awaited, for how long, and how what is below is opened."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Final, TypeVar

from raidtui.base.attention import Watch, work_of
from raidtui.base.silence import Silent
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.stack.context import Context

_Device = TypeVar("_Device")

GONE_PATIENCE_S: Final = 60.0
NODE_PATIENCE_S: Final = 5.0
LONGEST_PAUSE_S: Final = 2.0


def found_foreign_data(problems: Iterable[Problem]) -> bool:
    """Whether taking away stopped at what is somebody else's: then nothing below it may be made blank either."""
    return any(problem.code.endswith("-foreign") for problem in problems)


def split_present(
    context: Context, wanted: Iterable[tuple[str, str | None, Callable[[str], _Device]]]
) -> tuple[list[_Device], list[str]]:
    """The devices that are still there, and the references of those that are not.

    Each is wanted by its reference, the path that it was planned to have, and what makes a device of a path. The planned
    path is that of a layer below, which after a crash nobody else remembers; never of a disk. And what is found there is
    only touched if it carries a UUID that the step gave.
    """
    present: list[_Device] = []
    missing: list[str] = []
    for ref, planned, at in wanted:
        with suppress(ProblemError, OSError):
            present.append(at(context.path(ref)))
            continue
        with suppress(OSError):
            if planned and not ref.startswith("disk:"):
                present.append(at(planned))
                continue
        missing.append(ref)
    return present, missing


def await_makers(makers: Callable[[], Sequence[int]], code: str, what: str, place: str) -> None:
    """A crash of the runner may leave a command behind that is still creating: it has to end first.

    `makers`: their process ids; `what` they do goes into the message. Raises ProblemError (`code`, exit 6) when nothing
    moves any more.
    """
    watch = Watch(f"a command {what}", lambda: work_of(makers()))
    while found := makers():
        try:
            watch.tick()
        except Silent as silent:
            text = f"a command (pid {found[0]}) {what}, and {silent.text}"
            raise fail(code, text, place=place, remedy="Wait, then: raidtui recover", exit=Exit.LEFT_BEHIND) from silent
        time.sleep(0.1)


def until_gone(attempt: Callable[[], str], what: str, place: str) -> None:
    """Try again until nothing is in the way: udev may see something just before it goes, and put it together again.

    `attempt` returns what is still there, or nothing. Raises ProblemError (`left-behind`, exit 6).
    """
    until, pause_s = 0.0, 0.1
    while trouble := attempt():
        until = until or time.monotonic() + GONE_PATIENCE_S
        if time.monotonic() > until:
            raise fail("left-behind", f"{what} cannot be taken away: {trouble}", place=place,
                       remedy="Look at dmesg, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def may_erase(context: Context, ref: str) -> bool:
    """Return True where a step's signatures_left may be erased: not beside what somebody else put on a disk of the run.

    That disk is held from then on. Raises ProblemError (`busy`, `disk-gone`, `disk-changed`) where it cannot be.
    """
    if not ref.startswith("disk:"):
        return True
    disk = ref.removeprefix("disk:")
    context.permit(disk).hold()
    return disk not in context.taken([disk])


def lend(context: Context, ref: str) -> AbstractContextManager[None]:
    """Let a tool have what a layer stands on; only disks are held."""
    return context.lend([ref.removeprefix("disk:")] if ref.startswith("disk:") else [])


def exclusive(context: Context, ref: str, fd: int) -> int:
    """The descriptor that has what a layer stands on exclusively, where `fd` is from `open_for_writing`."""
    return context.permit(ref.removeprefix("disk:")).exclusive(fd) if ref.startswith("disk:") else fd


def open_for_writing(context: Context, ref: str, path: str) -> int:
    """What a layer stands on, exclusively: a disk by its permit alone. Raises OSError (in use), ProblemError."""
    if ref.startswith("disk:"):
        return context.permit(ref.removeprefix("disk:")).open_for_writing()
    return os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)


def is_there(context: Context, ref: str, path: str) -> bool:
    """Whether what a layer stands on is still there: a disk as long as it answers to its permit."""
    if not ref.startswith("disk:"):
        return Path(path).exists()
    permit = context.permits.get(ref.removeprefix("disk:"))
    return permit is not None and permit.alive()


def await_links(folder: Path, used: Callable[[], object] = lambda: False) -> None:
    """Until udev has taken a folder of names away, unless it is `used` again. Names that lead nowhere go without udev."""
    until = time.monotonic() + NODE_PATIENCE_S
    while folder.is_dir() and not used() and time.monotonic() < until:
        time.sleep(0.05)
    if not folder.is_dir() or used():
        return
    for link in folder.iterdir():
        if link.is_symlink() and not link.exists():
            with suppress(OSError):
                link.unlink()
    with suppress(OSError):
        folder.rmdir()
