"""Links between the storage server and the hosts that load its exports: what they carry, and how long an answer takes."""

from __future__ import annotations

from typing import Literal

import msgspec

from raidtui.model.plan import Argv

Way = Literal["to hosts", "to storage"]
"""Reads of hosts go to them, writes to the storage server."""


class LinkTest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One end of a test: connect to an address of the storage server."""

    address: str
    port: int
    seconds: int = 0
    to_hosts: bool = False
    """The storage server sends."""
    rdma: str = ""
    """The client's RDMA port (`mlx5_0/1`) for a test by perftest; empty for one by iperf3."""


class LinkRate(msgspec.Struct, frozen=True, omit_defaults=True):
    """Rates that arrived through the links of some hosts at the same time."""

    way: Way
    hosts: dict[str, float]
    """Bytes per second by host (`Host.ref`)."""
    commands: tuple[Argv, ...] = ()
    rdma: bool = False
    """True if perftest measured it, False if iperf3 did."""

    @property
    def tool(self) -> str:
        return "perftest" if self.rdma else "iperf3"

    @property
    def bytes_per_s(self) -> float:
        """All of these hosts together."""
        return sum(self.hosts.values())


class Links(msgspec.Struct, frozen=True, omit_defaults=True):
    """The links of a run, as they were before its first cell."""

    connect_ms: dict[str, float] = {}
    """Time that a TCP connection of each host to the storage server took: a round trip, the shortest of some."""
    alone: tuple[LinkRate, ...] = ()
    """Each host alone, in both directions."""
    together: tuple[LinkRate, ...] = ()
    """All hosts at the same time, if there are several."""
    not_measured: tuple[str, ...] = ()
    """Reasons why a rate or a time is missing, in sentences."""

    def ceiling(self, way: Way, hosts: tuple[str, ...], *, rdma: bool = False) -> LinkRate | None:
        """Return what these hosts got at most, all at once; None if that was not measured."""
        for one in (*self.together, *self.alone):
            if one.way == way and set(one.hosts) == set(hosts) and one.rdma == rdma:
                return one
        return None
