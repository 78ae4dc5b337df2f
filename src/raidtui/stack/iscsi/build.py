"""Exporting over iSCSI and logging in, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from raidtui.base.files import read_text
from raidtui.model.plan import Argv
from raidtui.stack.context import Context
from raidtui.stack.exports import Kind, load_modules
from raidtui.stack.iscsi import session
from raidtui.stack.iscsi.plan import MODULES, device_path
from raidtui.stack.iscsi.spec import IscsiExport, Unit
from raidtui.stack.teardown import lend

LIO: Final = Path("/sys/kernel/config/target")


def make(context: Context, export: IscsiExport, paths: Mapping[str, str]) -> Iterator[Argv]:
    """Export and log in; yield the commands. The target opens its devices exclusively, and holds them from then on."""
    yield from load_modules(MODULES)
    with ExitStack() as lent:
        for unit in export.devices:
            lent.enter_context(lend(context, unit.on))
        yield from context.builder.call("iscsi.export", planned=export, paths=dict(paths)).commands
    yield from session.login(export)


def read(export: IscsiExport) -> dict[str, Any]:
    """Return target and session as configfs and sysfs have them; None for what is missing."""
    group = LIO / "iscsi" / export.iqn / "tpgt_1"
    return {
        "enabled": read_text(group / "enable"),
        "portals": sorted(path.name for path in (group / "np").glob("*")),
        "initiators": sorted(path.name for path in (group / "acls").glob("*")),
        "any_initiator": read_text(group / "attrib/generate_node_acls"),
        "serials": [_serial(_store(unit)) for unit in export.devices],
        "session": session.read(export),
    }


def asked(export: IscsiExport) -> dict[str, Any]:
    """Return the values that `read` has to find."""
    return {
        "enabled": "1",
        "portals": [export.portal],
        "initiators": [export.initiator],
        "any_initiator": "0",
        "serials": [unit.serial for unit in export.devices],
        "session": session.asked(export),
    }


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
    """Log out, and remove the target: what exists of them. Return the commands, and what is left."""
    commands = session.logout(export)
    if session.exists(export):
        return commands, "the session or a record of it still exists"
    if _exists(export):
        commands += context.builder.call("iscsi.unexport", planned=export).commands
    return commands, "the target still exists" if _exists(export) else ""


EXPORTS: Final = Kind[IscsiExport](
    make=make,
    is_connected=lambda export: bool(session.sessions(export)),
    nodes=session.nodes,
    device_path=device_path,
    backing=backing_paths,
    read=read,
    asked=asked,
    remove=remove,
)
