"""Hosts of a scenario as they see themselves: system, network, and disks. Answer to the request `hosts`."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from raidtui.model.disk import Disk
from raidtui.model.network import Interface, LinkEnd, RdmaPort
from raidtui.model.problem import Problem

LOOKING: Final = "it looks at its disks"
"""`HostView.waits_for` of a host that has answered."""
_Addresses = Annotated[tuple[str, ...], Meta(max_length=64)]


class HostsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of `hosts`."""

    hosts: Annotated[dict[str, _Addresses], Meta(max_length=16)] = {}
    """Group → ssh destinations of its hosts, as the storage server reaches them."""


class OwnView(msgspec.Struct, frozen=True, omit_defaults=True):
    """System, network and disks of a host."""

    cpus: int = 0
    memory_bytes: int = 0
    networks: tuple[Interface, ...] = ()
    """Interfaces of network adapters, and those made of them; no loopback, no containers'."""
    rdma: tuple[RdmaPort, ...] = ()
    disks: Annotated[tuple[Disk, ...], Meta(max_length=10_000)] = ()


class HostView(OwnView, frozen=True, omit_defaults=True, kw_only=True):
    """One host of a scenario."""

    ref: str
    """`storage` (`model.host.STORAGE`), or group and number: `clients-1`."""
    address: str = ""
    """The ssh destination by which the storage server reaches it; empty for the storage server."""
    host: str = ""
    kernel: str = ""
    fio: str = ""
    """Version of its fio; empty if there is none, and for the storage server."""
    own_address: str = ""
    """Its address on the link to the storage server."""
    link: LinkEnd | None = None
    """Its interface on that link."""
    waits_for: str = ""
    """Reason why it has not answered yet; empty at the end."""
    problems: tuple[Problem, ...] = ()
    """Reasons why it cannot be seen, or cannot load anything."""


class HostList(msgspec.Struct, frozen=True):
    """Answer to `hosts`, after a `HostView` as an event whenever one of them changed."""

    schema: str
    """`raidtui.hosts/1`"""
    hosts: tuple[HostView, ...]
    """The storage server first."""
