"""The links between the storage server and its hosts, measured before the first cell: both ends.

The storage server listens on its address of the link alone, for the time of a test. That a link cannot be measured is no
error: the result says why.
"""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Final, get_args

import msgspec

from raidtui.base import proc
from raidtui.base.attention import current
from raidtui.load import iperf3, perftest
from raidtui.model.hosts import Order
from raidtui.model.links import LinkRate, Links, LinkTest, Way
from raidtui.model.plan import Argv, Host
from raidtui.model.problem import ProblemError
from raidtui.stack.action import Outcome
from raidtui.stack.listeners import tcp_listens

if TYPE_CHECKING:
    from raidtui.engine.run.peers import Peer

ACTION: Final = "links"
_CONNECTS: Final = 5
_LISTEN_S: Final = 10.0
_CONNECT_S: Final = 10.0


class LinkArgs(msgspec.Struct, frozen=True, omit_defaults=True):
    """Arguments of the step that measures the links."""

    seconds: int
    """Duration of each test; 0: only the time that a connection takes is measured."""
    rdma: bool = False
    """Test the links over RDMA, too."""


class _Failed(Exception):
    """A test that gave no number, in words."""


class _Rate(msgspec.Struct, frozen=True):
    """A host's answer to a test."""

    bytes_per_s: float
    argv: Argv


# The end on a host


def connect_ms(test: LinkTest) -> Outcome:
    """Connect some times and return the shortest time as the fact `ms`. Raises OSError."""
    found = []
    for _ in range(_CONNECTS):
        began = time.perf_counter()
        with socket.create_connection((test.address, test.port), _CONNECT_S):
            found.append(time.perf_counter() - began)
    return Outcome("done", {"ms": round(1000 * min(found), 3)})


def rate(test: LinkTest) -> Outcome:
    """Run iperf3 or perftest against the storage server. The facts are a `_Rate`, or `why` there is none."""
    name = _tool_of(test)
    if (tool := proc.find_tool(name)) is None:
        return Outcome("done", {"why": f"{name} is not installed there"})
    with NamedTemporaryFile() as report:
        argv = perftest.client_argv(tool, test, report.name) if test.rdma else iperf3.client_argv(tool, test)
        try:
            done = proc.run(argv, timeout_s=iperf3.LONGEST_S, check=False)
            raw = Path(report.name).read_bytes() if test.rdma else done.out
            found = perftest.moved_bytes_per_s(raw) if test.rdma else iperf3.received_bytes_per_s(raw)
        except (proc.ToolError, OSError, ValueError) as error:
            return Outcome("done", {"why": f"{name}: {error}"}, (argv,))
    return Outcome("done", msgspec.to_builtins(_Rate(found, argv)), (argv,))


def _tool_of(test: LinkTest) -> str:
    return perftest.PERFTEST.name if test.rdma else iperf3.IPERF3.name


# The end on the storage server


def measure(peers: Mapping[str, Peer], hosts: Sequence[Host], args: LinkArgs) -> Outcome:
    """Measure the links of these hosts. The fact `links` is a `Links`."""
    missing: list[str] = []
    times: dict[str, float] = {}
    for host in hosts:
        try:
            times[host.ref] = _connect_ms(peers[host.ref], host)
        except (ProblemError, OSError) as error:
            missing.append(f"{host.ref}: a connection failed: {error}")
    alone, together = list[LinkRate](), list[LinkRate]()
    if args.seconds:
        groups = [(alone, [host]) for host in hosts]
        groups += [(together, list(hosts))] if len(hosts) > 1 else []
        tests = itertools.product((False, True) if args.rdma else (False,), groups, get_args(Way))
        for rdma, (kept, group), way in tests:
            current().check()
            try:
                kept.append(_rate(peers, group, args.seconds, way, rdma=rdma))
            except _Failed as error:
                missing.append(str(error))
    links = Links(times, tuple(alone), tuple(together), tuple(dict.fromkeys(missing)))
    commands = tuple(argv for one in (*alone, *together) for argv in one.commands)
    return Outcome("done", {"links": msgspec.to_builtins(links)}, commands)


def _connect_ms(peer: Peer, host: Host) -> float:
    with _socket(host.storage_address) as listening:
        listening.listen(_CONNECTS)
        port = listening.getsockname()[1]
        return float(peer.ask(Order("connect", link=LinkTest(host.storage_address, port))).facts["ms"])


def _rate(peers: Mapping[str, Peer], hosts: Sequence[Host], seconds: int, way: Way, *, rdma: bool) -> LinkRate:
    """Test the links of some hosts at the same time. Raises _Failed."""
    with ThreadPoolExecutor(len(hosts)) as pool:
        asked = [pool.submit(_one, peers[host.ref], host, seconds, way, rdma=rdma) for host in hosts]
        found = {host.ref: one.result() for host, one in zip(hosts, asked, strict=True)}
    rates = {host: one.bytes_per_s for host, one in found.items()}
    return LinkRate(way, rates, tuple(one.argv for one in found.values()), rdma=rdma)


def _one(peer: Peer, host: Host, seconds: int, way: Way, *, rdma: bool) -> _Rate:
    """Test one link. Raises _Failed."""
    ends = [link.rdma if link is not None else "" for link in (host.storage_link, host.own_link)]
    if rdma and not all(ends):
        raise _Failed(f"{host.ref}, {way}: not both ends of the link are RDMA devices")
    test = LinkTest(host.storage_address, 0, seconds, to_hosts=way == "to hosts", rdma=ends[1] if rdma else "")
    try:
        with _serving(test, ends[0]) as listening:
            outcome = peer.ask(Order("rate", link=listening))
    except ProblemError as error:
        raise _Failed(error.problems[0].message) from None
    except (proc.ToolError, OSError) as error:
        raise _Failed(f"{_tool_of(test)} on the storage server: {error}") from None
    if why := outcome.facts.get("why"):
        raise _Failed(f"{host.ref}, {way}: {why}")
    return msgspec.convert(outcome.facts, _Rate)


@contextmanager
def _serving(test: LinkTest, device: str) -> Iterator[LinkTest]:
    """Serve a test, and yield it with the port. `device`: RDMA port of this end. Raises ToolError, OSError or _Failed."""
    name = _tool_of(test)
    if (tool := proc.find_tool(name)) is None:
        raise _Failed(f"{name} is not installed on the storage server")
    with _socket(test.address) as free:
        port: int = free.getsockname()[1]
    test = msgspec.structs.replace(test, port=port)
    argv = perftest.server_argv(tool, test, device) if test.rdma else iperf3.server_argv(tool, test.address, port)
    listens = _accepts_rdma if test.rdma else tcp_listens
    child = proc.spawn(argv, stdout=proc.DEVNULL, stderr=proc.DEVNULL, new_session=True)
    try:
        until = time.monotonic() + _LISTEN_S
        while not listens(port):
            if child.poll() is not None or time.monotonic() > until:
                raise _Failed(f"{name} does not listen on {test.address}")
            time.sleep(0.05)
        yield test
    finally:
        proc.end_session(child)


def _socket(address: str) -> socket.socket:
    """Return a socket that is bound to a free port of this address. Raises OSError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.bind((address, 0))
    except BaseException:
        found.close()
        raise
    return found


def _accepts_rdma(port: int) -> bool:
    """Return True if a process takes RDMA connections on this port, as rdma-resource(8) shows them."""
    if (tool := proc.find_tool("rdma")) is None:
        raise _Failed("rdma (iproute2) is not installed on the storage server")
    shown = proc.run([tool, "-j", "resource", "show", "cm_id"], check=False).text
    return f':{port}"' in shown
