"""Plans of exports over NVMe-oF: refusals, sizes, and steps.

The kernel's target is configured by folders, files and links in configfs (drivers/nvme/target/configfs.c), as by nvmetcli,
which Debian does not have. The connection is made by libblockdev's nvme plugin, for which the plan shows
`nvme connect`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Final

from raidtui.base.text import plural
from raidtui.model.convert import Operand
from raidtui.model.plan import Argv, Names
from raidtui.model.problem import Problem, Refusal
from raidtui.model.scenario import Policy
from raidtui.stack.exports import LOOPBACK, port_of
from raidtui.stack.layer import Counts, Draft, Parts, Planned, all_at_once
from raidtui.stack.nvmeof import target
from raidtui.stack.nvmeof.spec import DEFAULT_IN_CAPSULE_BYTES, DEFAULT_QUEUE_SIZE, Export, Namespace, NvmeofSpec

KIB: Final = 1 << 10
_NQN: Final = "nqn.2014-08.org.nvmexpress:uuid:"
MODULES: Final = {"loop": ("nvmet", "nvme-loop"), "tcp": ("nvmet-tcp", "nvme-tcp")}
"""Modules by transport; `nvmet` comes with the target's own."""

NONE: Final = Refusal(
    "nvmeof-none",
    "Nothing to export",
    "An export has at least one device.",
    'Name a role or a layer: {"nvmeof": {"on": "@data"}}.',
)
CAPSULE: Final = Refusal(
    "nvmeof-in-capsule",
    "Invalid size of in-capsule data",
    "With tcp the target takes a multiple of 4 KiB, up to 64 KiB, together with a command. The transport loop "
    "has no capsules.",
    "Leave in_capsule_data out.",
)


def inputs(spec: NvmeofSpec) -> Mapping[str, Operand]:
    return {"on": spec.on}


def check(spec: NvmeofSpec, counts: Counts, place: str) -> list[Problem]:
    problems = []
    if counts.get("on", 0) < 1:
        problems.append(NONE.problem("there is no device to export", place=f"{place}.on", remedy=NONE.way_out))
    if (size := spec.in_capsule_data) is not None:
        if spec.transport == "loop":
            text = "the transport loop has no in-capsule data"
            problems.append(CAPSULE.problem(text, place=f"{place}.in_capsule_data", remedy=CAPSULE.way_out))
        elif size.bytes > 64 * KIB or size.bytes % (4 * KIB):
            text = f"{size.text} is no multiple of 4 KiB up to 64 KiB"
            problems.append(CAPSULE.problem(text, place=f"{place}.in_capsule_data", remedy="Write 0B, 4KiB, … 64KiB."))
    return problems


def describe(spec: NvmeofSpec, counts: Counts) -> str:
    """Return a short description: `4 devices over NVMe/TCP, 4 queues of 128`."""
    protocol = {"tcp": "NVMe/TCP", "loop": "NVMe loop"}[spec.transport]
    queues = plural(spec.queues, "queue") if spec.queues is not None else "a queue for each CPU"
    found = f"{plural(counts.get('on', 1), 'device')} over {protocol}, {queues} of {spec.queue_size}"
    if spec.in_capsule_data is not None:
        found += f", {spec.in_capsule_data.text} in capsules"
    return found


def defaults(spec: NvmeofSpec, counts: Counts) -> Mapping[str, tuple[str, str]]:
    found = {
        "transport": ("tcp", "the usual network"),
        "queues": ("one for each CPU", "the kernel's default"),
        "queue_size": (str(DEFAULT_QUEUE_SIZE), "the kernel's default"),
    }
    if spec.transport == "tcp":
        found["in_capsule_data"] = ("16KiB", "the kernel's default")
    return found


def plan(spec: NvmeofSpec, parts: Parts, names: Names, policy: Policy) -> Planned:
    """Return steps, target and devices."""
    created = names.new("nvmeof")
    own = uuid.UUID(created.uuid)
    host = str(uuid.uuid5(own, "host"))
    is_tcp = spec.transport == "tcp"
    below = parts["on"]
    namespaces = tuple(
        Namespace(f"nvmeof:{created.name}-{number}", one.ref, one.path, str(uuid.uuid5(own, f"namespace {number}")),
                  one.size_bytes, one.logical_sector_bytes)
        for number, one in enumerate(below, 1)
    )  # fmt: skip
    export = Export(
        name=created.name,
        nqn=_NQN + created.uuid,
        host_nqn=_NQN + host,
        host_id=host,
        port=1 + own.int % 0xFFFE,
        transport=spec.transport,
        address=LOOPBACK if is_tcp else created.name,
        service=str(port_of(created.uuid)) if is_tcp else "",
        devices=namespaces,
        disks=tuple(dict.fromkeys(disk for one in below for disk in one.disks)),
        queue_size=spec.queue_size,
        queues=spec.queues,
        in_capsule_bytes=_in_capsule_bytes(spec),
    )
    offers = tuple(
        one._replace(ref=namespace.ref, path=device_path(namespace), rotational=False)
        for one, namespace in zip(below, namespaces, strict=True)
    )
    undo = (disconnect_argv(export), *target.remove_argvs(export))
    steps = (
        Draft("nvmeof.export", f"Export {describe(spec, {'on': len(below)})}, and connect to it", export,
              tuple(create_argvs(export, {one.on: one.on_path for one in namespaces})), undo, created, seconds=3.0),
        Draft("nvmeof.verify", "Read the export and the connection back", export, seconds=0.5),
    )  # fmt: skip
    teardown = Draft("nvmeof.remove", "Disconnect, and remove the export", export, undo, seconds=2.0)
    return Planned(steps, (teardown,), (all_at_once(offers),), offers)


def _in_capsule_bytes(spec: NvmeofSpec) -> int | None:
    if spec.transport == "loop":
        return None
    return spec.in_capsule_data.bytes if spec.in_capsule_data is not None else DEFAULT_IN_CAPSULE_BYTES


def device_path(namespace: Namespace) -> str:
    """Return the path under which udev shows the connected namespace."""
    return f"/dev/disk/by-id/nvme-uuid.{namespace.uuid}"


def create_argvs(export: Export, paths: Mapping[str, str]) -> Iterator[Argv]:
    """Yield the commands that export and connect. `paths`: the path of each device below, by its reference."""
    yield from (("modprobe", module) for module in MODULES[export.transport])
    yield from (change.argv for change in target.export_changes(export, paths))
    yield connect_argv(export)


def connect_options(export: Export) -> dict[str, str]:
    """Return the options of the connection, by their names in libblockdev."""
    queues = {"nr_io_queues": str(export.queues)} if export.queues is not None else {}
    return {**queues, "queue_size": str(export.queue_size)}


def connect_argv(export: Export) -> Argv:
    """Return the command for what libblockdev's nvme plugin does."""
    where = ("--traddr", export.address, *(("--trsvcid", export.service) if export.service else ()))
    options = (word for name, value in connect_options(export).items() for word in (f"--{name.replace('_', '-')}", value))
    return ("nvme", "connect", "--transport", export.transport, *where, "--nqn", export.nqn, "--hostnqn", export.host_nqn,
            "--hostid", export.host_id, *options)  # fmt: skip


def disconnect_argv(export: Export) -> Argv:
    return ("nvme", "disconnect", "--nqn", export.nqn)
