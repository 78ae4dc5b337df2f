"""Plans of exports over iSCSI: refusals, sizes, and steps.

The target is configured by rtslib in the builder's process, for which the plan shows the commands of targetcli; the
session is opened by iscsiadm.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final

from raidtui.base.text import plural
from raidtui.model.convert import Operand
from raidtui.model.plan import Argv, Names
from raidtui.model.problem import Problem, Refusal
from raidtui.model.scenario import Policy
from raidtui.stack.exports import LOOPBACK, port_of
from raidtui.stack.iscsi.spec import DEFAULT_QUEUE_DEPTH, DEFAULT_SESSION_COMMANDS, IscsiExport, IscsiSpec, Unit
from raidtui.stack.layer import Counts, Draft, Parts, Planned, all_at_once

MODULES: Final = ("target_core_iblock", "iscsi_target_mod", "iscsi_tcp")

NONE: Final = Refusal(
    "iscsi-none",
    "Nothing to export",
    "An export has at least one device.",
    'Name a role or a layer: {"iscsi": {"on": "@data"}}.',
)
COMMANDS: Final = Refusal(
    "iscsi-session-commands",
    "Invalid number of commands of a session",
    "open-iscsi takes a power of two from 2 to 2048.",
    "Write 128 or another power of two.",
)


def inputs(spec: IscsiSpec) -> Mapping[str, Operand]:
    return {"on": spec.on}


def check(spec: IscsiSpec, counts: Counts, place: str) -> list[Problem]:
    problems = []
    if counts.get("on", 0) < 1:
        problems.append(NONE.problem("there is no device to export", place=f"{place}.on", remedy=NONE.way_out))
    if spec.session_commands.bit_count() != 1:
        text = f"{spec.session_commands} is no power of two"
        problems.append(COMMANDS.problem(text, place=f"{place}.session_commands", remedy=COMMANDS.way_out))
    return problems


def describe(spec: IscsiSpec, counts: Counts) -> str:
    """Return a short description: `4 devices over iSCSI, queue depth 32`."""
    found = f"{plural(counts.get('on', 1), 'device')} over iSCSI, queue depth {spec.queue_depth}"
    return found if spec.immediate_data else f"{found}, without immediate data"


def defaults(spec: IscsiSpec, counts: Counts) -> Mapping[str, tuple[str, str]]:
    return {
        "queue_depth": (str(DEFAULT_QUEUE_DEPTH), "open-iscsi's default"),
        "session_commands": (str(DEFAULT_SESSION_COMMANDS), "open-iscsi's default"),
        "immediate_data": ("true", "the default of target and initiator"),
    }


def plan(spec: IscsiSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Return steps, target and devices."""
    created = names.new("iscsi")
    own = uuid.UUID(created.uuid)
    below = parts["on"]
    units = tuple(
        Unit(f"iscsi:{created.name}-{number}", f"{created.name}-{number}", one.ref, one.path,
             str(uuid.uuid5(own, f"unit {number}")), one.size_bytes, one.logical_sector_bytes)
        for number, one in enumerate(below)
    )  # fmt: skip
    export = IscsiExport(
        name=created.name,
        iqn=f"iqn.2003-01.org.linux-iscsi.raidtui:{created.name}",
        initiator=f"iqn.1993-08.org.debian:raidtui-{created.name}",
        address=LOOPBACK,
        port=port_of(created.uuid),
        devices=units,
        disks=tuple(dict.fromkeys(disk for one in below for disk in one.disks)),
        queue_depth=spec.queue_depth,
        session_commands=spec.session_commands,
        immediate_data=spec.immediate_data,
    )
    offers = tuple(
        one._replace(ref=unit.ref, path=device_path(export, number))
        for number, (one, unit) in enumerate(zip(below, units, strict=True))
    )
    undo = (*logout_argvs(export), *unexport_argvs(export))
    steps = (
        Draft("iscsi.export", f"Export {describe(spec, {'on': len(below)})}, and log in to it", export,
              create_argvs(export, {one.on: one.on_path for one in units}), undo, created, seconds=4.0),
        Draft("iscsi.verify", "Read target and session back", export, seconds=0.5),
    )  # fmt: skip
    teardown = Draft("iscsi.remove", "Log out, and remove the target", export, undo, seconds=3.0)
    return Planned(steps, (teardown,), (all_at_once(offers),), offers)


def device_path(export: IscsiExport, lun: int) -> str:
    """Return the path under which udev shows a unit of the session."""
    return f"/dev/disk/by-path/ip-{export.portal}-iscsi-{export.iqn}-lun-{lun}"


def create_argvs(export: IscsiExport, paths: Mapping[str, str]) -> tuple[Argv, ...]:
    """Return the commands that export and log in. `paths`: the path of each device below, by its reference."""
    return (*(("modprobe", module) for module in MODULES), *export_argvs(export, paths), *login_argvs(export))


def export_argvs(export: IscsiExport, paths: Mapping[str, str]) -> tuple[Argv, ...]:
    """Return targetcli's commands for what rtslib does. It adds a portal on all addresses by itself unless told not to."""
    group = f"/iscsi/{export.iqn}/tpg1"
    return (
        ("targetcli", "set", "global", "auto_add_default_portal=false", "auto_add_mapped_luns=false"),
        *(("targetcli", "/backstores/block", "create", f"name={unit.name}", f"dev={paths[unit.on]}", f"wwn={unit.serial}")
          for unit in export.devices),
        ("targetcli", "/iscsi", "create", export.iqn),
        ("targetcli", group, "set", "attribute", "authentication=0", "generate_node_acls=0"),
        ("targetcli", group, "set", "parameter", f"ImmediateData={'Yes' if export.immediate_data else 'No'}"),
        *(("targetcli", f"{group}/luns", "create", f"/backstores/block/{unit.name}", str(lun))
          for lun, unit in enumerate(export.devices)),
        ("targetcli", f"{group}/acls", "create", export.initiator),
        *(("targetcli", f"{group}/acls/{export.initiator}", "create", str(lun), str(lun))
          for lun in range(len(export.devices))),
        ("targetcli", f"{group}/portals", "create", export.address, str(export.port)),
    )  # fmt: skip


def unexport_argvs(export: IscsiExport) -> tuple[Argv, ...]:
    return (
        ("targetcli", "/iscsi", "delete", export.iqn),
        *(("targetcli", "/backstores/block", "delete", unit.name) for unit in export.devices),
    )


def _node(export: IscsiExport, *words: str) -> Argv:
    return ("iscsiadm", "-m", "node", "-T", export.iqn, "-p", export.portal, "-I", export.name, *words)


def login_argvs(export: IscsiExport) -> tuple[Argv, ...]:
    """Return the commands that make the initiator's records and log in."""
    iface = ("iscsiadm", "-m", "iface", "-I", export.name)
    settings = {
        "node.startup": "manual",
        "node.session.queue_depth": str(export.queue_depth),
        "node.session.cmds_max": str(export.session_commands),
        "node.session.iscsi.ImmediateData": "Yes" if export.immediate_data else "No",
    }
    return (
        (*iface, "-o", "new"),
        (*iface, "-o", "update", "-n", "iface.initiatorname", "-v", export.initiator),
        _node(export, "-o", "new"),
        *(_node(export, "-o", "update", "-n", name, "-v", value) for name, value in settings.items()),
        _node(export, "--login"),
    )


def logout_argvs(export: IscsiExport) -> tuple[Argv, ...]:
    return (
        _node(export, "--logout"),
        _node(export, "-o", "delete"),
        ("iscsiadm", "-m", "iface", "-I", export.name, "-o", "delete"),
    )
