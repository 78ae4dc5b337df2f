"""Exporting devices and logging in to them, read-back, health while they are measured, and the way back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

from raidtui.base import proc
from raidtui.base.files import read_text
from raidtui.inventory.udev import wait_for_udev
from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, ProblemError, fail
from raidtui.stack.action import Outcome
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context
from raidtui.stack.iscsi import session
from raidtui.stack.iscsi.plan import MODULES, device_path
from raidtui.stack.iscsi.session import MISSING
from raidtui.stack.iscsi.spec import IscsiExport, Unit
from raidtui.stack.nodes import devno
from raidtui.stack.read_back import Difference, mismatch
from raidtui.stack.teardown import lend, until_gone

NODE_TIMEOUT_S: Final = 30.0
_LIO: Final = Path("/sys/kernel/config/target")


def create(context: Context, export: IscsiExport) -> Outcome:
    """Export the devices and log in. Raises ProblemError; what was made of it until then is removed first."""
    context.stop_if_cancelled()
    paths = {unit.on: context.path(unit.on) for unit in export.units}
    if session.sessions(export):
        return Outcome("already there", _made(context, export))
    context.about_to_write(export.disks)
    context.builder.load()  # now: loading takes longer than the disks may be unheld
    commands: list[Argv] = []
    try:
        commands += load_modules()
        with ExitStack() as lent:
            for unit in export.units:
                lent.enter_context(lend(context, unit.on))
            commands += context.builder.call("iscsi.export", planned=export, paths=paths).commands
        for argv in session.login(export):
            commands.append(argv)
            context.stop_if_cancelled()
        session.await_nodes(export, NODE_TIMEOUT_S)
        facts = _made(context, export)
    except ProblemError:
        # The first problem is the one to report; the teardown of the block reports what this one could not remove.
        with suppress(ProblemError):
            teardown(context, export)
        raise
    return Outcome("created", facts, tuple(commands))


def load_modules() -> list[Argv]:
    """Load the modules, and return the commands. Raises ProblemError (`iscsi-missing`)."""
    modprobe = proc.find_tool("modprobe")
    for module in MODULES:
        if modprobe is None or proc.run([modprobe, module], check=False).code:
            raise fail(MISSING, f"the module {module} cannot be loaded", remedy=MISSING.way_out, exit=Exit.REFUSED)
    return [("modprobe", module) for module in MODULES]


def _made(context: Context, export: IscsiExport) -> dict[str, Any]:
    """Check target and session, record the paths in the context, and return the facts. Raises ProblemError."""
    _check(context, export)
    nodes = session.the_nodes(export)
    wait_for_udev(nodes, NODE_TIMEOUT_S)
    paths = [session.link_of(device_path(export, lun), node) for lun, node in enumerate(nodes)]
    context.built.update(zip((unit.ref for unit in export.units), paths, strict=True))
    return {"iqn": export.iqn, "devices": nodes, "paths": paths}


def read_target(export: IscsiExport) -> dict[str, Any]:
    """Return the target as configfs has it; None for what is missing."""
    group = _LIO / "iscsi" / export.iqn / "tpgt_1"
    stores = [_store(unit) for unit in export.units]
    return {
        "enabled": read_text(group / "enable"),
        "portals": sorted(path.name for path in (group / "np").glob("*")),
        "initiators": sorted(path.name for path in (group / "acls").glob("*")),
        "any_initiator": read_text(group / "attrib/generate_node_acls"),
        "serials": [_serial(store) for store in stores],
        "backing": [None if store is None else read_text(store / "udev_path") for store in stores],
    }


def _store(unit: Unit) -> Path | None:
    return next((_LIO / "core").glob(f"iblock_*/{unit.name}"), None)


def _serial(store: Path | None) -> str | None:
    text = read_text(store / "wwn/vpd_unit_serial") if store is not None else None
    return None if text is None else text.rpartition(":")[2].strip()


def asked_target(export: IscsiExport) -> dict[str, Any]:
    """Return the values that `read_target` has to find, without the devices."""
    return {
        "enabled": "1",
        "portals": [export.portal],
        "initiators": [export.initiator],
        "any_initiator": "0",
        "serials": [unit.serial for unit in export.units],
    }


def _check(context: Context, export: IscsiExport) -> dict[str, Any]:
    """Return what is read back from both sides. Raises ProblemError (`read-back`) if it is not as asked."""
    exported = bounded(lambda: read_target(export), "asking the iSCSI target")
    opened = bounded(lambda: session.read(export), "asking the iSCSI session")
    wrong = [
        Difference(what, value, found[what])
        for asked, found in ((asked_target(export), exported), (session.asked(export), opened))
        for what, value in asked.items()
        if found[what] != value
    ]
    for unit, path in zip(export.units, exported["backing"], strict=True):
        if path is None or os.path.realpath(path) != os.path.realpath(context.path(unit.on)):
            wrong.append(Difference("device", context.path(unit.on), path))
    if wrong:
        remedy = "This version of the kernel, of rtslib or of open-iscsi made something else."
        raise mismatch("the export", export.name, wrong, remedy)
    return {**exported, "session": opened}


def verify(context: Context, export: IscsiExport) -> Outcome:
    """Read target and session back; facts are what was read. Raises ProblemError (`read-back`)."""
    return Outcome("done", _check(context, export))


def health(context: Context, export: IscsiExport) -> tuple[str, ...]:
    """Return the reasons why numbers measured now would be wrong, one sentence each."""
    try:
        _check(context, export)
    except ProblemError as error:
        return (error.problems[0].message,)
    return ()


def members(context: Context, export: IscsiExport) -> Mapping[str, str]:
    """Return the kernel names of the connected devices and of those below. Raises ProblemError (`iscsi-not-there`)."""
    below = [Path(os.path.realpath(context.path(unit.on))).name for unit in export.units]
    above = dict.fromkeys(session.the_nodes(export), "target")
    return above | {node: "member" for node in below if devno(node) is not None}


def teardown(context: Context, export: IscsiExport) -> Outcome:
    """Log out and remove the target: any number of times, after a crash or a reboot too.

    Raises ProblemError (exit 6): `iscsi-busy`, `left-behind`, `stuck`.
    """
    commands: list[Argv] = []

    def attempt() -> str:
        commands.extend(session.logout(export))
        if session.exists(export):
            return "the session or a record of it still exists"
        if _exists(export):
            commands.extend(context.builder.call("iscsi.unexport", planned=export).commands)
        return "the target still exists" if _exists(export) else ""

    until_gone(attempt, "the export", export.name)
    for unit in export.units:
        context.built.pop(unit.ref, None)
    context.hold([disk for unit in export.units if (disk := context.disk_of(unit.on)) is not None])
    return Outcome("undone" if commands else "nothing to do", {}, tuple(commands))


def _exists(export: IscsiExport) -> bool:
    return (_LIO / "iscsi" / export.iqn).is_dir() or any(_store(unit) for unit in export.units)
