"""iperf3 between two hosts: its commands, and the rate in its report. One server for one test, on one address."""

from __future__ import annotations

from typing import Final

import msgspec

from raidtui.base.text import clean
from raidtui.model.links import LinkTest
from raidtui.model.tool import Tool

IPERF3: Final = Tool(
    name="iperf3",
    needed_for="ceilings of the links to other hosts",
    remedy="apt install iperf3",
    without="the links to hosts are not measured",
)
WARM_UP_S: Final = 1
"""Seconds that are not counted: TCP begins slowly (RFC 5681)."""
STREAMS: Final = 4
"""TCP connections at once, since exports have several, too."""
LONGEST_S: Final = 60
"""A server that nobody ends, since its run was killed, ends after so long."""


class _Sum(msgspec.Struct, frozen=True):
    bits_per_second: float


class _End(msgspec.Struct, frozen=True):
    received: _Sum | None = msgspec.field(default=None, name="sum_received")


class _Report(msgspec.Struct, frozen=True):
    end: _End = _End()
    error: str = ""


_DECODER: Final = msgspec.json.Decoder(_Report)


def server_argv(tool: str, address: str, port: int) -> tuple[str, ...]:
    """Return the command of a server for one test on one address."""
    return ("timeout", str(LONGEST_S), tool, "--server", "--one-off", "--bind", address, "--port", str(port))


def client_argv(tool: str, test: LinkTest) -> tuple[str, ...]:
    """Return the command of the other end. `--reverse`: the server sends."""
    words = (tool, "--client", test.address, "--port", str(test.port), "--time", str(test.seconds), "--omit",
             str(WARM_UP_S), "--parallel", str(STREAMS), "--connect-timeout", "5000", "--json")  # fmt: skip
    return (*words, "--reverse") if test.to_hosts else words


def received_bytes_per_s(report: bytes) -> float:
    """Return the rate that arrived, from the report of the client. Raises ValueError with iperf3's own words."""
    try:
        found = _DECODER.decode(report)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"its report cannot be read: {error}") from None
    if found.error or found.end.received is None:
        raise ValueError(clean(found.error, 200) or "its report has no rate")
    return found.end.received.bits_per_second / 8
