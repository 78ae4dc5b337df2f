"""Exporting devices and connecting to them, read-back, health while they are measured, and the way back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from raidtui.base import proc
from raidtui.base.text import clean
from raidtui.inventory.udev import wait_for_udev
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, Refusal, fail
from raidtui.stack.action import Outcome
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context
from raidtui.stack.nodes import devno
from raidtui.stack.nvmeof import initiator, target
from raidtui.stack.nvmeof.plan import MODULES, device_path
from raidtui.stack.nvmeof.spec import Export
from raidtui.stack.read_back import Difference, mismatch
from raidtui.stack.teardown import until_gone

NODE_TIMEOUT_S: Final = 30.0
_CONFIGFS: Final = Path("/sys/kernel/config")

MISSING: Final = Refusal(
    "nvmeof-missing",
    "The kernel has no NVMe target",
    "A module of the NVMe target or of its transport cannot be loaded, or configfs is not mounted.",
    "Install the distribution's full kernel (linux-image-amd64); `mount -t configfs none /sys/kernel/config`.",
)


def create(context: Context, export: Export) -> Outcome:
    """Export the devices and connect to them. Raises ProblemError; what was made of it until then is removed first."""
    context.stop_if_cancelled()
    paths = {one.on: context.path(one.on) for one in export.namespaces}
    if initiator.controllers(export):
        return Outcome("already there", _made(context, export))
    context.about_to_write(export.disks)
    context.builder.load()
    commands: list[Argv] = []
    try:
        commands += load_modules(export)
        commands += bounded(lambda: target.make(export, paths), "configuring the NVMe target", to_the_end=True)
        commands += context.builder.call("nvmeof.connect", planned=export).commands
        initiator.await_nodes(export, NODE_TIMEOUT_S)
        facts = _made(context, export)
    except ProblemError:
        # The first problem is the one to report; the teardown of the block reports what this one could not remove.
        with suppress(ProblemError):
            teardown(context, export)
        raise
    return Outcome("created", facts, tuple(commands))


def load_modules(export: Export) -> list[Argv]:
    """Load the modules of the transport, and return the commands. Raises ProblemError (`nvmeof-missing`)."""
    modprobe = proc.find_tool("modprobe")
    commands: list[Argv] = []
    for module in MODULES[export.transport]:
        ran = proc.run([modprobe, module], check=False) if modprobe else None
        if ran is None or ran.code:
            why = clean(ran.error_text.strip()) if ran is not None else "modprobe is not installed"
            raise fail(MISSING, f"the module {module} cannot be loaded: {why}", place=export.name, remedy=MISSING.way_out,
                       exit=Exit.REFUSED)  # fmt: skip
        commands.append(("modprobe", module))
    if not target.NVMET.is_dir():
        raise fail(MISSING, f"{target.NVMET} does not exist", place=export.name, remedy=MISSING.way_out, exit=Exit.REFUSED)
    return commands


def _made(context: Context, export: Export) -> dict[str, Any]:
    """Check export and connection, record the paths in the context, and return the facts. Raises ProblemError."""
    _check(context, export)
    nodes = [initiator.the_node(one) for one in export.namespaces]
    wait_for_udev(nodes, NODE_TIMEOUT_S)
    paths = []
    for one, node in zip(export.namespaces, nodes, strict=True):
        link, path = device_path(one), f"/dev/{node}"
        paths.append(link if os.path.realpath(link) == path else path)  # without udev there are no names
        context.built[one.ref] = paths[-1]
    return {"nqn": export.nqn, "devices": nodes, "paths": paths}


def _check(context: Context, export: Export) -> dict[str, Any]:
    """Return what is read back from both sides. Raises ProblemError (`read-back`) if it is not as asked."""
    exported = bounded(lambda: target.read(export), "asking the NVMe target")
    connected = bounded(lambda: initiator.read(export), "asking the NVMe controller")
    wrong = [
        Difference(what, value, found[what])
        for asked, found in ((target.asked(export), exported), (initiator.asked(export), connected))
        for what, value in asked.items()
        if found[what] != value
    ]
    for one, path in zip(export.namespaces, target.backing_paths(export), strict=True):
        if path is None or os.path.realpath(path) != os.path.realpath(context.path(one.on)):
            wrong.append(Difference("device", context.path(one.on), path))
    if wrong:
        remedy = "This version of the kernel or of libblockdev made something else."
        raise mismatch("the export", export.name, wrong, remedy)
    return {**exported, "connection": connected}


def verify(context: Context, export: Export) -> Outcome:
    """Read export and connection back; facts are what was read. Raises ProblemError (`read-back`)."""
    return Outcome("done", _check(context, export))


def health(context: Context, export: Export) -> tuple[str, ...]:
    """Return the reasons why numbers measured now would be wrong, one sentence each."""
    try:
        _check(context, export)
    except ProblemError as error:
        return (error.problems[0].message,)
    return ()


def members(context: Context, export: Export) -> Mapping[str, str]:
    """Return the kernel names of the connected devices and of those below. Raises ProblemError (`nvmeof-not-there`)."""
    below = [Path(os.path.realpath(context.path(one.on))).name for one in export.namespaces]
    above = [initiator.the_node(one) for one in export.namespaces]
    return dict.fromkeys(above, "target") | {node: "member" for node in below if devno(node) is not None}


def teardown(context: Context, export: Export) -> Outcome:
    """Disconnect and remove the export: any number of times, after a crash too.

    Facts: `disconnected` (names of controllers). Raises ProblemError (exit 6): `nvmeof-busy`, `left-behind`, `stuck`.
    """
    commands: list[Argv] = []
    gone: list[str] = []

    def attempt() -> str:
        if names := initiator.disconnect(export):
            gone.extend(names)
            commands.append(("nvme", "disconnect", "--nqn", export.nqn))
        if initiator.controllers(export) or any(map(initiator.node_of, export.namespaces)):
            return "the kernel still has the connection"
        done, trouble = bounded(lambda: target.remove(export), "removing the export", to_the_end=True)
        commands.extend(done)
        return trouble or ("the export still exists" if target.exists(export) else "")

    until_gone(attempt, "the export", export.name)
    for one in export.namespaces:
        context.built.pop(one.ref, None)
    return Outcome("undone" if commands else "nothing to do", {"disconnected": gone}, tuple(commands))
