"""The server that an engine works on: this machine, or a simulated one with recorded disks."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from raidtui import inventory
from raidtui.engine.clusters import clusters
from raidtui.engine.host_views import disks_on, see_hosts
from raidtui.engine.run import recover
from raidtui.engine.run.peers import look_at
from raidtui.inventory import Change
from raidtui.inventory.smart import read_smart
from raidtui.model.cluster import ClusterView
from raidtui.model.disk import Disk
from raidtui.model.host_view import HostList, HostView
from raidtui.model.plan import Host
from raidtui.model.protocol import RecoveredRun
from raidtui.model.smart import Smart


class Recover(Protocol):
    def __call__(
        self, run_name: str, without: Collection[str] = (), report: recover.Report = ...
    ) -> Iterator[RecoveredRun]:
        """Recover a run, or all (see `engine.run.recover`)."""


class Server(NamedTuple):
    """Everything by which an engine reaches its server."""

    host: str
    has_root: bool
    scan: Callable[[Mapping[str, str]], tuple[Disk, ...]]
    """All disks; the argument has the disks that runs hold (`inventory.scan`)."""
    search: Callable[[Sequence[Disk], float], Sequence[Disk]]
    """The same disks, searched for data for so many seconds each (`inventory.search`)."""
    watch: Callable[[Callable[[], object], Callable[[], bool]], Generator[tuple[Change, ...], bool | None]]
    """Changes of disks and of their users (`inventory.watch`)."""
    recover: Recover
    look_at: Callable[[Mapping[str, Sequence[str]]], Mapping[str, tuple[Host, ...]]] = look_at
    """Ask hosts beside it who they are, by group (`run.peers.look_at`)."""
    see_hosts: Callable[[HostView, Mapping[str, Sequence[str]]], Generator[HostView, None, HostList]] = see_hosts
    """Ask hosts beside it what they have (`host_views.see_hosts`)."""
    disks_on: Callable[[Sequence[Host]], Mapping[str, tuple[Disk, ...]]] = disks_on
    """Ask hosts beside it for their disks, by `Host.ref` (`host_views.disks_on`)."""
    clusters: Callable[[], tuple[ClusterView, ...]] = clusters
    """Ask the clusters that are configured here (`engine.clusters`)."""
    read_smart: Callable[[Disk], Smart] = read_smart
    """SMART data of a disk (`inventory.smart`)."""
    runner: tuple[str, ...] = ("runner",)
    """Words of the runner's command line before the run's folder."""
    simulated: bool = False
    machine_id: str = ""
    boot_id: str = ""


_server: Server | None = None


def server() -> Server:
    """Return the server of this engine: this machine unless `use` named another one."""
    return _server or Server(
        host=socket.gethostname(),
        has_root=os.geteuid() == 0,
        scan=lambda held: inventory.scan(held=held),
        search=inventory.search,
        watch=inventory.watch,
        recover=recover.recover,
        machine_id=inventory.machine_id(),
        boot_id=inventory.boot_id(),
    )


def use(other: Server) -> None:
    """Serve another server from now on: called once, before the first request."""
    global _server
    _server = other
