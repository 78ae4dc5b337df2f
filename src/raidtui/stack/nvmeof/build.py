"""Exporting over NVMe-oF and connecting, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from raidtui.model.plan import Argv
from raidtui.model.problem import Exit, Problem, ProblemError, fail
from raidtui.stack.auth import dhchap_key, hide, take_key
from raidtui.stack.calls import bounded
from raidtui.stack.context import Context
from raidtui.stack.exports import MISSING, Initiator, Kind, Target, load_modules
from raidtui.stack.links import require_rdma
from raidtui.stack.listeners import taken
from raidtui.stack.nvmeof import initiator, target
from raidtui.stack.nvmeof.plan import INITIATOR_MODULES, TARGET_MODULES, device_path, disconnect_argv
from raidtui.stack.nvmeof.spec import Export


def in_the_way(export: Export) -> Iterator[Problem]:
    """Yield a problem (`export-address-taken`) if something listens on the address and port of the export."""
    if export.service:
        yield from taken(export.address, export.service, tcp=export.transport == "tcp", rdma=export.transport == "rdma",
                         place=export.name)  # fmt: skip


def make(context: Context, export: Export, paths: Mapping[str, str]) -> Iterator[Argv]:
    """Export; yield the commands. The target opens disks that the run holds: they are not lent."""
    yield from load_modules(TARGET_MODULES[export.transport])
    if export.transport == "rdma":
        require_rdma(export.address, export.name)
    if problems := tuple(in_the_way(export)):
        raise ProblemError(*problems)
    if not target.NVMET.is_dir():
        raise fail(MISSING, f"{target.NVMET} does not exist", place=export.name, remedy=MISSING.way_out, exit=Exit.REFUSED)
    key = dhchap_key() if export.key else ""
    if key:
        context.keys[export.key] = key
    yield from bounded(lambda: target.make(export, paths, key), "configuring the NVMe target", to_the_end=True)


def remove(context: Context, export: Export) -> tuple[tuple[Argv, ...], str]:
    """Remove what exists of the export. Return the commands, and what is left."""
    done, trouble = bounded(lambda: target.remove(export), "removing the export", to_the_end=True)
    return done, trouble or ("the export still exists" if target.exists(export) else "")


def connect(context: Context, export: Export) -> Iterator[Argv]:
    yield from load_modules(INITIATOR_MODULES[export.transport])
    if export.key:
        initiator.require_auth(export)
    yield from context.builder.call("nvmeof.connect", planned=export, key=take_key(context, export.key)).commands
    for folder in initiator.controllers(export):
        hide(folder / initiator.SECRET)


def disconnect(export: Export) -> tuple[list[Argv], str]:
    """Disconnect, if there is a connection. Return the commands, and what is left."""
    commands = [disconnect_argv(export)] if initiator.disconnect(export) else []
    still = initiator.controllers(export) or any(initiator.nodes(export))
    return commands, "the kernel still has the connection" if still else ""


EXPORTS: Final = Kind[Export](
    target=Target(make=make, backing=target.backing_paths, read=target.read, asked=target.asked, remove=remove),
    initiator=Initiator(
        connect=connect,
        is_connected=lambda export: bool(initiator.controllers(export)),
        nodes=initiator.nodes,
        device_path=lambda export, place: device_path(export.devices[place]),
        word="connection",
        read=initiator.read,
        asked=initiator.asked,
        disconnect=disconnect,
    ),
)
