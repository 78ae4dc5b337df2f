"""Taking an array away: found by its UUID, in whatever state it is, and proven gone from every device.

It may be run at any time and any number of times: after a creation that died half-way, with members kicked out or
unplugged, with the array running, inactive, or stopped long ago. Nothing that carries another UUID is touched.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack import blockdev
from raidtui.stack.action import Outcome
from raidtui.stack.context import Context
from raidtui.stack.md import kernel, superblock
from raidtui.stack.md.command import node_path
from raidtui.stack.md.devices import Device, present_devices
from raidtui.stack.nodes import users_of
from raidtui.stack.undoing import await_makers, is_there, lend, may_erase, open_for_writing, until_gone

BUSY_PATIENCE_S: Final = 15.0
NODE_PATIENCE_S: Final = 5.0
_MARKS: Final = Path("/run/mdadm")


def teardown(context: Context, args: dict[str, Any]) -> Outcome:
    """Stop the array and take its superblocks off its devices.

    Facts: `stopped` (kernel names), `erased` and `missing` (references). Raises ProblemError (exit 6): `md-busy`,
    `left-behind`, `stuck`.
    """
    uuid: str = args["uuid"]
    await_makers(lambda: kernel.makers(uuid), "md-busy", "is still creating the array", args["name"])
    _remove_dead_marks(uuid)
    commands: list[Argv] = []
    stopped: list[str] = []
    erased: list[str] = []
    missing: list[str] = []

    def attempt() -> str:
        for name in kernel.find(uuid):
            commands.extend(_stop(name, args))
            stopped.append(name)
        devices, missing[:] = present_devices(context, args)
        trouble = _erase_all(context, uuid, devices, erased, commands)
        return trouble or ("it keeps coming back" if kernel.find(uuid) else "")

    until_gone(attempt, "the array", args["name"])
    for name in dict.fromkeys(stopped):
        _drop_shell(name)
    if stopped:
        _wait_for_link(Path(node_path(args["name"])))
    context.built.pop(args["ref"], None)
    result = "undone" if stopped or erased else "nothing to do"
    return Outcome(result, {"stopped": stopped, "erased": erased, "missing": missing}, tuple(commands))


def _stop(name: str, args: dict[str, Any]) -> tuple[Argv, ...]:
    """Stop one array; being looked at by udev is waited for, being used is not."""
    named = node_path(args["name"])
    path = named if os.path.realpath(named) == f"/dev/{name}" else f"/dev/{name}"
    until = 0.0
    while True:
        try:
            commands = blockdev.call("mdraid", "md_deactivate", path).commands
        except blockdev.CallFailed as error:
            until = until or time.monotonic() + BUSY_PATIENCE_S
            if kernel.array_uuid(name) != args["uuid"]:
                return error.commands
            if error.problems[0].code == "stuck" or time.monotonic() > until:
                users = "; ".join(users_of(name)) or error.problems[0].message
                raise fail("md-busy", f"the array cannot be stopped: {users}", place=path,
                           remedy="End that use, then: raidtui recover", exit=Exit.LEFT_BEHIND) from error  # fmt: skip
            time.sleep(0.3)
            continue
        _wait_until_gone(name, args["uuid"])
        _remove_mark(name)
        return commands


def _wait_until_gone(name: str, uuid: str) -> None:
    """Until the kernel has dropped the node as well, which takes as long as udev still looks at it."""
    until = time.monotonic() + NODE_PATIENCE_S
    while kernel.folder(name).is_dir() and time.monotonic() < until:
        if kernel.exists(name) and kernel.array_uuid(name) != uuid:
            return  # another array has the name by now
        time.sleep(0.05)


def _drop_shell(name: str) -> None:
    """Have the kernel drop a node that was opened by name in the moment after its array was stopped.

    Such an open makes the md driver create the device anew: without members, without content, and for good until somebody
    stops it (drivers/md/md.c, create_on_open). One that a program holds open, because it is creating an array, stays.
    """
    until = time.monotonic() + NODE_PATIENCE_S
    while kernel.is_shell(name) and time.monotonic() < until:
        with suppress(ProblemError):
            blockdev.call("mdraid", "md_deactivate", f"/dev/{name}")
        time.sleep(0.1)


def _wait_for_link(link: Path) -> None:
    """Until udev has taken the array's name away. One that it forgot, and that leads nowhere, goes without it."""
    until = time.monotonic() + NODE_PATIENCE_S
    while link.is_symlink() and not kernel.exists(link.resolve().name):
        _drop_shell(link.resolve().name)
        if time.monotonic() > until:
            with suppress(OSError):
                link.unlink()
            return
        time.sleep(0.05)


def _remove_dead_marks(uuid: str) -> None:
    """Marks of this array, and of any that never came to be: mdadm sets one before anything says which array it is for.

    While any mdadm is at work, a mark without an array may be its own, and stays.
    """
    ours = {name for name, found in kernel.read_map() if found == uuid}
    nobody_works = not kernel.workers()
    for mark in _MARKS.glob("creating-*"):
        name = mark.name.removeprefix("creating-")
        if nobody_works or name in ours:
            _remove_mark(name)


def _remove_mark(name: str) -> None:
    """An mdadm that was killed while creating leaves a mark behind, for which udev would ignore the next array there."""
    if not kernel.exists(name):
        with suppress(OSError):
            (_MARKS / f"creating-{name}").unlink()


def _erase_all(context: Context, uuid: str, devices: list[Device], erased: list[str], commands: list[Argv]) -> str:
    """Take this UUID's superblocks off; what still has one afterwards, and why, or nothing."""
    trouble = []
    for device in devices:
        try:
            found = superblock.read(device.path)
            ours = [one for one in found if one.uuid == uuid]
            if not ours or not may_erase(context, device.ref):
                continue
            commands += _erase(context, device, uuid, found)
            if any(one.uuid == uuid for one in superblock.read(device.path)):
                trouble.append(f"{device.path} still has its superblock")
            else:
                erased.append(device.ref)
        except (ProblemError, OSError) as error:
            if is_there(context, device.ref, device.path):
                trouble.append(f"{device.path}: {error}")
    return "; ".join(trouble)


def _erase(context: Context, device: Device, uuid: str, found: tuple[superblock.Superblock, ...]) -> tuple[Argv, ...]:
    """By mdadm where every superblock on the device is ours; it would take others' off as well."""
    commands: tuple[Argv, ...] = ()
    if all(one.uuid == uuid for one in found):
        try:
            with lend(context, device.ref):
                commands = blockdev.call("mdraid", "md_destroy", device.path).commands
        except blockdev.CallFailed as error:
            commands = error.commands
    for one in superblock.read(device.path):
        if one.uuid == uuid:
            fd = open_for_writing(context, device.ref, device.path)
            try:
                superblock.erase(fd, one)
            finally:
                os.close(fd)
    return commands
