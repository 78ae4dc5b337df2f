"""Exporting over iSCSI and logging in, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from raidtui.base.files import read_text
from raidtui.model.plan import Argv
from raidtui.model.problem import Problem, ProblemError
from raidtui.stack.auth import chap_secret, take_key
from raidtui.stack.configfs import CONFIGFS
from raidtui.stack.context import Context
from raidtui.stack.exports import Initiator, Kind, Target, load_modules
from raidtui.stack.iscsi import session
from raidtui.stack.iscsi.plan import INITIATOR_MODULES, TARGET_MODULES, device_path
from raidtui.stack.iscsi.spec import IscsiExport, Unit
from raidtui.stack.links import require_rdma
from raidtui.stack.listeners import taken
from raidtui.stack.teardown import lend

LIO: Final = CONFIGFS / "target"


def in_the_way(export: IscsiExport) -> Iterator[Problem]:
    """Yield a problem (`export-address-taken`) for each portal whose address and port something listens on.

    A portal of another target could be shared, but its transport and its end would be the other one's.
    """
    for address in export.addresses:
        yield from taken(address, export.port, tcp=True, rdma=export.transport == "iser", place=export.name)


def make(context: Context, export: IscsiExport, paths: Mapping[str, str]) -> Iterator[Argv]:
    """Export; yield the commands. The target opens its devices exclusively, and holds them from then on."""
    yield from load_modules(TARGET_MODULES[export.transport])
    if export.transport == "iser":
        for address in export.addresses:
            require_rdma(address, export.name)
    if problems := tuple(in_the_way(export)):
        raise ProblemError(*problems)
    with ExitStack() as lent:
        for unit in export.devices:
            lent.enter_context(lend(context, unit.on))
        context.keys |= (keys := {login.key: chap_secret() for login in export.logins if login.key})
        yield from context.builder.call("iscsi.export", planned=export, paths=dict(paths), keys=keys).commands


def connect(context: Context, export: IscsiExport) -> Iterator[Argv]:
    """Log in; yield the commands."""
    yield from load_modules(INITIATOR_MODULES[export.transport])
    yield from session.login(export, take_key(context, export.key))


def read(export: IscsiExport) -> dict[str, Any]:
    """Return the target as configfs has it; None for what is missing."""
    group = LIO / "iscsi" / export.iqn / "tpgt_1"
    return {
        "enabled": read_text(group / "enable"),
        "portals": sorted(path.name for path in (group / "np").glob("*")),
        "iser": sorted(path.name for path in (group / "np").glob("*") if read_text(path / "iser") == "1"),
        "initiators": sorted(path.name for path in (group / "acls").glob("*")),
        "any_initiator": read_text(group / "attrib/generate_node_acls"),
        "units": _units(group / "acls"),
        "authentication": read_text(group / "attrib/authentication"),
        "serials": [_serial(_store(unit)) for unit in export.devices],
    }


def asked(export: IscsiExport) -> dict[str, Any]:
    """Return the values that `read` has to find."""
    return {
        "enabled": "1",
        "portals": sorted(export.portals),
        "iser": sorted(export.portals) if export.transport == "iser" else [],
        "initiators": sorted(login.initiator for login in export.logins),
        "any_initiator": "0",
        "units": sorted(
            [login.initiator, lun, place] for login in export.logins for lun, place in enumerate(export.units_of(login))
        ),
        "authentication": str(int(bool(export.key))),
        "serials": [unit.serial for unit in export.devices],
    }


def _units(acls: Path) -> list[list[str | int]]:
    """Return which unit of the target each logical unit of each initiator is: [initiator, number for it, number]."""
    found: list[list[str | int]] = []
    for folder in acls.glob("*/lun_*"):
        for link in (one for one in folder.iterdir() if one.is_symlink()):
            number, place = (int(name.rpartition("_")[2]) for name in (folder.name, link.readlink().name))
            found.append([folder.parent.name, number, place])
    return sorted(found)


def _store(unit: Unit) -> Path | None:
    """Return the folder of the backstore."""
    return next((LIO / "core").glob(f"iblock_*/{unit.name}"), None)


def _serial(store: Path | None) -> str | None:
    text = read_text(store / "wwn/vpd_unit_serial") if store is not None else None
    return None if text is None else text.rpartition(":")[2].strip()


def backing_paths(export: IscsiExport) -> list[str | None]:
    """Return the path of the device behind each unit."""
    return [read_text(store / "udev_path") if (store := _store(unit)) else None for unit in export.devices]


def _exists(export: IscsiExport) -> bool:
    return (LIO / "iscsi" / export.iqn).is_dir() or any(_store(unit) for unit in export.devices)


def remove(context: Context, export: IscsiExport) -> tuple[list[Argv], str]:
    """Remove what exists of the target. Return the commands, and what is left."""
    commands = list(context.builder.call("iscsi.unexport", planned=export).commands) if _exists(export) else []
    return commands, "the target still exists" if _exists(export) else ""


def disconnect(export: IscsiExport) -> tuple[list[Argv], str]:
    """Log out, if there is a session. Return the commands, and what is left."""
    commands = session.logout(export)
    return commands, "the session or a record of it still exists" if session.exists(export) else ""


EXPORTS: Final = Kind[IscsiExport](
    target=Target(make=make, backing=backing_paths, read=read, asked=asked, remove=remove),
    initiator=Initiator(
        connect=connect,
        is_connected=lambda export: bool(session.sessions(export)),
        nodes=session.nodes,
        device_path=device_path,
        word="session",
        read=session.read,
        asked=session.asked,
        disconnect=disconnect,
    ),
)
