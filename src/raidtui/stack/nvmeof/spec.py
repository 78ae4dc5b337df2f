"""Options of an export over NVMe-oF and of the connection to it, and the arguments of its steps."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.scenario import Name
from raidtui.model.units import Size
from raidtui.stack.tuning.spec import Tuning

Transport = Literal["loop", "tcp", "rdma"]
DEFAULT_QUEUE_SIZE: Final = 128
"""NVMF_DEF_QUEUE_SIZE (drivers/nvme/host/fabrics.h)."""
KIB: Final = 1 << 10
DEFAULT_IN_CAPSULE_BYTES: Final = {"tcp": 16 * KIB, "rdma": 4 * KIB}
"""NVMET_TCP_DEF_INLINE_DATA_SIZE (drivers/nvme/target/tcp.c) and NVMET_RDMA_DEFAULT_INLINE_DATA_SIZE (rdma.c), with pages
of 4 KiB."""
MOST_IN_CAPSULE_BYTES: Final = {"tcp": 64 * KIB, "rdma": 16 * KIB}
"""NVMET_RDMA_MAX_INLINE_DATA_SIZE; tcp takes more, which nobody needs."""
MOST_RDMA_QUEUE_SIZE: Final = 128
"""NVME_RDMA_DEFAULT_QUEUE_SIZE (include/linux/nvme-rdma.h): the target offers no more unless it is told to."""


class NvmeofSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Block devices that the storage server exports with the kernel's NVMe target, for itself or for other hosts."""

    on: Operand
    """The devices to export: disks, or layers. Each becomes a namespace of one subsystem."""
    transport: Transport = "tcp"
    """tcp: over a socket; rdma: by RDMA devices at both ends (RoCE, InfiniBand, iWARP); loop: inside of the kernel, without
    a network."""
    to: Name | None = None
    """The group of hosts that connect and are measured, each with a region of its own. Default: the storage server
    itself, over its loopback address."""
    address: Annotated[str, Meta(max_length=64, examples=["10.0.0.1", "fd00::1"])] | None = None
    """Address of the storage server to connect to itself by, without `to`. Default: its loopback address; rdma has none,
    and needs an address of an RDMA device."""
    target: Literal["kernel", "spdk"] = "kernel"
    """Software that exports. kernel: nvmet; spdk is refused, since raidtui does not configure SPDK's target."""
    auth: Literal["dh-hmac-chap"] | None = None
    """dh-hmac-chap: the host proves that it has a random key, which is in memory only. Default: its name is enough."""
    queues: Annotated[int, Meta(ge=1, le=127)] | None = None
    """I/O queues of the connection. Default: one for each CPU."""
    queue_size: Annotated[int, Meta(ge=16, le=1024)] = DEFAULT_QUEUE_SIZE
    """Commands in flight of each I/O queue; with rdma at most 128."""
    in_capsule_data: Annotated[Size, Meta(examples=["16KiB", "0B", "64KiB"])] | None = None
    """Data of a write that is sent together with its command: a multiple of 4KiB, with tcp up to 64KiB, with rdma up to
    16KiB. Default: 16KiB with tcp, 4KiB with rdma."""
    tuning: Tuning | None = None
    """Kernel settings while the devices are connected."""


class Namespace(msgspec.Struct, frozen=True):
    """One exported device."""

    ref: str
    """`nvmeof:NAME-1`"""
    on: str
    """Reference of the device below."""
    on_path: str
    """Planned path of the device below."""
    uuid: str
    """UUID of the namespace: the same on both sides."""
    size_bytes: int
    sector_bytes: int


class Export(msgspec.Struct, frozen=True):
    """Arguments of all nvmeof steps: the subsystem, its port, and the connection to it."""

    name: str
    """Serial number of the subsystem; the address of a port of the transport loop."""
    nqn: str
    """NVMe Qualified Name of the subsystem (NVM Express Base Specification, 4.7)."""
    host_nqn: str
    """Name of the only host that may connect."""
    host_id: str
    port: int
    """Number of the port's folder in configfs."""
    transport: str
    address: str
    service: str
    """Port of the address; empty with loop."""
    devices: tuple[Namespace, ...]
    disks: tuple[str, ...]
    """Ids of all disks below."""
    queue_size: int
    queues: int | None = None
    """I/O queues; None: one for each CPU."""
    in_capsule_bytes: int | None = None
    """None with loop."""
    key: str = ""
    """Name of the key of the connection (`Context.keys`); empty without authentication."""
