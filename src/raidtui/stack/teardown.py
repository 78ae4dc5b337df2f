"""Helpers for the teardown of layers: waiting, opening and holding the devices below."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeVar

from raidtui.base.attention import Watch, work_of
from raidtui.base.silence import Silent
from raidtui.model.problem import Exit, Problem, ProblemError, Refusal, fail
from raidtui.stack.context import Context


class Located(Protocol):
    """A device below a layer."""

    @property
    def ref(self) -> str: ...

    @property
    def path(self) -> str: ...


_Device = TypeVar("_Device")
_Marked = TypeVar("_Marked", bound=Located)

GONE_PATIENCE_S: Final = 60.0
NODE_PATIENCE_S: Final = 5.0
LONGEST_PAUSE_S: Final = 2.0

LEFT_BEHIND: Final = Refusal(
    "left-behind",
    "Something could not be removed",
    "A superblock or a device of this run still exists.",
    "When the cause is gone, `raidtui recover` removes the rest; it may be run any number of times.",
)


def found_foreign_data(problems: Iterable[Problem]) -> bool:
    """Return True if a teardown stopped at foreign data; then nothing below may be made blank either."""
    return any(problem.code.endswith("-foreign") for problem in problems)


class Device(NamedTuple):
    """A device below a layer, as it is now."""

    ref: str
    path: str
    devno: int
    role: str
    """md: `member`, `spare` or `journal`; LVM: `member` or `cache`."""
    uuid: str = ""
    """UUID of the physical volume, in LVM's notation; empty for md."""


def device_at(ref: str, role: str, path: str, uuid: str = "") -> Device:
    """Return the device with this path. Raises OSError if it does not exist."""
    return Device(ref, path, Path(path).stat().st_rdev, role, uuid)


def split_present(
    context: Context, wanted: Iterable[tuple[str, str | None, Callable[[str], _Device]]]
) -> tuple[list[_Device], list[str]]:
    """Return the devices that still exist, and the references of the missing ones.

    `wanted`: reference, planned path, and a function from path to device. The planned path is used for layers, which after
    a crash are not in `context.built`; never for disks. Callers touch such a device only if it has a UUID of the step.
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


def await_makers(makers: Callable[[], Sequence[int]], refusal: Refusal, what: str, place: str) -> None:
    """Wait for commands that a crashed runner left behind and that are still creating something.

    `makers` returns their pids; `what` is their work, for the message. Raises ProblemError (`refusal`, exit 6) if they make
    no progress.
    """
    watch = Watch(f"a command {what}", lambda: work_of(makers()))
    while found := makers():
        try:
            watch.tick()
        except Silent as silent:
            text = f"a command (pid {found[0]}) {what}, and {silent.text}"
            raise fail(refusal, text, place=place, remedy="Wait, then: raidtui recover", exit=Exit.LEFT_BEHIND) from silent
        time.sleep(0.1)


def until_gone(attempt: Callable[[], str], what: str, place: str) -> None:
    """Repeat the attempt until nothing is left, because udev may assemble something again just before it is removed.

    `attempt` returns what is left, or an empty text. Raises ProblemError (`left-behind`, exit 6).
    """
    until, pause_s = 0.0, 0.1
    while trouble := attempt():
        until = until or time.monotonic() + GONE_PATIENCE_S
        if time.monotonic() > until:
            raise fail(LEFT_BEHIND, f"{what} cannot be removed: {trouble}", place=place,
                       remedy="Look at dmesg, then: raidtui recover", exit=Exit.LEFT_BEHIND)  # fmt: skip
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def may_erase(context: Context, ref: str) -> bool:
    """Return True if superblocks may be erased from this device; False for a disk with foreign data.

    The disk is held from then on. Raises ProblemError (`busy`, `disk-gone`, `disk-changed`) if it cannot be held.
    """
    if (disk := context.disk_of(ref)) is None:
        return True
    if ref in context.parts:
        context.permit(disk).hold_part(context.parts[ref][1])
    else:
        context.permit(disk).hold()
    return disk not in context.taken([disk])


def erase_marks(
    context: Context,
    devices: Iterable[_Marked],
    is_marked: Callable[[_Marked], bool],
    erase: Callable[[_Marked], object],
    mark: str,
    erased: list[str],
) -> str:
    """Erase the run's marks, such as superblocks, and verify it. Return the devices that still have them, with the reason.

    `erased` gets the references of the erased devices. `mark`: `its superblock`.
    """
    trouble = []
    for device in devices:
        try:
            if not is_marked(device) or not may_erase(context, device.ref):
                continue
            erase(device)
            if is_marked(device):
                trouble.append(f"{device.path} still has {mark}")
            else:
                erased.append(device.ref)
        except (ProblemError, OSError) as error:
            if is_there(context, device.ref, device.path):
                trouble.append(f"{device.path}: {error}")
    return "; ".join(trouble)


def lend(context: Context, ref: str) -> AbstractContextManager[None]:
    """Lend a device to a tool; only disks and their partitions are held and have to be lent."""
    disk = context.disk_of(ref)
    return context.lend([] if disk is None else [disk])


def exclusive(context: Context, ref: str, fd: int) -> int:
    """Return the descriptor that holds the device exclusively; `fd` is from `open_for_writing`."""
    return context.permit(ref.removeprefix("disk:")).exclusive(fd) if ref.startswith("disk:") else fd


def open_for_writing(context: Context, ref: str, path: str) -> int:
    """Open a device exclusively; a disk or a partition only by its permit. Raises OSError (in use), ProblemError."""
    if context.disk_of(ref) is not None:
        return context.open_for_writing(ref)
    return os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)


def is_there(context: Context, ref: str, path: str) -> bool:
    """Return True if the device still exists; a disk has to be the one of its permit."""
    if not ref.startswith("disk:"):
        return Path(path).exists()
    permit = context.permits.get(ref.removeprefix("disk:"))
    return permit is not None and permit.alive()


def await_links(folder: Path, used: Callable[[], object] = lambda: False) -> None:
    """Wait until udev has removed a folder of links, unless it is `used` again; remove dangling links."""
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
