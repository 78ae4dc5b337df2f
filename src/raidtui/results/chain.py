"""The way of the data of a layout that hosts load: disks, layout, export, network, client, and the used share of each."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

import msgspec

from raidtui.base.text import clean, plural
from raidtui.model.links import Links, Way
from raidtui.model.measure import Summary
from raidtui.model.result import Cell
from raidtui.results.rates import NOTHING, mb_s_text, percent_text


class Chain(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Used share of each part of the way; None where it was not measured."""

    disks: float | None = None
    """Share of what the bare disks allow."""
    layout: float | None = None
    """Share of what the same layout gave on the storage server itself."""
    protocol: float | None = None
    """Share of what the same export gave over a device that keeps nothing."""
    export: float | None = None
    """Share of the storage server's cores, or of the one core of its busiest kernel thread if that is more."""
    network: float | None = None
    """Share of what the links carried before the first cell."""
    client: float | None = None
    """Share of the cores of the busiest host, or of those that its jobs can use if that is more."""


HEADS: Final = ("layout", "workload", "disks", "local layout", "protocol", "export", "network", "client", "limited by")
TITLE: Final = "Where the rest went, from disks to clients"
ABOUT: Final = (
    "used shares: disks, of what they gave bare; local layout, of what the same layout gave without the export (loaded by "
    "fewer jobs); protocol, of what the same export gave over a device that keeps nothing; export, of the storage server's "
    "cores or of one core for its busiest kernel thread; network, of what iperf3 or perftest got through the links; "
    "client, of a host's cores or a core for each job of fio. Medians of valid rounds"
)


def flows(summary: Summary) -> Iterator[tuple[Way, float]]:
    """Yield the bytes per second of each direction of the network."""
    if summary.read is not None and summary.read.bytes:
        yield "to hosts", summary.read.bytes_per_s
    if summary.write is not None and summary.write.bytes:
        yield "to storage", summary.write.bytes_per_s


def network_share(cell: Cell, links: Links | None, *, rdma: bool = False) -> tuple[float, str] | None:
    """Return the largest used share of a link, or of all links together, and a sentence; None if none was measured.

    `rdma`: the export goes over RDMA, so that its links count as perftest found them.
    """
    if links is None or cell.summary is None:
        return None
    found = []
    groups: list[tuple[str, tuple[str, ...], Summary]] = [(host, (host,), part) for host, part in cell.hosts.items()]
    groups.append(("all hosts together", tuple(cell.hosts), cell.summary))
    for name, hosts, summary in groups:
        for way, rate in flows(summary):
            if (ceiling := links.ceiling(way, hosts, rdma=rdma)) and ceiling.bytes_per_s:
                share = rate / ceiling.bytes_per_s
                words = "received" if way == "to hosts" else "sent"
                sentence = f"{name} {words} {mb_s_text(rate)} MB/s of data, {percent_text(share)} of the "
                found.append((share, f"{sentence}{mb_s_text(ceiling.bytes_per_s)} MB/s that {ceiling.tool} got"))
    return max(found, default=None)


def export_share(cell: Cell) -> float | None:
    """Return the share of the storage server's cores, or of its busiest kernel thread."""
    if cell.cores is None or not cell.cores.cpus:
        return None
    return max(cell.cores.busy / cell.cores.cpus, max(cell.threads.values(), default=0.0) / 100)


def client_share(cell: Cell) -> float | None:
    """Return the share of the busiest host."""
    found = []
    for part in cell.hosts.values():
        if part.cores is not None and part.cores.cpus:
            found.append(part.cores.busy / part.cores.cpus)
        if part.cpu_user_percent is not None and part.cpu_system_percent is not None:
            found.append((part.cpu_user_percent + part.cpu_system_percent) / 100)
    return max(found, default=None)


def chain(
    cell: Cell, links: Links | None, disks: float | None, layout: float | None, protocol: float | None, *,
    rdma: bool = False,
) -> Chain | None:
    """Return the chain of a cell; None if the storage server loaded its layout itself."""
    if not cell.hosts:
        return None
    network = network_share(cell, links, rdma=rdma)
    return Chain(disks, layout, protocol, export_share(cell), network[0] if network else None, client_share(cell))


def middle(chains: list[Chain]) -> Chain | None:
    """Return the medians over some rounds."""
    if not chains:
        return None
    known = {name: [v for one in chains if (v := getattr(one, name)) is not None] for name in Chain.__struct_fields__}
    return Chain(**{name: median(values) if values else None for name, values in known.items()})


def chain_cells(one: Chain, limiter: str) -> tuple[str, ...]:
    """Return the columns behind layout and workload."""
    shares = (one.disks, one.layout, one.protocol, one.export, one.network, one.client)
    return (*(NOTHING if share is None else percent_text(share) for share in shares), clean(limiter))


def links_lines(links: Links) -> Iterator[str]:
    """Yield sentences about what the links of a run carry."""
    for host, ms in links.connect_ms.items():
        yield f"{clean(host)}: a connection takes {ms:.2f} ms"
    for one in (*links.alone, *links.together):
        who = next(iter(one.hosts)) if len(one.hosts) == 1 else f"{plural(len(one.hosts), 'host')} at once"
        yield f"{clean(who)}, {one.way}: {mb_s_text(one.bytes_per_s)} MB/s ({one.tool})"
    for why in links.not_measured:
        yield f"not measured: {clean(why, 400)}"
