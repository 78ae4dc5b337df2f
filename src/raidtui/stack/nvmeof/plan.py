"""Plans of exports over NVMe-oF: refusals, sizes, and steps.

The kernel's target is configured by folders, files and links in configfs (drivers/nvme/target/configfs.c), as by nvmetcli,
which Debian does not have. The connection is made by libblockdev's nvme plugin, for which the plan shows
`nvme connect`.
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
from raidtui.stack.auth import SHOWN, kernel_lacks
from raidtui.stack.exports import LOOPBACK, port_of
from raidtui.stack.layer import Counts, Draft, Part, Parts, Planned, all_at_once
from raidtui.stack.links import canonical, own_rdma_problems, rdma_problems, wrong_address
from raidtui.stack.nvmeof import target
from raidtui.stack.nvmeof.spec import (
    DEFAULT_IN_CAPSULE_BYTES,
    DEFAULT_QUEUE_SIZE,
    KIB,
    MOST_IN_CAPSULE_BYTES,
    MOST_RDMA_QUEUE_SIZE,
    Export,
    Namespace,
    NvmeofSpec,
)
from raidtui.stack.shares import loaded_by, shares

_NQN: Final = "nqn.2014-08.org.nvmexpress:uuid:"
TARGET_MODULES: Final = {"loop": ("nvmet", "nvme-loop"), "tcp": ("nvmet-tcp",), "rdma": ("nvmet-rdma",)}
"""Modules by transport; `nvmet` comes with the target's own."""
INITIATOR_MODULES: Final = {"loop": (), "tcp": ("nvme-tcp",), "rdma": ("nvme-rdma",)}
_PROTOCOLS: Final = {"tcp": "NVMe/TCP", "rdma": "NVMe/RDMA", "loop": "NVMe loop"}

NONE: Final = Refusal(
    "nvmeof-none",
    "Nothing to export",
    "An export has at least one device.",
    'Name a role or a layer: {"nvmeof": {"on": "@data"}}.',
)
LOOP_TO: Final = Refusal(
    "nvmeof-loop-to",
    "The transport loop has no network",
    "The transport loop connects the kernel's target to its own initiator; other hosts cannot use it.",
    'Use "transport": "tcp".',
)
CAPSULE: Final = Refusal(
    "nvmeof-in-capsule",
    "Invalid size of in-capsule data",
    "Together with a command the target takes a multiple of 4 KiB, with tcp up to 64 KiB, with rdma up to 16 KiB. The "
    "transport loop has no capsules.",
    "Leave in_capsule_data out.",
)
ADDRESS: Final = Refusal(
    "nvmeof-address",
    "Invalid address of an export",
    "An address is one of the storage server's own, for an export to itself: rdma needs one, since RDMA devices have no "
    "loopback address. Exports to other hosts listen on the link to each host, and the transport loop has no addresses.",
    'Write "address": "10.0.0.1" with rdma and without "to"; `rdma link` and `ip -br address` show the addresses.',
)
QUEUE_SIZE: Final = Refusal(
    "nvmeof-queue-size",
    "The queue size is too large for RDMA",
    "Over RDMA the kernel's target offers queues of at most 128 commands.",
    'Write "queue_size": 128 or less.',
)
SPDK: Final = Refusal(
    "nvmeof-spdk",
    "Exports by SPDK are not supported",
    "raidtui exports with the kernel's NVMe target (nvmet) alone. SPDK's target (spdk_tgt) is a process of its own, "
    "configured by JSON-RPC; raidtui does not do that, whether one runs or not.",
    'Leave "target" out, or write "target": "kernel".',
)


def inputs(spec: NvmeofSpec) -> Mapping[str, Operand]:
    return {"on": spec.on}


def check(spec: NvmeofSpec, counts: Counts, place: str) -> list[Problem]:
    problems = []
    if counts.get("on", 0) < 1:
        problems.append(NONE.problem("there is no device to export", place=f"{place}.on", remedy=NONE.way_out))
    if spec.target == "spdk":
        text = "raidtui does not configure SPDK's target; it exports with the kernel's alone"
        problems.append(SPDK.problem(text, place=f"{place}.target", remedy=SPDK.way_out))
    if spec.to and spec.transport == "loop":
        text = "the transport loop does not reach other hosts"
        problems.append(LOOP_TO.problem(text, place=f"{place}.transport", remedy=LOOP_TO.way_out))
    if (size := spec.in_capsule_data) is not None:
        if spec.transport == "loop":
            text = "the transport loop has no in-capsule data"
            problems.append(CAPSULE.problem(text, place=f"{place}.in_capsule_data", remedy=CAPSULE.way_out))
        elif size.bytes > (most := MOST_IN_CAPSULE_BYTES[spec.transport]) or size.bytes % (4 * KIB):
            text = f"{size.text} is no multiple of 4 KiB up to {most // KIB} KiB"
            remedy = f"Write 0B, 4KiB, … {most // KIB}KiB."
            problems.append(CAPSULE.problem(text, place=f"{place}.in_capsule_data", remedy=remedy))
    text = wrong_address(spec.address, spec.to, "rdma" if spec.transport == "rdma" else "")
    if spec.address is not None and spec.transport == "loop":
        text = "the transport loop has no addresses"
    if text:
        problems.append(ADDRESS.problem(text, place=f"{place}.address", remedy=ADDRESS.way_out))
    if spec.transport == "rdma" and spec.queue_size > MOST_RDMA_QUEUE_SIZE:
        text = f"a queue size of {spec.queue_size} over RDMA"
        problems.append(QUEUE_SIZE.problem(text, place=f"{place}.queue_size", remedy=QUEUE_SIZE.way_out))
    return problems


def lacking_here(spec: NvmeofSpec, place: str) -> Iterator[Problem]:
    """Yield what this server lacks, as the kernel shows it now."""
    if spec.auth:
        yield from kernel_lacks("CONFIG_NVME_TARGET_AUTH", f"{place}.auth")
    if spec.transport == "rdma" and spec.address is not None:
        yield from own_rdma_problems(spec.address, f"{place}.address")


def exported_to(spec: NvmeofSpec) -> str:
    return spec.to or ""


def describe(spec: NvmeofSpec, counts: Counts) -> str:
    """Return a short description: `4 devices over NVMe/TCP to clients, 4 queues of 128`."""
    protocol = _PROTOCOLS[spec.transport]
    queues = plural(spec.queues, "queue") if spec.queues is not None else "a queue for each CPU"
    where = f" to {spec.to}" if spec.to else ""
    found = f"{plural(counts.get('on', 1), 'device')} over {protocol}{where}, {queues} of {spec.queue_size}"
    if spec.auth:
        found += ", authenticated"
    if spec.in_capsule_data is not None:
        found += f", {spec.in_capsule_data.text} in capsules"
    return found


def defaults(spec: NvmeofSpec, counts: Counts) -> Mapping[str, tuple[str, str]]:
    found = {
        "transport": ("tcp", "the usual network"),
        "queues": ("one for each CPU", "the kernel's default"),
        "queue_size": (str(DEFAULT_QUEUE_SIZE), "the kernel's default"),
    }
    if spec.transport != "loop":
        found["in_capsule_data"] = (f"{DEFAULT_IN_CAPSULE_BYTES[spec.transport] // KIB}KiB", "the kernel's default")
    return found


def plan(spec: NvmeofSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Return steps, target and devices."""
    created, below = names.new("nvmeof"), parts["on"]
    export = _export(spec, below, created, created.name if spec.transport == "loop" else spec.address or LOOPBACK)
    offers = tuple(
        one._replace(ref=namespace.ref, path=device_path(namespace), rotational=False)
        for one, namespace in zip(below, export.devices, strict=True)
    )
    undo = (disconnect_argv(export), *target.remove_argvs(export))
    steps = (
        Draft("nvmeof.export", f"Export {describe(spec, {'on': len(below)})}, and connect to it", export,
              tuple(create_argvs(export, {one.on: one.on_path for one in export.devices})), undo, created, seconds=3.0),
        Draft("nvmeof.verify", "Read the export and the connection back", export, seconds=0.5),
    )  # fmt: skip
    teardown = Draft("nvmeof.remove", "Disconnect, and remove the export", export, undo, seconds=2.0)
    return Planned(steps, (teardown,), (all_at_once(offers),), offers)


def plan_on(spec: NvmeofSpec, parts: Parts, names: Names, hosts: Sequence[Host]) -> Planned:
    """Return the plan of an export to other hosts: a subsystem for each of them, so that no other can connect to it."""
    below, build, teardown, refs = parts["on"], list[Draft](), list[Draft](), list[tuple[str, ...]]()
    if spec.transport == "rdma" and (problems := tuple(rdma_problems(hosts, "nvmeof.transport"))):
        raise ProblemError(*problems)
    paths, ports = list[str](), list[int]()
    for host, own in zip(hosts, shares(below, hosts), strict=True):
        offered, connected = names.new("nvmeof"), names.new("nvmeof")
        export = _export(spec, own, offered, host.storage_address, ports)
        ports.append(int(export.service))
        connection = msgspec.structs.replace(export, name=connected.name, disks=())
        what, remove = f"{plural(len(own), 'device')} over {_PROTOCOLS[spec.transport]}", target.remove_argvs(export)
        offer = tuple(offer_argvs(export, {one.on: one.on_path for one in export.devices}))
        build += [
            Draft("nvmeof.offer", f"Export {what} to {host.ref} alone", export, offer, remove, offered, seconds=1.0),
            Draft("nvmeof.connect", f"{host.ref}: connect to it", connection, tuple(connect_argvs(export)),
                  (disconnect_argv(export),), connected, seconds=3.0, host=host.ref),
        ]  # fmt: skip
        teardown += [
            Draft("nvmeof.disconnect", f"{host.ref}: disconnect", connection, (disconnect_argv(export),), seconds=1.0,
                  host=host.ref),
            Draft("nvmeof.withdraw", f"Remove the export to {host.ref}", export, remove, seconds=1.0),
        ]  # fmt: skip
        refs.append(tuple(one.ref for one in export.devices))
        paths = paths or [device_path(one) for one in export.devices]
    return Planned(tuple(build), tuple(teardown), (loaded_by(below, hosts, refs, paths),))


def _export(spec: NvmeofSpec, below: Sequence[Part], created: Created, address: str, ports: Sequence[int] = ()) -> Export:
    """Return the export of these devices. `address`: where it listens; with the transport loop, any name.

    `ports`: those of the other exports beside it.
    """
    own = uuid.UUID(created.uuid)
    host = str(uuid.uuid5(own, "host"))
    namespaces = tuple(
        Namespace(f"nvmeof:{created.name}-{number}", one.ref, one.path, str(uuid.uuid5(own, f"namespace {number}")),
                  one.size_bytes, one.logical_sector_bytes)
        for number, one in enumerate(below, 1)
    )  # fmt: skip
    return Export(
        name=created.name,
        nqn=_NQN + created.uuid,
        host_nqn=_NQN + host,
        host_id=host,
        port=1 + own.int % 0xFFFE,
        transport=spec.transport,
        address=canonical(address),
        service="" if spec.transport == "loop" else str(port_of(created.uuid, ports)),
        devices=namespaces,
        disks=tuple(dict.fromkeys(disk for one in below for disk in one.disks)),
        queue_size=spec.queue_size,
        queues=spec.queues,
        in_capsule_bytes=_in_capsule_bytes(spec),
        key=created.name if spec.auth else "",
    )


def _in_capsule_bytes(spec: NvmeofSpec) -> int | None:
    if spec.transport == "loop":
        return None
    return spec.in_capsule_data.bytes if spec.in_capsule_data is not None else DEFAULT_IN_CAPSULE_BYTES[spec.transport]


def device_path(namespace: Namespace) -> str:
    """Return the path under which udev shows the connected namespace."""
    return f"/dev/disk/by-id/nvme-uuid.{namespace.uuid}"


def create_argvs(export: Export, paths: Mapping[str, str]) -> Iterator[Argv]:
    """Yield the commands that export and connect. `paths`: the path of each device below, by its reference."""
    yield from offer_argvs(export, paths)
    yield from connect_argvs(export)


def offer_argvs(export: Export, paths: Mapping[str, str]) -> Iterator[Argv]:
    yield from (("modprobe", module) for module in TARGET_MODULES[export.transport])
    yield from (change.argv for change in target.export_changes(export, paths))


def connect_argvs(export: Export) -> Iterator[Argv]:
    yield from (("modprobe", module) for module in INITIATOR_MODULES[export.transport])
    yield connect_argv(export)


def connect_options(export: Export) -> dict[str, str]:
    """Return the options of the connection, by their names in libblockdev."""
    queues = {"nr_io_queues": str(export.queues)} if export.queues is not None else {}
    return {**queues, "queue_size": str(export.queue_size)}


def secret_options(key: str) -> dict[str, str]:
    """Return the options of the connection with its key; nothing without one."""
    return {"dhchap_key": key} if key else {}


def connect_argv(export: Export) -> Argv:
    """Return the command for what libblockdev's nvme plugin does."""
    where = ("--traddr", export.address, *(("--trsvcid", export.service) if export.service else ()))
    options = (word for name, value in connect_options(export).items() for word in (f"--{name.replace('_', '-')}", value))
    return ("nvme", "connect", "--transport", export.transport, *where, "--nqn", export.nqn, "--hostnqn", export.host_nqn,
            "--hostid", export.host_id, *options, *(("--dhchap-secret", SHOWN) if export.key else ()))  # fmt: skip


def disconnect_argv(export: Export) -> Argv:
    return ("nvme", "disconnect", "--nqn", export.nqn)
