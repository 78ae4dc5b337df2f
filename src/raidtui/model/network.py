"""Network interfaces and RDMA ports: counters, rates between two samples, use over a cell, description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""Number that no counter of a kernel exceeds; a larger one, which another machine may send, is refused."""

NOTICEABLE_BYTES_PER_S = 1e6
"""Mean rate in one direction from which on an interface is shown: a run that is followed over ssh is less."""


class NetCounters(msgspec.Struct, frozen=True, array_like=True):
    """Counters of one interface: the first four of each direction in /proc/net/dev (proc_pid_net(5)).

    An RDMA port, whose traffic does not pass the network stack, has the same from its counters in sysfs.
    """

    received_bytes: Count
    received_packets: Count
    received_errors: Count
    received_drops: Count
    sent_bytes: Count
    sent_packets: Count
    sent_errors: Count
    sent_drops: Count


_decoder = msgspec.json.Decoder(NetCounters)


def read_net_counters(text: str) -> NetCounters | None:
    """Return an interface's counters from a frame's text; None if that is not a line of eight numbers."""
    try:
        return _decoder.decode(f"[{text.replace(' ', ',')}]")
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return None


class NetRates(msgspec.Struct, frozen=True):
    """Rates and losses of one interface between two samples."""

    received_bytes_per_s: float
    sent_bytes_per_s: float
    counted: NetCounters
    """Differences of the counters."""
    span_s: float

    @property
    def busiest_bytes_per_s(self) -> float:
        """Rate of the direction that moved more."""
        return max(self.received_bytes_per_s, self.sent_bytes_per_s)

    @property
    def noticeable(self) -> bool:
        """True if enough moved in one direction to be shown."""
        return self.busiest_bytes_per_s >= NOTICEABLE_BYTES_PER_S

    @property
    def lost(self) -> int:
        """Packets with errors, and dropped ones."""
        one = self.counted
        return one.received_errors + one.received_drops + one.sent_errors + one.sent_drops


def net_rates(a: NetCounters, b: NetCounters, span_s: float) -> NetRates | None:
    """Return the rates between sample `a` and the later sample `b`; None if a counter went down: they began anew."""
    counts = [now - then for then, now in zip(msgspec.structs.astuple(a), msgspec.structs.astuple(b), strict=True)]
    if span_s <= 0 or min(counts) < 0:
        return None
    counted = NetCounters(*counts)
    return NetRates(counted.received_bytes / span_s, counted.sent_bytes / span_s, counted, span_s)


def no_traffic(span_s: float) -> NetRates:
    """Return the rates of an idle interface."""
    return NetRates(0.0, 0.0, NetCounters(0, 0, 0, 0, 0, 0, 0, 0), span_s)


class NetTotals(msgspec.Struct, frozen=True, omit_defaults=True):
    """One interface, or RDMA port (`mlx5_0/1`), over one cell."""

    received_bytes: Count = 0
    sent_bytes: Count = 0
    received_packets: Count = 0
    sent_packets: Count = 0
    received_errors: Count = 0
    sent_errors: Count = 0
    received_drops: Count = 0
    sent_drops: Count = 0
    known_s: float = 0.0
    """Seconds that the counters cover; less than the cell if the interface came, left, or began to count anew."""

    @property
    def received_bytes_per_s(self) -> float:
        return self.received_bytes / self.known_s if self.known_s > 0 else 0.0

    @property
    def sent_bytes_per_s(self) -> float:
        return self.sent_bytes / self.known_s if self.known_s > 0 else 0.0

    @property
    def busiest_bytes_per_s(self) -> float:
        """Mean rate of the direction that moved more: a link carries its speed in each."""
        return max(self.received_bytes_per_s, self.sent_bytes_per_s)

    @property
    def noticeable(self) -> bool:
        """True if enough moved in one direction to be shown."""
        return self.busiest_bytes_per_s >= NOTICEABLE_BYTES_PER_S

    @property
    def errors(self) -> int:
        return self.received_errors + self.sent_errors

    @property
    def drops(self) -> int:
        return self.received_drops + self.sent_drops


def totals_of(use: NetTotals) -> NetTotals:
    """Return the same without a series."""
    return NetTotals(*(getattr(use, field) for field in NetTotals.__struct_fields__))


class NetworkUse(NetTotals, frozen=True, omit_defaults=True):
    """One interface over one cell, frame by frame if it moved noticeable data."""

    series: dict[str, list[float | None]] = {}
    """One value per frame, at the cell's `device_at_s`: `received_bytes_per_s`, `sent_bytes_per_s`."""


class Interface(msgspec.Struct, frozen=True, omit_defaults=True):
    """One network interface of a server, without its addresses: an adapter's, or one that is made of adapters' ones."""

    name: str
    kind: str = ""
    """`bond`, `vlan`, `bridge`, …; empty for an adapter's own."""
    driver: str = ""
    up: bool = False
    speed_mbit_s: Count | None = None
    """None without a link, and where the kernel does not tell it, such as most virtual adapters."""
    mtu: Count | None = None

    @property
    def words(self) -> str:
        """`25 Gbit/s mlx5_core, MTU 9000`."""
        if not self.up:
            return f"down {self.driver or self.kind}".strip()
        return _at_speed(self.driver or self.kind, self.speed_mbit_s) + (f", MTU {self.mtu}" if self.mtu else "")


def _at_speed(what: str, mbit_s: int | None) -> str:
    """`25 Gbit/s mlx5_core`, or `virtio_net of unknown speed`."""
    return f"{what} of unknown speed".strip() if mbit_s is None else f"{speed_text(mbit_s)} {what}".strip()


class RdmaPort(msgspec.Struct, frozen=True, omit_defaults=True):
    """One port of an RDMA device."""

    device: str
    port: Count
    link_layer: str = ""
    """`Ethernet` (RoCE, iWARP) or `InfiniBand`."""
    interface: str = ""
    """The network interface of the same port; empty if there is none."""
    driver: str = ""
    up: bool = False
    speed_mbit_s: Count | None = None

    @property
    def name(self) -> str:
        """Its name in frames."""
        return f"{self.device}/{self.port}"

    @property
    def words(self) -> str:
        """`100 Gbit/s InfiniBand mlx5_core`."""
        what = " ".join(filter(None, (self.link_layer, self.driver)))
        return _at_speed(what, self.speed_mbit_s) if self.up else f"down {what}".strip()


class LinkEnd(msgspec.Struct, frozen=True, omit_defaults=True):
    """One end of the connection to another host: the interface that has the address in use."""

    interface: str
    mtu: Count | None = None
    rdma: str = ""
    """The RDMA port that has the address, and that is up: `mlx5_0/1`; empty without one."""


def network_words(networks: Iterable[Interface], rdma: Iterable[RdmaPort] = ()) -> str:
    """Return a line about a server's network: `eth0 25 Gbit/s mlx5_core, MTU 9000; RDMA mlx5_0/1 25 Gbit/s Ethernet`."""
    found = [f"{one.name} {one.words}" for one in networks]
    found += [f"RDMA {one.name} {one.words}" + (f" on {one.interface}" if one.interface else "") for one in rdma]
    return "; ".join(found)


def network_fact(networks: Iterable[Interface]) -> str:
    """Return what servers are compared by: interfaces that are up, without names, which differ by slot."""
    return _counted(one.words for one in networks if one.up)


def rdma_fact(rdma: Iterable[RdmaPort]) -> str:
    """Return the same of RDMA ports."""
    return _counted(one.words for one in rdma if one.up)


def network_speeds(networks: Iterable[Interface], rdma: Iterable[RdmaPort]) -> dict[str, float]:
    """Return what interfaces and RDMA ports of known speed carry in one direction, in bytes per second, by their name."""
    speeds = {**{one.name: one.speed_mbit_s for one in networks}, **{one.name: one.speed_mbit_s for one in rdma}}
    return {name: mbit_s * 1e6 / 8 for name, mbit_s in speeds.items() if mbit_s}


def _counted(words: Iterable[str]) -> str:
    return "; ".join(f"{count} × {one}" for one, count in sorted(Counter(words).items()))


def speed_text(mbit_s: int) -> str:
    """`25 Gbit/s`, `2.5 Gbit/s`, `100 Mbit/s`."""
    return f"{mbit_s / 1000:g} Gbit/s" if mbit_s >= 1000 else f"{mbit_s} Mbit/s"
