"""Tables of what a workload took of the server besides its disks: the way to its clients, CPU cores, network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from raidtui.base.text import clean
from raidtui.results import chain, cores, daemons, networks
from raidtui.results.accounting import over_rounds
from raidtui.results.comparison import Comparison


class ResourceTable(NamedTuple):
    """A table below the comparison, as text."""

    key: str
    title: str
    heads: tuple[str, ...]
    names: int
    """Number of leading columns that hold names; the others hold numbers."""
    about: str
    rows: list[tuple[str, ...]]


def resource_tables(comparison: Comparison) -> Iterator[ResourceTable]:
    """Yield the tables that have a row."""
    used, moved = list(cores.core_lines(comparison)), list(networks.network_lines(comparison))
    hosts = list(cores.host_lines(comparison))
    way = [
        (clean(one.row), clean(one.workload), *chain.chain_cells(one.chain, one.limiter))
        for one in over_rounds(comparison.accounts) if one.chain is not None
    ]  # fmt: skip
    found = (
        ResourceTable("way", chain.TITLE, chain.HEADS, 2, chain.ABOUT, way),
        ResourceTable("cores", cores.TITLE, cores.HEADS, 2, cores.ABOUT, used),
        ResourceTable("host-cores", cores.HOSTS_TITLE, cores.HOSTS_HEADS, 3, cores.HOSTS_ABOUT, hosts),
        ResourceTable("daemons", daemons.TITLE, daemons.HEADS, 4, daemons.ABOUT, list(daemons.daemon_lines(comparison))),
        ResourceTable("daemon-bytes", daemons.BYTES_TITLE, daemons.BYTES_HEADS, 2, daemons.BYTES_ABOUT,
                      list(daemons.byte_lines(comparison))),
        ResourceTable("network", networks.TITLE, networks.HEADS, 3, networks.ABOUT, moved),
    )  # fmt: skip
    return (table for table in found if table.rows)
