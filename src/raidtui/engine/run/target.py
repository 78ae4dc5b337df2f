"""The target of one cell, held open while it is measured, and the devices of its layout."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from raidtui.engine.step_args import CellRun, Precondition, WorkloadRun, common_args
from raidtui.gate.permit import Permit
from raidtui.load.engine import FIRST_TARGET_FD, NO_FD, Target, TargetDevice
from raidtui.model.plan import Step
from raidtui.model.problem import Exit, Refusal, fail
from raidtui.stack import mounts
from raidtui.stack.action import BoundAction
from raidtui.stack.context import Context

TARGET: Final = Refusal(
    "target",
    "The target could not be opened",
    "The target could not be opened as the expected device or directory, or another program uses it.",
    "Look at dmesg and at its users (lsof, fuser); then run the cell again (--layout, --workload).",
)

CELL_FOLDER: Final = "cell"
"""Name of a cell's folder in the measured directory."""

_RELEASE_PATIENCE_S: Final = 30.0
"""Time that a device which lost a disk may take to be closed, in seconds."""

_reserved: Final[set[int]] = set()


@contextmanager
def open_target(args: WorkloadRun | Precondition, context: Context) -> Iterator[Target]:
    """Open the target of a step under the planned descriptor numbers; an image is opened by the tool alone."""
    if args.kind == "image":
        yield Target(tuple(TargetDevice(NO_FD, context.path(ref), args.size_bytes) for ref in args.refs), "image")
        return
    opened = _open_folder if args.kind == "directory" else _open_devices
    with opened(args, context) as target:
        yield target


@contextmanager
def _open_devices(args: WorkloadRun | Precondition, context: Context) -> Iterator[Target]:
    """Hold the devices for ourselves (O_EXCL: nothing else can mount, stop or claim them).

    One that came out a little larger than planned is used up to its planned size: what was shown is what runs.
    """
    refs = args.refs
    devices: list[TargetDevice] = []
    context.about_to_write([disk for ref in refs if (disk := context.disk_of(ref)) is not None])
    try:
        for index, ref in enumerate(refs):
            wanted = _as_number(_open(ref, context), FIRST_TARGET_FD + index)
            info = os.fstat(wanted)
            name = Path(f"/sys/dev/block/{os.major(info.st_rdev)}:{os.minor(info.st_rdev)}").resolve().name
            size_bytes = min(os.lseek(wanted, 0, os.SEEK_END), args.size_bytes)
            devices.append(TargetDevice(wanted, name, size_bytes))
            if not stat.S_ISBLK(info.st_mode) or wanted != FIRST_TARGET_FD + index:
                raise fail(TARGET, f"{ref} is not a block device that can be pinned", place=ref, exit=Exit.INVALID)
        yield Target(tuple(devices))
    finally:
        for device in devices:
            _give_back(device.fd, context.permits.values())


@contextmanager
def _open_folder(args: WorkloadRun | Precondition, context: Context) -> Iterator[Target]:
    """A folder of the cell's own in the mounted filesystem, which cannot be unmounted meanwhile.

    What was laid out for the cell before is kept; whatever else lies there is removed, and all of it after the measuring.
    Raises ProblemError (`mount`) when it is not, or does not stay, the filesystem that was mounted.
    """
    (ref,) = args.refs
    measures = isinstance(args, CellRun)
    path = context.path(ref)
    root = mounts.open_root(path)
    try:
        if not (isinstance(args, CellRun) and args.laid_out):
            _remove(root)
            os.mkdir(CELL_FOLDER, 0o700, dir_fd=root)
        folder = _as_number(os.open(CELL_FOLDER, mounts.FOLDER_FLAGS, dir_fd=root), FIRST_TARGET_FD)
        try:
            if folder != FIRST_TARGET_FD:
                raise fail(TARGET, f"{ref} cannot be pinned", place=ref, exit=Exit.INVALID)
            room = os.fstatvfs(root)
            size_bytes = min(room.f_blocks * room.f_frsize, args.size_bytes, context.rooms.get(ref, args.size_bytes))
            yield Target((TargetDevice(folder, path, size_bytes),), "directory")
        finally:
            _give_back(folder, context.permits.values())
        mounts.insist(root, path)
        # A filesystem that lost a disk may never answer again; what lies in it goes with the disks being made blank.
        if measures and _all_alive(context.permits.values()):
            _remove(root)
    finally:
        os.close(root)


def _remove(root: int) -> None:
    """Remove the cell's folder; nothing outside the filesystem can be reached by what lies in it."""
    try:
        shutil.rmtree(CELL_FOLDER, dir_fd=root)
    except FileNotFoundError:
        return
    os.fsync(root)


def reserve(count: int) -> None:
    """Keep the planned numbers free of everything else: who watches threads has a file open for each of them.

    To be called once, before anything else of the process opens many files.
    """
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    for number in range(FIRST_TARGET_FD, FIRST_TARGET_FD + count):
        got = fcntl.fcntl(null, fcntl.F_DUPFD_CLOEXEC, number)
        if got == number:
            _reserved.add(number)
        else:
            os.close(got)
    os.close(null)


def _as_number(fd: int, number: int) -> int:
    """The descriptor under this number, or the next one that is free where it was not reserved."""
    try:
        if number in _reserved:
            return os.dup2(fd, number, inheritable=False)
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, number)
    finally:
        os.close(fd)


def _give_back(number: int, permits: Collection[Permit]) -> None:
    """Close it; a reserved number stays reserved.

    The kernel lets go of a device when what was written reached its disks, which is waited for. Where one of those is
    lost it may never be (a ZFS volume whose pool hangs), so that another thread waits then, and the run goes on.
    """
    last = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 0)
    if number in _reserved:
        null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        os.dup2(null, number, inheritable=False)
        os.close(null)
    else:
        os.close(number)
    closing = threading.Thread(target=os.close, args=(last,), daemon=True)
    closing.start()
    until = time.monotonic() + _RELEASE_PATIENCE_S
    while closing.is_alive() and (_all_alive(permits) or time.monotonic() < until):
        closing.join(1.0)


def _all_alive(permits: Collection[Permit]) -> bool:
    return all(permit.alive() for permit in permits)


def _open(ref: str, context: Context) -> int:
    if context.disk_of(ref) is not None:
        return context.open_for_writing(ref)
    return os.open(context.path(ref), os.O_RDWR | os.O_EXCL | os.O_CLOEXEC | os.O_NONBLOCK)


class Family(NamedTuple):
    """Devices by kernel name."""

    devices: dict[str, str]
    """Role of each device: `target` (nothing of the layout stands on it), `member`, `journal`, `spare`, …"""
    parents: dict[str, str]
    """The device that it is a member of, if that is a single one."""


def family_of(steps: Iterable[Mapping[str, str]]) -> Family:
    """Combine the members that each built step reports (`Action.members`), lowest layer first."""
    devices: dict[str, str] = {}
    parents: dict[str, str] = {}
    for members in steps:
        made = [name for name, role in members.items() if role == "target"]
        for name, role in members.items():
            if role == "target":
                devices.setdefault(name, role)
                continue
            # An array below another one becomes its member; a disk that is measured alone stays a target.
            devices[name] = role
            if len(made) == 1:
                parents[name] = made[0]
    return Family(devices, parents)


def family_of_step(step: Step, disks: Mapping[str, str], built: Sequence[BoundAction], context: Context) -> Family:
    """Return the devices of a step's layout. `disks`: kernel names of the run's disks by id."""
    args = common_args(step)
    loaded = [ref.removeprefix("disk:") for ref in args.refs if ref.startswith("disk:")]
    measured = {disks[disk]: "target" for disk in loaded if disk in disks}  # the others are those of another host
    # Disks that are measured one by one are independent of each other.
    layers = built if not args.part else []
    family = family_of([measured, *(action.members(context) for action in layers)])
    return family._replace(parents={**family.parents, **below_partitions(family.devices)})


def below_partitions(devices: Collection[str], sys_block: Path = Path("/sys/class/block")) -> dict[str, str]:
    """Return the partition on a disk, by the disk, if both are among these devices and it is the only one."""
    on: dict[str, list[str]] = {}
    for name in devices:
        folder = (sys_block / name).resolve()
        if (folder / "partition").exists():
            on.setdefault(folder.parent.name, []).append(name)
    return {disk: parts[0] for disk, parts in on.items() if len(parts) == 1 and disk in devices}
