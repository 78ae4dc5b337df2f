"""Hosts of a scenario, asked what they are and which disks they have: nothing is touched, and no run begins."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import msgspec

from raidtui import inventory
from raidtui.engine.machine import memory_bytes
from raidtui.engine.run import runs, space
from raidtui.engine.run.peers import HOST_LOST, HOST_NO_FIO, Peer, ssh_argv
from raidtui.inventory.interfaces import interfaces, rdma_ports
from raidtui.model.disk import Disk
from raidtui.model.host import STORAGE
from raidtui.model.host_view import LOOKING, HostList, HostView, OwnView
from raidtui.model.hosts import Order
from raidtui.model.plan import Host
from raidtui.model.problem import Exit, Problem, ProblemError, bug, fail

HOSTS_SCHEMA: Final = "raidtui.hosts/1"
_AT_ONCE: Final = 8
_LOOK_S: Final = 120.0
"""Time that a host may take to look at its disks."""

Told = Callable[[HostView], None]


def own_view(disks: Sequence[Disk] | None = None) -> OwnView:
    """Return this host as it is now. `disks`: as already known; None looks at all of them."""
    found = tuple(inventory.scan(held=runs.held_disks()) if disks is None else disks)
    return OwnView(os.cpu_count() or 0, memory_bytes(), interfaces(), rdma_ports(), found)


def storage_view(host: str, disks: Sequence[Disk]) -> HostView:
    """Return the storage server, which this is."""
    return HostView(ref=STORAGE, host=host, kernel=os.uname().release, **msgspec.structs.asdict(own_view(disks)))


def see_hosts(
    storage: HostView, groups: Mapping[str, Sequence[str]], argv_of: Callable[[str], Sequence[str]] = ssh_argv
) -> Generator[HostView, None, HostList]:
    """Ask these ssh destinations at the same time; yield each host when something is known of it, return all at the end.

    A host that cannot be reached has its problems.
    """
    names = [(f"{group}-{number}", address) for group, found in groups.items() for number, address in enumerate(found, 1)]
    yield storage
    told: queue.SimpleQueue[HostView] = queue.SimpleQueue()
    pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="hosts")
    seen = {ref: HostView(ref=ref, address=address, waits_for="ssh") for ref, address in names}
    try:
        for ref, address in names:
            pool.submit(_see, ref, address, argv_of, told.put)
        waiting = set(seen)
        while waiting:
            view = told.get()
            seen[view.ref] = view
            if not view.waits_for:
                waiting.discard(view.ref)
            yield view
    finally:  # whoever asked may be gone: nobody waits for those that are still asked
        pool.shutdown(wait=False, cancel_futures=True)
    return HostList(HOSTS_SCHEMA, (storage, *seen.values()))


def disks_on(
    hosts: Sequence[Host], argv_of: Callable[[str], Sequence[str]] = ssh_argv
) -> dict[str, tuple[Disk, ...]]:
    """Return the disks of these hosts by `Host.ref`, each asked at the same time. Raises ProblemError."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip((host.ref for host in hosts), pool.map(partial(_disks, argv_of), hosts), strict=True))


def _disks(argv_of: Callable[[str], Sequence[str]], host: Host) -> tuple[Disk, ...]:
    peer = Peer(host.ref, argv_of(host.address), host.address)
    try:
        return _complete(HostView(ref=host.ref), peer).disks
    finally:
        peer.close()


def _see(ref: str, address: str, argv_of: Callable[[str], Sequence[str]], told: Told) -> None:
    view = HostView(ref=ref, address=address)
    try:
        peer = Peer(ref, argv_of(address), address)
        try:
            view = _greeted(view, peer)
            told(msgspec.structs.replace(view, waits_for=LOOKING))
            view = _complete(view, peer)
        finally:
            peer.close()
    except ProblemError as error:
        view = msgspec.structs.replace(view, problems=(*view.problems, *error.problems))
    except Exception as error:  # the thread's boundary: whoever waits for this host gets it in words
        view = msgspec.structs.replace(view, problems=(*view.problems, bug(error, ref)))
    told(view)


def _greeted(view: HostView, peer: Peer) -> HostView:
    """Return the view with what the peer's hello says."""
    hello, problems = peer.hello, list[Problem]()
    if not hello.fio:
        remedy = f"Install it: apt install fio, or raidtui --on {view.address} prepare"
        problems.append(HOST_NO_FIO.problem(f"fio is not installed on {view.address}", place=view.ref, remedy=remedy))
    if problem := space.too_little(f"{view.ref} ({view.address})", hello.folder, hello.free_bytes):
        problems.append(problem)
    return msgspec.structs.replace(view, host=hello.host, kernel=hello.kernel, fio=hello.fio, own_address=hello.own_address,
                                   link=hello.own_link, problems=tuple(problems))  # fmt: skip


def _complete(view: HostView, peer: Peer) -> HostView:
    """Return the view with system, network and disks. Raises ProblemError."""
    try:
        own = msgspec.convert(peer.ask(Order("look"), _LOOK_S).facts, OwnView)
    except msgspec.ValidationError as error:
        raise fail(HOST_LOST, f"the answer of {view.ref} cannot be used: {error}", place=view.ref,
                   exit=Exit.REFUSED) from None  # fmt: skip
    return msgspec.structs.replace(view, **msgspec.structs.asdict(own))
