"""Plans of exports over iSCSI: refusals, sizes, and steps.

The target is configured by rtslib in the builder's process, for which the plan shows the commands of targetcli; the
session is opened by iscsiadm.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from raidtui.base.text import plural
from raidtui.model.convert import Operand
from raidtui.model.plan import Argv, Created, Host, Names
from raidtui.model.problem import Problem, ProblemError, Refusal
from raidtui.model.scenario import Policy
from raidtui.stack.auth import SHOWN
from raidtui.stack.exports import LOOPBACK, port_of
from raidtui.stack.iscsi.spec import (
    DEFAULT_QUEUE_DEPTH,
    RESERVED_COMMANDS,
    IscsiExport,
    IscsiSpec,
    Login,
    Unit,
)
from raidtui.stack.layer import Counts, Draft, Part, Parts, Planned, all_at_once
from raidtui.stack.links import canonical, own_rdma_problems, rdma_problems, wrong_address
from raidtui.stack.shares import loaded_by, shares

TARGET_MODULES: Final = {"tcp": ("target_core_iblock", "iscsi_target_mod"),
                         "iser": ("target_core_iblock", "iscsi_target_mod", "ib_isert")}  # fmt: skip
INITIATOR_MODULES: Final = {"tcp": ("iscsi_tcp",), "iser": ("ib_iser",)}
_PROTOCOLS: Final = {"tcp": "iSCSI", "iser": "iSCSI over RDMA (iSER)"}

PASSWORD: Final = "node.session.auth.password"  # noqa: S105 - the name of a setting
_INITIATOR: Final = "iqn.1993-08.org.debian:raidtui-"

NONE: Final = Refusal(
    "iscsi-none",
    "Nothing to export",
    "An export has at least one device.",
    'Name a role or a layer: {"iscsi": {"on": "@data"}}.',
)
COMMANDS: Final = Refusal(
    "iscsi-session-commands",
    "Invalid number of commands of a session",
    "open-iscsi takes a power of two from 2 to 2048, and the kernel keeps 15 of them for itself: a device never has more "
    "than the rest.",
    "Write 128 or another power of two.",
)
ADDRESS: Final = Refusal(
    "iscsi-address",
    "Invalid address of a portal",
    "An address is one of the storage server's own, for a session with itself: iser needs one, since RDMA devices have no "
    "loopback address. A target for other hosts listens on the link to each host.",
    'Write "address": "10.0.0.1" without "to"; `rdma link` and `ip -br address` show the addresses.',
)


def inputs(spec: IscsiSpec) -> Mapping[str, Operand]:
    return {"on": spec.on}


def check(spec: IscsiSpec, counts: Counts, place: str) -> list[Problem]:
    problems = []
    if counts.get("on", 0) < 1:
        problems.append(NONE.problem("there is no device to export", place=f"{place}.on", remedy=NONE.way_out))
    room = spec.commands - RESERVED_COMMANDS
    if spec.commands.bit_count() != 1:
        text = f"{spec.commands} is no power of two"
        problems.append(COMMANDS.problem(text, place=f"{place}.session_commands", remedy=COMMANDS.way_out))
    elif spec.queue_depth > room:
        text = f"{spec.commands} commands of a session leave {max(0, room)} for a queue depth of {spec.queue_depth}"
        problems.append(COMMANDS.problem(text, place=f"{place}.session_commands", remedy="Ask for more, or leave it out."))
    if text := wrong_address(spec.address, spec.to, "iser" if spec.transport == "iser" else ""):
        problems.append(ADDRESS.problem(text, place=f"{place}.address", remedy=ADDRESS.way_out))
    return problems


def lacking_here(spec: IscsiSpec, place: str) -> Iterator[Problem]:
    """Yield what this server lacks, as the kernel shows it now."""
    if spec.transport == "iser" and spec.address is not None:
        yield from own_rdma_problems(spec.address, f"{place}.address")


def exported_to(spec: IscsiSpec) -> str:
    return spec.to or ""


def describe(spec: IscsiSpec, counts: Counts) -> str:
    """Return a short description: `4 devices over iSCSI to clients, queue depth 32`."""
    where = f" to {spec.to}" if spec.to else ""
    protocol = _PROTOCOLS[spec.transport]
    found = f"{plural(counts.get('on', 1), 'device')} over {protocol}{where}, queue depth {spec.queue_depth}"
    found += ", authenticated" if spec.auth else ""
    return found if spec.immediate_data else f"{found}, without immediate data"


def defaults(spec: IscsiSpec, counts: Counts) -> Mapping[str, tuple[str, str]]:
    return {
        "transport": ("tcp", "the usual network"),
        "queue_depth": (str(DEFAULT_QUEUE_DEPTH), "open-iscsi's default"),
        "session_commands": (str(spec.commands), "open-iscsi's 128, or as many as the queue depth needs"),
        "immediate_data": ("true", "the default of target and initiator"),
    }


def plan(spec: IscsiSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Return steps, target and devices."""
    created, below = names.new("iscsi"), parts["on"]
    export = _export(spec, below, created, (_login(spec, created, spec.address or LOOPBACK),))
    offers = tuple(
        one._replace(ref=unit.ref, path=device_path(export, number))
        for number, (one, unit) in enumerate(zip(below, export.devices, strict=True))
    )
    undo = (*logout_argvs(export), *unexport_argvs(export))
    steps = (
        Draft("iscsi.export", f"Export {describe(spec, {'on': len(below)})}, and log in to it", export,
              create_argvs(export, {one.on: one.on_path for one in export.devices}), undo, created, seconds=4.0),
        Draft("iscsi.verify", "Read target and session back", export, seconds=0.5),
    )  # fmt: skip
    teardown = Draft("iscsi.remove", "Log out, and remove the target", export, undo, seconds=3.0)
    return Planned(steps, (teardown,), (all_at_once(offers),), offers)


def plan_on(spec: IscsiSpec, parts: Parts, names: Names, hosts: Sequence[Host]) -> Planned:
    """Return the plan of an export to other hosts: one target, since it opens its devices exclusively, with an initiator
    name and a portal for each host."""
    if spec.transport == "iser" and (problems := tuple(rdma_problems(hosts, "iscsi.transport"))):
        raise ProblemError(*problems)
    below, created = parts["on"], names.new("iscsi")
    joins, owns = [names.new("iscsi") for _ in hosts], shares(below, hosts)
    logins = tuple(
        _login(spec, join, host.storage_address, tuple(below.index(one) for one in own))
        for host, join, own in zip(hosts, joins, owns, strict=True)
    )
    export = _export(spec, below, created, logins)
    what, remove = f"{plural(len(below), 'device')} over {_PROTOCOLS[spec.transport]}", unexport_argvs(export)
    offer = offer_argvs(export, {one.on: one.on_path for one in export.devices})
    build = [Draft("iscsi.offer", f"Export {what} to {', '.join(host.ref for host in hosts)} alone", export, offer, remove,
                   created, seconds=2.0)]  # fmt: skip
    teardown = [Draft("iscsi.withdraw", "Remove the target", export, remove, seconds=2.0)]
    refs: list[tuple[str, ...]] = []
    for host, join, login in zip(hosts, joins, logins, strict=True):
        units = tuple(export.devices[at] for at in login.units)
        session = msgspec.structs.replace(export, name=join.name, initiator=login.initiator, address=login.address,
                                          key=login.key, others=(), disks=(), devices=units, units=())  # fmt: skip
        refs.append(tuple(one.ref for one in units))
        undo = logout_argvs(session)
        build.append(Draft("iscsi.login", f"{host.ref}: log in to it", session, join_argvs(session), undo, join,
                           seconds=3.0, host=host.ref))  # fmt: skip
        teardown.insert(0, Draft("iscsi.logout", f"{host.ref}: log out", session, undo, seconds=2.0, host=host.ref))
    paths = (device_path(export, lun) for lun in range(len(refs[0])))
    return Planned(tuple(build), tuple(teardown), (loaded_by(below, hosts, refs, paths),))


def _login(spec: IscsiSpec, created: Created, address: str, units: tuple[int, ...] = ()) -> Login:
    return Login(_INITIATOR + created.name, canonical(address), units, created.name if spec.auth else "")


def _export(spec: IscsiSpec, below: Sequence[Part], created: Created, logins: Sequence[Login]) -> IscsiExport:
    """Return the export of these devices to these initiators."""
    own, first = uuid.UUID(created.uuid), logins[0]
    units = tuple(
        Unit(f"iscsi:{created.name}-{number}", f"{created.name}-{number}", one.ref, one.path,
             str(uuid.uuid5(own, f"unit {number}")), one.size_bytes, one.logical_sector_bytes)
        for number, one in enumerate(below)
    )  # fmt: skip
    return IscsiExport(
        name=created.name,
        iqn=f"iqn.2003-01.org.linux-iscsi.raidtui:{created.name}",
        initiator=first.initiator,
        address=first.address,
        port=port_of(created.uuid),
        devices=units,
        disks=tuple(dict.fromkeys(disk for one in below for disk in one.disks)),
        queue_depth=spec.queue_depth,
        session_commands=spec.commands,
        immediate_data=spec.immediate_data,
        transport=spec.transport,
        key=first.key,
        others=tuple(logins[1:]),
        units=first.units,
    )


def device_path(export: IscsiExport, lun: int) -> str:
    """Return the path under which udev shows a unit of the session."""
    # Addresses of IPv6 have no brackets there (systemd, udev-builtin-path_id.c).
    return f"/dev/disk/by-path/ip-{export.address}:{export.port}-iscsi-{export.iqn}-lun-{lun}"


def create_argvs(export: IscsiExport, paths: Mapping[str, str]) -> tuple[Argv, ...]:
    """Return the commands that export and log in. `paths`: the path of each device below, by its reference."""
    return (*offer_argvs(export, paths), *join_argvs(export))


def offer_argvs(export: IscsiExport, paths: Mapping[str, str]) -> tuple[Argv, ...]:
    return (*(("modprobe", module) for module in TARGET_MODULES[export.transport]), *export_argvs(export, paths))


def join_argvs(export: IscsiExport) -> tuple[Argv, ...]:
    return (*(("modprobe", module) for module in INITIATOR_MODULES[export.transport]), *login_argvs(export))


def export_argvs(export: IscsiExport, paths: Mapping[str, str]) -> tuple[Argv, ...]:
    """Return targetcli's commands for what rtslib does. It adds a portal on all addresses by itself unless told not to."""
    group = f"/iscsi/{export.iqn}/tpg1"
    return (
        ("targetcli", "set", "global", "auto_add_default_portal=false", "auto_add_mapped_luns=false"),
        *(("targetcli", "/backstores/block", "create", f"name={unit.name}", f"dev={paths[unit.on]}", f"wwn={unit.serial}")
          for unit in export.devices),
        ("targetcli", "/iscsi", "create", export.iqn),
        ("targetcli", group, "set", "attribute", f"authentication={int(bool(export.key))}", "generate_node_acls=0"),
        ("targetcli", group, "set", "parameter", f"ImmediateData={'Yes' if export.immediate_data else 'No'}"),
        *(("targetcli", f"{group}/luns", "create", f"/backstores/block/{unit.name}", str(lun))
          for lun, unit in enumerate(export.devices)),
        *(command for login in export.logins for command in (
            ("targetcli", f"{group}/acls", "create", login.initiator),
            *([("targetcli", f"{group}/acls/{login.initiator}", "set", "auth", f"userid={login.initiator}",
                f"password={SHOWN}")] if login.key else []),
            *(("targetcli", f"{group}/acls/{login.initiator}", "create", str(lun), str(unit))
              for lun, unit in enumerate(export.units_of(login))))),
        *(("targetcli", f"{group}/portals", "create", address, str(export.port)) for address in export.addresses),
        *(("targetcli", f"{group}/portals/{portal}", "enable_iser", "boolean=true") for portal in export.portals
          if export.transport == "iser"),
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
    if export.key:
        settings |= {"node.session.auth.authmethod": "CHAP", "node.session.auth.username": export.initiator}
        settings[PASSWORD] = SHOWN
    return (
        (*iface, "-o", "new"),
        (*iface, "-o", "update", "-n", "iface.initiatorname", "-v", export.initiator),
        *([(*iface, "-o", "update", "-n", "iface.transport_name", "-v", "iser")] if export.transport == "iser" else []),
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
