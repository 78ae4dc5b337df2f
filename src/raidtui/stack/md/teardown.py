"""Teardown of an array: found by its UUID in any state, and verified to be gone from every device.

It may be run at any time and any number of times: after a creation that was interrupted, with members failed or
unplugged, with the array running, inactive, or stopped. Nothing with another UUID is touched.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.calls import CallFailed
from raidtui.stack.context import Context
from raidtui.stack.md import kernel, superblock
from raidtui.stack.md.plan import node_path
from raidtui.stack.md.spec import MdArray
from raidtui.stack.md.verify import present_devices
from raidtui.stack.nodes import users_of
from raidtui.stack.teardown import Device, await_makers, erase_marks, lend, open_for_writing, until_gone

BUSY_PATIENCE_S: Final = 15.0
NODE_PATIENCE_S: Final = 5.0
_MARKS: Final = Path("/run/mdadm")

BUSY: Final = Refusal(
    "md-busy",
    "The array is in use",
    "The array cannot be stopped because something uses it. The message names the users.",
    "End that use. When the cause is gone, `raidtui recover` removes the rest; it may be run any number of times.",
)


def teardown(context: Context, array: MdArray) -> Outcome:
    """Stop the array and erase its superblocks.

    Facts: `stopped` (kernel names), `erased` and `missing` (references). Raises ProblemError (exit 6): `md-busy`,
    `left-behind`, `stuck`.
    """
    uuid = array.uuid
    await_makers(lambda: kernel.makers(uuid), BUSY, "is still creating the array", array.name)
    _remove_dead_marks(uuid)
    commands: list[Argv] = []
    stopped: list[str] = []
    erased: list[str] = []
    missing: list[str] = []

    def is_ours(device: Device) -> bool:
        return any(one.uuid == uuid for one in superblock.read(device.path))

    def erase(device: Device) -> None:
        commands.extend(_erase(context, device, uuid))

    def attempt() -> str:
        for name in kernel.find(uuid):
            commands.extend(_stop(context, name, array))
            stopped.append(name)
        devices, missing[:] = present_devices(context, array)
        trouble = erase_marks(context, devices, is_ours, erase, "its superblock", erased)
        return trouble or ("it is assembled again and again" if kernel.find(uuid) else "")

    until_gone(attempt, "the array", array.name)
    for name in dict.fromkeys(stopped):
        _drop_shell(context, name, array)
    if stopped:
        _wait_for_link(context, Path(node_path(array.name)), array)
    context.built.pop(array.ref, None)
    result = "undone" if stopped or erased else "nothing to do"
    return Outcome(result, {"stopped": stopped, "erased": erased, "missing": missing}, tuple(commands))


def _stop(context: Context, name: str, array: MdArray) -> tuple[Argv, ...]:
    """Stop one array; wait if udev has it open, but not if it is in use."""
    named = node_path(array.name)
    path = named if os.path.realpath(named) == f"/dev/{name}" else f"/dev/{name}"
    until = 0.0
    while True:
        try:
            commands = context.builder.call("md.stop", array=array, path=path).commands
            break
        except CallFailed as error:
            until = until or time.monotonic() + BUSY_PATIENCE_S
            if kernel.array_uuid(name) != array.uuid:
                return error.commands
            if error.problems[0].code == "stuck" or time.monotonic() > until:
                users = "; ".join(users_of(name)) or error.problems[0].message
                raise fail(BUSY, f"the array cannot be stopped: {users}", place=path,
                           remedy="End that use, then: raidtui recover", exit=Exit.LEFT_BEHIND) from error  # fmt: skip
            time.sleep(0.3)
    # The kernel keeps the node until udev closes it; meanwhile another array may get the name.
    until = time.monotonic() + NODE_PATIENCE_S
    while kernel.folder(name).is_dir() and time.monotonic() < until:
        if kernel.exists(name) and kernel.array_uuid(name) != array.uuid:
            break
        time.sleep(0.05)
    _remove_mark(name)
    return commands


def _drop_shell(context: Context, name: str, array: MdArray) -> None:
    """Stop an empty device that was opened by name right after its array was stopped.

    Such an open makes the md driver create the device again, without members, until it is stopped
    (drivers/md/md.c, create_on_open). A device that a program holds open, because it is creating an array, stays.
    """
    until = time.monotonic() + NODE_PATIENCE_S
    while kernel.is_shell(name) and time.monotonic() < until:
        with suppress(ProblemError):
            context.builder.call("md.stop", array=array, path=f"/dev/{name}")
        time.sleep(0.1)


def _wait_for_link(context: Context, link: Path, array: MdArray) -> None:
    """Wait until udev has removed the link of the array; remove a dangling link that udev forgot."""
    until = time.monotonic() + NODE_PATIENCE_S
    while link.is_symlink() and not kernel.exists(link.resolve().name):
        _drop_shell(context, link.resolve().name, array)
        if time.monotonic() > until:
            with suppress(OSError):
                link.unlink()
            return
        time.sleep(0.05)


def _remove_dead_marks(uuid: str) -> None:
    """Remove the `creating` marks of this array and of arrays that do not exist; a mark does not tell its array's UUID.

    While any mdadm works, a mark without an array may belong to it, and stays.
    """
    ours = {name for name, found in kernel.read_map() if found == uuid}
    nobody_works = not kernel.workers()
    for mark in _MARKS.glob("creating-*"):
        name = mark.name.removeprefix("creating-")
        if nobody_works or name in ours:
            _remove_mark(name)


def _remove_mark(name: str) -> None:
    """Remove the mark of an mdadm that was killed while creating; udev would ignore the next array of this name."""
    if not kernel.exists(name):
        with suppress(OSError):
            (_MARKS / f"creating-{name}").unlink()


def _erase(context: Context, device: Device, uuid: str) -> tuple[Argv, ...]:
    """Erase by mdadm only if all superblocks of the device have this UUID, because mdadm erases them all."""
    commands: tuple[Argv, ...] = ()
    if all(one.uuid == uuid for one in superblock.read(device.path)):
        try:
            with lend(context, device.ref):
                commands = context.builder.call("md.erase", path=device.path).commands
        except CallFailed as error:
            commands = error.commands
    for one in superblock.read(device.path):
        if one.uuid == uuid:
            fd = open_for_writing(context, device.ref, device.path)
            try:
                superblock.erase(fd, one)
            finally:
                os.close(fd)
    return commands
