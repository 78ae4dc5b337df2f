"""Options of an export over iSCSI and of the session with it, and the arguments of its steps."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from raidtui.model.convert import Operand
from raidtui.model.scenario import Name
from raidtui.stack.links import with_port
from raidtui.stack.tuning.spec import Tuning

Transport = Literal["tcp", "iser"]
DEFAULT_QUEUE_DEPTH: Final = 32
DEFAULT_SESSION_COMMANDS: Final = 128
"""node.session.queue_depth and node.session.cmds_max of open-iscsi (iscsid.conf)."""
RESERVED_COMMANDS: Final = 15
"""Commands of a session that the kernel keeps for itself (ISCSI_MGMT_CMDS_MAX, include/scsi/libiscsi.h)."""


class IscsiSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Block devices that the storage server exports by the kernel's iSCSI target (LIO), for itself or for other hosts."""

    on: Operand
    """The devices to export: disks, or layers. Each becomes a logical unit of one target."""
    transport: Transport = "tcp"
    """tcp: over a socket; iser: by RDMA devices at both ends (iSCSI Extensions for RDMA, RFC 7145)."""
    to: Name | None = None
    """The group of hosts that log in and are measured, each with a region of its own. Default: the storage server
    itself, over its loopback address."""
    address: Annotated[str, Meta(max_length=64, examples=["10.0.0.1", "fd00::1"])] | None = None
    """Address of the storage server to log in to itself by, without `to`. Default: its loopback address; iser needs an
    address of an RDMA device."""
    auth: Literal["chap"] | None = None
    """chap: the initiator proves that it has a random key (CHAP), which is in memory only. Default: its name is enough."""
    queue_depth: Annotated[int, Meta(ge=1, le=1024)] = DEFAULT_QUEUE_DEPTH
    """Commands in flight of each device (node.session.queue_depth)."""
    session_commands: Annotated[int, Meta(ge=2, le=2048)] | None = None
    """Commands in flight of the session, a power of two (node.session.cmds_max). The kernel keeps 15 of them for itself.
    Default: 128, or as many as the queue depth needs."""
    immediate_data: bool = True
    """Send the first data of a write together with its command (ImmediateData, RFC 7143, 13.11)."""
    tuning: Tuning | None = None
    """Kernel settings while the devices are connected."""


    @property
    def commands(self) -> int:
        """Return the commands in flight of the session."""
        least: int = 1 << (self.queue_depth + RESERVED_COMMANDS - 1).bit_length()
        return self.session_commands or max(DEFAULT_SESSION_COMMANDS, least)


class Unit(msgspec.Struct, frozen=True):
    """One exported device, as a backstore and a logical unit."""

    ref: str
    """`iscsi:NAME-0`"""
    name: str
    """Name of the backstore."""
    on: str
    """Reference of the device below."""
    on_path: str
    """Planned path of the device below."""
    serial: str
    """Serial number of the unit, a UUID."""
    size_bytes: int
    sector_bytes: int


class Login(msgspec.Struct, frozen=True):
    """One initiator that may log in, and the address that it finds the target at."""

    initiator: str
    """iSCSI name."""
    address: str
    units: tuple[int, ...] = ()
    """Places of the devices that it has, in the order of its logical units; empty: all of them."""
    key: str = ""
    """Name of the key of its session (`Context.keys`); empty without authentication."""


class IscsiExport(msgspec.Struct, frozen=True):
    """Arguments of all iscsi steps: target, portal, units, and the session with them."""

    name: str
    """Name of the initiator's interface record (iscsiadm(8), iface)."""
    iqn: str
    """iSCSI name of the target (RFC 7143, 4.2.7)."""
    initiator: str
    """iSCSI name of an initiator that may log in."""
    address: str
    """Address that the target listens on for it."""
    port: int
    devices: tuple[Unit, ...]
    disks: tuple[str, ...]
    """Ids of all disks below."""
    queue_depth: int
    session_commands: int
    immediate_data: bool
    transport: Transport = "tcp"
    key: str = ""
    """Name of the key of the initiator's session (`Context.keys`); empty without authentication."""
    others: tuple[Login, ...] = ()
    """Further initiators that may log in; all others are refused."""
    units: tuple[int, ...] = ()
    """Places of the devices that the first initiator has; empty: all of them."""

    @property
    def portal(self) -> str:
        return with_port(self.address, self.port)

    @property
    def logins(self) -> tuple[Login, ...]:
        """Return every initiator that may log in."""
        return (Login(self.initiator, self.address, self.units, self.key), *self.others)

    def units_of(self, login: Login) -> tuple[int, ...]:
        """Return the places of the devices that an initiator has."""
        return login.units or tuple(range(len(self.devices)))

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return every address that the target listens on."""
        return tuple(dict.fromkeys(login.address for login in self.logins))

    @property
    def portals(self) -> tuple[str, ...]:
        """Return every address and port that the target listens on, as configfs names them: `[fd00::1]:3260`."""
        return tuple(with_port(address, self.port) for address in self.addresses)
