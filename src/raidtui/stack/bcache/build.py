"""Making a cached device: superblocks with the planned UUIDs, registered with the kernel, checked to be what was meant."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from raidtui.inventory.waiting import require_disk_lock
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.bcache import kernel, superblock
from raidtui.stack.bcache.command import (
    LOAD,
    REGISTER,
    make_argv,
    name_argv,
    node_path,
    run,
    set_path,
    settings,
    tune_argvs,
    write,
    write_argv,
)
from raidtui.stack.bcache.rules import MISSING, NOT_THERE
from raidtui.stack.bcache.spec import BcacheDevice
from raidtui.stack.bcache.teardown import stop, teardown
from raidtui.stack.bcache.verify import Device, all_devices, look, member_differences, mismatch
from raidtui.stack.calls import TOOL_FAILED, bounded
from raidtui.stack.context import Context
from raidtui.stack.teardown import lend, open_for_writing

NODE_TIMEOUT_S: Final = 30.0
OPEN_PATIENCE_S: Final = 20.0
_PAUSE_S: Final = 0.05


def create(context: Context, cached: BcacheDevice) -> Outcome:
    """Make both superblocks, register both devices, and check that they became the intended device.

    Raises ProblemError. When it came out otherwise, it is taken down again first.
    """
    context.stop_if_cancelled()
    devices = all_devices(context, cached)
    if kernel.set_folder(cached).is_dir() and (kernel.set_folder(cached) / "bdev0").exists():
        return Outcome("already there", _take(context, cached, devices))
    context.about_to_write(cached.disks)
    commands: list[Argv] = []
    try:
        commands.append(_load())
        for role in ("cache", "backing"):
            commands.append(_make(context, devices[role], cached))
        for role in ("cache", "backing"):
            with lend(context, devices[role].ref):
                commands.append(_register(devices[role]))
        folder = kernel.set_folder(cached)
        _wait(lambda: (folder / "bdev0/dev").exists() and (folder / "cache0").exists(), NOT_THERE,
              "both devices were registered, and did not find each other")  # fmt: skip
        if cached.data_offset_bytes is not None:
            commands.append(_name(cached))
        facts = _take(context, cached, devices)
    except (ProblemError, OSError) as error:
        # What went wrong is what the operator has to read; the block's teardown runs and tells if this was not enough.
        with suppress(ProblemError):
            teardown(context, cached)
        if isinstance(error, ProblemError):
            raise
        raise fail(NOT_THERE, f"the devices cannot be made ready: {error}", place=cached.name,
                   remedy="Look at dmesg.", exit=Exit.BUILD_FAILED) from error  # fmt: skip
    return Outcome("created", facts, tuple(commands))


def tune(context: Context, cached: BcacheDevice) -> Outcome:
    """Set every option that is set after creation. Raises ProblemError (`tool-failed`) for one that the kernel refuses."""
    context.stop_if_cancelled()
    for file, value in settings(cached).items():
        try:
            write(set_path(cached, file), value)
        except OSError as error:
            raise fail(TOOL_FAILED, f"the kernel refuses {value} for {file}: {error.strerror}", place=cached.name,
                       remedy="Look at dmesg.", exit=Exit.BUILD_FAILED) from error  # fmt: skip
    return Outcome("done", {}, tune_argvs(cached))


def _load() -> Argv:
    try:
        command = run(LOAD)
    except ProblemError as error:
        raise fail(MISSING, f"the kernel has no bcache: {error.problems[0].message}",
                   remedy="Install the distribution's full kernel (linux-image-amd64).",
                   exit=Exit.REFUSED) from error  # fmt: skip
    _wait(Path(REGISTER).exists, MISSING, "the module bcache was loaded, and is not there")
    return command


def _make(context: Context, device: Device, cached: BcacheDevice) -> Argv:
    """Make one superblock, and give it its UUID before the kernel takes it."""
    with _without_udev(device):
        with lend(context, device.ref):
            command = run(make_argv(cached, device.role, device.path))
        until = time.monotonic() + OPEN_PATIENCE_S
        while True:
            try:
                fd = open_for_writing(context, device.ref, device.path)
                break
            except (ProblemError, OSError):
                # udev looks at devices of md and device-mapper whoever holds their lock, and registers them.
                if time.monotonic() > until:
                    raise
                for one in kernel.ours(cached):
                    with suppress(OSError):
                        stop(one)
                time.sleep(_PAUSE_S)
        try:
            superblock.stamp(fd, device.uuid)
        except ValueError as error:
            raise fail(NOT_THERE, f"make-bcache left {error} on {device.path}", place=cached.name,
                       remedy="This make-bcache works in another way.", exit=Exit.BUILD_FAILED) from error  # fmt: skip
        finally:
            os.close(fd)
    return command


@contextmanager
def _without_udev(device: Device) -> Iterator[None]:
    """udev leaves a disk alone while someone holds this lock; it may itself be looking at the disk just now."""
    fd = os.open(device.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        require_disk_lock(fd, device.path, Exit.BUILD_FAILED)
        yield
    finally:
        os.close(fd)


def _register(device: Device) -> Argv:
    """Hand the device to the kernel; udev does the same, and whoever comes second is told that it is busy."""
    until = time.monotonic() + NODE_TIMEOUT_S
    while not (kernel.SYS_BLOCK / device.name / "bcache").is_dir():
        try:
            write(REGISTER, device.path)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EINVAL) or time.monotonic() > until:
                text = f"the kernel does not take {device.path}: {error.strerror}"
                raise fail(NOT_THERE, text, place=device.path, remedy="Look at dmesg.",
                           exit=Exit.BUILD_FAILED) from error  # fmt: skip
        time.sleep(_PAUSE_S)
        if time.monotonic() > until:
            raise fail(NOT_THERE, f"the kernel did not take {device.path}", place=device.path,
                       remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)  # fmt: skip
    return write_argv(REGISTER, device.path)


def _take(context: Context, cached: BcacheDevice, devices: dict[str, Device]) -> dict[str, Any]:
    """Return the facts of the device after a check of the devices below it. Raises ProblemError (`read-back`)."""
    found = look(cached)
    if wrong := member_differences(devices, found):
        raise mismatch(cached.name, wrong)
    link, path = node_path(cached.backing.uuid), f"/dev/{found['device']}"
    until = time.monotonic() + NODE_TIMEOUT_S
    while os.path.realpath(link) != path and time.monotonic() < until:
        time.sleep(_PAUSE_S)
    if os.path.realpath(link) == path:  # without udev there are no names
        path = link
    context.built[cached.ref] = path
    return {"kernel_name": found["device"], "uuid": cached.uuid, "path": path}


def _name(cached: BcacheDevice) -> Argv:
    """Name the device as udev would: bcache-tools' rules keep a name for version 1 of the superblock alone.

    Version 4, with the data at an offset, has its name until the next event: that one is made to come first.
    """
    node = f"/dev/{look(cached)['device']}"
    run(("udevadm", "trigger", "--settle", node))
    link_to(node, Path(node_path(cached.backing.uuid)))
    return name_argv(cached)


def link_to(node: str, link: Path) -> None:
    """Make `link` a symbolic link to `node`, in one step where it exists already."""
    link.parent.mkdir(parents=True, exist_ok=True)
    fresh = link.with_name(f".{link.name}.raidtui")
    with suppress(FileNotFoundError):
        fresh.unlink()
    fresh.symlink_to(node)
    fresh.replace(link)


def _wait(there: Any, code: Refusal, text: str) -> None:
    until = time.monotonic() + NODE_TIMEOUT_S
    while not bounded(there, "asking bcache"):
        if time.monotonic() > until:
            raise fail(code, text, remedy="Look at dmesg.", exit=Exit.BUILD_FAILED)
        time.sleep(_PAUSE_S)
