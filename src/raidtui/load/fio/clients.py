"""fio on other hosts, by its own client and server: a server on each of them, and one client that joins their reports.

A server listens on a unix socket in a private folder; no TCP port is opened. The jobs are given as files, since fio sends
nothing else to a server. They have the options of `command`, which are typed: no value of a scenario reaches fio's parser
as text that it would expand.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from raidtui.base import proc
from raidtui.base.files import write_atomic
from raidtui.load.child import TOOL_NOT_STARTED
from raidtui.load.engine import Hosted
from raidtui.load.fio.report import Flow, Group, Report, Syncs, joined_spread
from raidtui.model.plan import OnHost
from raidtui.model.problem import Exit, fail

SOCKET: Final = "work/fio.sock"
"""A server's socket in the folder of its run."""
_LISTEN_S: Final = 20.0
_OF_THE_CLIENT: Final = ("output-format", "status-interval", "eta", "readonly")
"""Options of the process, not of a job."""
ALL_CLIENTS: Final = "All clients"


class Server:
    """A fio that waits for jobs. `end` ends it, and what it runs."""

    def __init__(self, folder: Path, fds: Sequence[int]) -> None:
        """Start it in a run's folder, with these descriptors. Raises ProblemError (`tool-not-started`)."""
        self.socket = folder / SOCKET
        self.socket.unlink(missing_ok=True)
        self.argv = (proc.find_tool("fio") or "fio", f"--server=sock:{self.socket}")
        try:
            self._child = proc.spawn(self.argv, cwd=folder / "work", pass_fds=fds, new_session=True, stdout=proc.DEVNULL,
                                     stderr=proc.DEVNULL)  # fmt: skip
        except proc.ToolError as error:
            raise fail(TOOL_NOT_STARTED, error.reason, place="fio", exit=Exit.INVALID) from error
        until = time.monotonic() + _LISTEN_S
        while not self.socket.exists():
            if self._child.poll() is not None or time.monotonic() > until:
                self.end()
                raise fail(TOOL_NOT_STARTED, "fio --server does not listen", place="fio", exit=Exit.INVALID)
            time.sleep(0.05)

    @property
    def pid(self) -> int:
        return self._child.pid

    def end(self) -> None:
        """End the server and the jobs of its session, without waiting forever."""
        proc.end_session(self._child)
        self.socket.unlink(missing_ok=True)


def job_file(argv: Sequence[str], offset_bytes: int) -> str:
    """Return the jobs of a command line as a job file, with every region `offset_bytes` further."""
    lines, begun, at = ["[global]"], False, offset_bytes
    for word in argv[1:]:
        name, _, value = word.removeprefix("--").partition("=")
        if name in _OF_THE_CLIENT:
            continue
        if name == "offset":
            at = offset_bytes + int(value)
            continue
        if name == "name":
            if not begun and at:
                lines.append(f"offset={at}")
            begun = True
            lines.append(f"[{value}]")
            continue
        lines.append(f"{name}={value}" if value else name)
    return "\n".join(lines) + "\n"


def socket_of(host: str) -> str:
    """Return the name of the socket here that leads to a host's server, in the folder where the client runs."""
    return f"{host}.sock"


def from_hosts(argv: Sequence[str], on: Sequence[OnHost]) -> Hosted:
    """Return the client that has these hosts run the jobs of a command line, each on its own region."""
    words, files = [argv[0], "--output-format=json+", "--eta=never"], {}
    for one in on:
        words += [f"--client=sock:{socket_of(one.host)}", f"{one.host}.fio"]
        files[f"{one.host}.fio"] = job_file(argv, one.offset_bytes)
    return Hosted(tuple(words), files)


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        write_atomic(folder / name, text.encode())


class _OfClient(Group, frozen=True):
    hostname: str = ""
    jobname: str = ""


class _Report(msgspec.Struct, frozen=True, rename={"version": "fio version", "clients": "client_stats"}):
    version: str
    clients: list[_OfClient]


_DECODER: Final = msgspec.json.Decoder(_Report)


def read_clients(raw: bytes, hosts: Mapping[str, str]) -> Report:
    """Decode the report of a client: all hosts as one group, and each host. `hosts`: by socket. Raises ValueError.

    fio joins everything but the percentiles; those of all hosts come from the sums of their histograms.
    """
    report = _DECODER.decode(raw)
    of: dict[str, list[Group]] = {}
    for one in report.clients:
        if one.jobname != ALL_CLIENTS and one.hostname in hosts:
            of.setdefault(hosts[one.hostname], []).append(one)
    if missing := [host for host in hosts.values() if host not in of]:
        raise ValueError(f"fio reports nothing of {', '.join(missing)}")
    version = report.version.removeprefix("fio-")
    groups = {host: join(found) for host, found in of.items()}
    parts = {host: Report(version, group, b"") for host, group in groups.items()}
    return Report(version, join(list(groups.values())), raw, parts)


def join(groups: Sequence[Group]) -> Group:
    """Return several groups of jobs as one: sums, times of the longest, and latencies of the summed histograms."""
    first = groups[0]
    syncs = [group.sync for group in groups if group.sync is not None]
    return Group(
        error=next((group.error for group in groups if group.error), 0),
        read=_flow([group.read for group in groups]),
        write=_flow([group.write for group in groups]),
        job_runtime=sum(group.job_runtime for group in groups),
        usr_cpu=sum(group.usr_cpu for group in groups) / len(groups),
        sys_cpu=sum(group.sys_cpu for group in groups) / len(groups),
        sync=Syncs(joined_spread([one.lat_ns for one in syncs]), sum(one.ios for one in syncs)) if syncs else None,
        latency_target=first.latency_target,
        latency_percentile=first.latency_percentile,
        latency_depth=max(group.latency_depth for group in groups),
    )


def _flow(flows: Sequence[Flow]) -> Flow:
    """Return the sums, and rates over the time of the slowest host, as fio has them for all its clients."""
    ios, size, runtime_ms = (sum(flow.ios for flow in flows), sum(flow.bytes for flow in flows),
                             max(flow.runtime_ms for flow in flows))  # fmt: skip
    return Flow(
        ios=ios,
        bytes=size,
        runtime_ms=runtime_ms,
        iops=1000 * ios / runtime_ms if runtime_ms else 0.0,
        bw_bytes=1000 * size / runtime_ms if runtime_ms else 0.0,
        clat_ns=joined_spread([flow.clat_ns for flow in flows]),
        short_ios=sum(flow.short_ios for flow in flows),
        drop_ios=sum(flow.drop_ios for flow in flows),
    )
