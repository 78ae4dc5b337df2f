"""The iSCSI target by rtslib (LIO). Runs in the builder's process alone."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from rtslib_fb import (
    LUN,
    TPG,
    BlockStorageObject,
    FabricModule,
    MappedLUN,
    NetworkPortal,
    NodeACL,
    RTSLibNotInCFS,
    RTSRoot,
    Target,
)

from raidtui.stack.auth import hide
from raidtui.stack.builder.telling import tell
from raidtui.stack.iscsi.plan import export_argvs, unexport_argvs
from raidtui.stack.iscsi.spec import IscsiExport
from raidtui.stack.links import bracketed

_DBROOT: Final = Path("/sys/kernel/config/target/dbroot")
_GROUP: Final = 1
"""Tag of the only target portal group."""


def export(planned: IscsiExport, paths: dict[str, str], keys: dict[str, str]) -> None:
    """Export the devices; nobody can log in before the last call.

    `paths`: of the devices below, by reference. `keys`: of the initiators, by name; empty without authentication.
    """
    _keep_dbroot()
    for argv in export_argvs(planned, paths):
        tell(*argv)
    stores = [BlockStorageObject(unit.name, dev=paths[unit.on], wwn=unit.serial) for unit in planned.devices]
    group = TPG(Target(FabricModule("iscsi"), planned.iqn), _GROUP)
    group.set_attribute("authentication", str(int(bool(planned.key))))
    group.set_attribute("generate_node_acls", "0")
    group.set_parameter("ImmediateData", "Yes" if planned.immediate_data else "No")
    units = [LUN(group, lun=number, storage_object=store) for number, store in enumerate(stores)]
    for login in planned.logins:
        allowed = NodeACL(group, login.initiator)
        if login.key:
            hide(Path(allowed.path) / "auth/password")
            allowed.chap_userid, allowed.chap_password = login.initiator, keys[login.key]
        for lun, place in enumerate(planned.units_of(login)):
            MappedLUN(allowed, lun, tpg_lun=units[place])
    group.enable = True
    for address in planned.addresses:
        NetworkPortal(group, bracketed(address), planned.port).iser = planned.transport == "iser"


def unexport(planned: IscsiExport) -> bool:
    """Remove what exists of the export, whatever its state; return False if there is nothing."""
    _keep_dbroot()
    root = RTSRoot()
    targets = [one for one in root.targets if one.wwn == planned.iqn]
    names = {unit.name for unit in planned.devices}
    stores = [one for one in root.storage_objects if one.plugin == "block" and one.name in names]
    if targets or stores:
        for argv in unexport_argvs(planned):
            tell(*argv)
    for one in (*targets, *stores):
        with suppress(RTSLibNotInCFS):
            one.delete()
    return bool(targets or stores)


def _keep_dbroot() -> None:
    """Keep rtslib from setting the kernel's folder for metadata to one that its package does not bring."""
    RTSRoot._preferred_dbroot = _DBROOT.read_text().strip()
