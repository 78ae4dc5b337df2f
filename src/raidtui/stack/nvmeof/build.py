"""Exporting over NVMe-oF and connecting, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, fail
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context
from raidtui.stack.exports import MISSING, Kind, load_modules
from raidtui.stack.nvmeof import initiator, target
from raidtui.stack.nvmeof.plan import MODULES, device_path, disconnect_argv
from raidtui.stack.nvmeof.spec import Export


def make(context: Context, export: Export, paths: Mapping[str, str]) -> Iterator[Argv]:
    """Export and connect; yield the commands. The target opens disks that the run holds: they are not lent."""
    yield from load_modules(MODULES[export.transport])
    if not target.NVMET.is_dir():
        raise fail(MISSING, f"{target.NVMET} does not exist", place=export.name, remedy=MISSING.way_out, exit=Exit.REFUSED)
    yield from bounded(lambda: target.make(export, paths), "configuring the NVMe target", to_the_end=True)
    yield from context.builder.call("nvmeof.connect", planned=export).commands


def read(export: Export) -> dict[str, Any]:
    return {**target.read(export), "connection": initiator.read(export)}


def asked(export: Export) -> dict[str, Any]:
    """Return the values that `read` has to find."""
    return {**target.asked(export), "connection": initiator.asked(export)}


def remove(context: Context, export: Export) -> tuple[list[Argv], str]:
    """Disconnect, and remove the export: what exists of it. Return the commands, and what is left."""
    commands = [disconnect_argv(export)] if initiator.disconnect(export) else []
    if initiator.controllers(export) or any(initiator.nodes(export)):
        return commands, "the kernel still has the connection"
    done, trouble = bounded(lambda: target.remove(export), "removing the export", to_the_end=True)
    return [*commands, *done], trouble or ("the export still exists" if target.exists(export) else "")


EXPORTS: Final = Kind[Export](
    make=make,
    is_connected=lambda export: bool(initiator.controllers(export)),
    nodes=initiator.nodes,
    device_path=lambda export, place: device_path(export.devices[place]),
    backing=target.backing_paths,
    read=read,
    asked=asked,
    remove=remove,
)
