"""An export whose other end is another host: the storage server offers the devices, the host connects to them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raidtui.inventory.udev import wait_for_udev
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack.action import Outcome
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context
from raidtui.stack.exports import MISSING, NODE_TIMEOUT_S, await_nodes, await_unused, check, load_modules, size_bytes
from raidtui.stack.nodes import devno
from raidtui.stack.nvmeof import initiator, target
from raidtui.stack.nvmeof.plan import INITIATOR_MODULE, TARGET_MODULES, device_path, disconnect_argv
from raidtui.stack.nvmeof.spec import Export
from raidtui.stack.read_back import Difference
from raidtui.stack.teardown import until_gone


def offer(context: Context, export: Export) -> Outcome:
    """Export the devices to one host, and read it back. Raises ProblemError; what was made until then is removed."""
    context.stop_if_cancelled()
    paths = {one.on: context.path(one.on) for one in export.devices}
    context.about_to_write(export.disks)
    commands = load_modules(TARGET_MODULES)
    if not target.NVMET.is_dir():
        raise fail(MISSING, f"{target.NVMET} does not exist", place=export.name, remedy=MISSING.way_out, exit=Exit.REFUSED)
    try:
        commands += bounded(lambda: target.make(export, paths), "configuring the NVMe target", to_the_end=True)
        facts = _offered(context, export)
    except ProblemError:
        bounded(lambda: target.remove(export), "removing the export", to_the_end=True)
        raise
    return Outcome("created", facts, tuple(commands))


def _offered(context: Context, export: Export) -> dict[str, Any]:
    """Return the export as it is. Raises ProblemError (`read-back`) if it is not as asked."""
    found = bounded(lambda: target.read(export), "asking the target")
    wrong = [
        Difference("device", context.path(one.on), path)
        for one, path in zip(export.devices, target.backing_paths(export), strict=True)
        if path is None or os.path.realpath(path) != os.path.realpath(context.path(one.on))
    ]
    return check(export.name, target.asked(export), found, wrong)


def offer_health(context: Context, export: Export) -> tuple[str, ...]:
    try:
        _offered(context, export)
    except ProblemError as error:
        return (error.problems[0].message,)
    return ()


def members(context: Context, export: Export) -> Mapping[str, str]:
    """Return the kernel names of the exported devices."""
    below = (Path(os.path.realpath(context.path(one.on))).name for one in export.devices)
    return {node: "member" for node in below if devno(node) is not None}


def withdraw(context: Context, export: Export) -> Outcome:
    """Remove the export, which ends every connection to it. Raises ProblemError (`left-behind`, `stuck`)."""
    commands: list[Argv] = []

    def attempt() -> str:
        done, trouble = bounded(lambda: target.remove(export), "removing the export", to_the_end=True)
        commands.extend(done)
        return trouble or ("the export still exists" if target.exists(export) else "")

    until_gone(attempt, "the export", export.name)
    context.hold([disk for one in export.devices if (disk := context.disk_of(one.on)) is not None])
    return Outcome("undone" if commands else "nothing to do", {}, tuple(commands))


def connect(context: Context, export: Export) -> Outcome:
    """Connect to the export of the storage server. Raises ProblemError; a connection made until then is ended."""
    context.stop_if_cancelled()
    commands = load_modules((INITIATOR_MODULE,))
    made = not initiator.controllers(export)
    try:
        if made:
            commands += context.builder.call("nvmeof.connect", planned=export).commands
        facts = _connected(export)
    except ProblemError:
        initiator.disconnect(export)
        raise
    wait_for_udev(facts["devices"], NODE_TIMEOUT_S)
    for one, node in zip(export.devices, facts["devices"], strict=True):
        link = device_path(one)
        context.built[one.ref] = link if os.path.realpath(link) == f"/dev/{node}" else f"/dev/{node}"
    return Outcome("created" if made else "already there", facts, tuple(commands))


def _connected(export: Export) -> dict[str, Any]:
    """Return the connection as it is. Raises ProblemError (`read-back`, `export-not-there`)."""
    nodes = await_nodes(lambda: initiator.nodes(export), export)
    found = {"connection": initiator.read(export), "devices": nodes, "sizes_bytes": [size_bytes(node) for node in nodes]}
    asked = {"connection": initiator.asked(export), "sizes_bytes": [one.size_bytes for one in export.devices]}
    return check(export.name, asked, found)


def connection_health(context: Context, export: Export) -> tuple[str, ...]:
    try:
        _connected(export)
    except ProblemError as error:
        return (error.problems[0].message,)
    return ()


def disconnect(context: Context, export: Export) -> Outcome:
    """End the connection: any number of times. Raises ProblemError (`export-busy`, `left-behind`, `stuck`)."""
    commands: list[Argv] = []

    def attempt() -> str:
        await_unused(lambda: initiator.nodes(export), export.name)
        if initiator.disconnect(export):
            commands.append(disconnect_argv(export))
        still = initiator.controllers(export) or any(initiator.nodes(export))
        return "the kernel still has the connection" if still else ""

    until_gone(attempt, "the connection", export.name)
    for one in export.devices:
        context.built.pop(one.ref, None)
    return Outcome("undone" if commands else "nothing to do", {}, tuple(commands))
