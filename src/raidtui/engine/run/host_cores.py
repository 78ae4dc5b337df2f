"""Work of all hosts of a cell, the storage server among them, while the hosts load it: cores, and bytes moved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from raidtui.model.convert import decode
from raidtui.model.host import STORAGE, HostCores
from raidtui.model.hosts import Order
from raidtui.model.problem import ProblemError
from raidtui.stack.catalog import all_layers
from raidtui.watch.cores import CoreWatch
from raidtui.watch.host_load import Moved

if TYPE_CHECKING:
    from raidtui.engine.run.peers import Peer


def daemon_kinds(layers: Iterable[str]) -> dict[str, str]:
    """Return the kinds of the daemons that serve these kinds of layers, by name of the executable."""
    return {name: kind for layer in layers for name, kind in all_layers()[layer].daemons.items()}


def core_watch(workload: int | None = None) -> CoreWatch:
    """Return a watch of this host that knows the kernel threads of all layers; `workload`: as that of `CoreWatch`."""
    return CoreWatch(workload, (layer.threads for layer in all_layers().values()))


class HostWork(msgspec.Struct, frozen=True, omit_defaults=True):
    """Work of one host during one cell; None where it could not be counted."""

    cores: HostCores | None = None
    moved: Moved | None = None
    """Counted by the block devices that it loaded."""


@contextmanager
def counted(peers: Mapping[str, Peer], kinds: Mapping[str, str], *, loads: bool) -> Iterator[dict[str, HostWork]]:
    """Count the work of this host and of these; the mapping is filled at the end. A host that does not answer is left out.

    `kinds`: daemons that serve the layout. `loads`: this host loads it; without daemons, nothing is counted then.
    """
    found: dict[str, HostWork] = {}
    if loads and not kinds:
        yield found
        return
    own = core_watch(os.getpid() if loads else None)
    with ThreadPoolExecutor(len(peers) or 1) as pool:
        list(pool.map(lambda peer: _begin(peer, kinds), peers.values()))
        own.start(kinds)
        yield found
        if used := own.stop():
            found[STORAGE] = HostWork(used)
        for name, work in zip(peers, pool.map(_end, peers.values()), strict=True):
            if work is not None:
                found[name] = work


def _begin(peer: Peer, kinds: Mapping[str, str]) -> None:
    with suppress(ProblemError):
        peer.ask(Order("watch", daemons=dict(kinds)))


def _end(peer: Peer) -> HostWork | None:
    with suppress(ProblemError):
        return decode(HostWork, peer.ask(Order("watched")).facts, peer.name)
    return None
