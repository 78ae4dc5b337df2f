"""perftest between two hosts: its commands, and the rate in its report. One server for one test, on one address.

`ib_write_bw` writes into the server's memory, `ib_read_bw` reads from it. Both connect by rdma_cm, so that the address
decides about device and GID, and no TCP port is opened.
"""

from __future__ import annotations

from typing import Final

import msgspec

from raidtui.base.text import clean
from raidtui.load.iperf3 import LONGEST_S
from raidtui.model.links import LinkTest
from raidtui.model.tool import Tool

PERFTEST: Final = Tool(
    name="ib_write_bw",
    needed_for="ceilings of RDMA links to other hosts",
    remedy="apt install perftest",
    without="RDMA links to hosts are measured over TCP alone",
    packages=("perftest",),
)
READ: Final = "ib_read_bw"
MARGIN_S: Final = 1
"""Seconds at each end that are not counted."""


class _Results(msgspec.Struct, frozen=True):
    gbits_per_s: float = msgspec.field(name="BW_average")


class _Report(msgspec.Struct, frozen=True):
    results: _Results


_DECODER: Final = msgspec.json.Decoder(_Report)


def _tool(write: str, test: LinkTest) -> str:
    """Return the program for a direction; `write` is the path of `ib_write_bw`, beside which the other one is."""
    return write.removesuffix(PERFTEST.name) + READ if test.to_hosts else write


def _options(test: LinkTest, device: str) -> tuple[str, ...]:
    """Return what both ends have to say. `device`: `mlx5_0/1`, an RDMA device and its port."""
    name, _, port = device.partition("/")
    seconds = test.seconds + 2 * MARGIN_S
    return ("--rdma_cm", "--ib-dev", name, "--ib-port", port or "1", "--port", str(test.port), "--duration", str(seconds),
            "--margin", str(MARGIN_S), "--CPU-freq", "--report_gbits")  # fmt: skip


def server_argv(write: str, test: LinkTest, device: str) -> tuple[str, ...]:
    """Return the command of a server for one test on one address, which ends by itself."""
    return ("timeout", str(LONGEST_S), _tool(write, test), *_options(test, device), "--bind_source_ip", test.address)


def client_argv(write: str, test: LinkTest, report: str) -> tuple[str, ...]:
    """Return the command of the other end. `report`: the file that it writes."""
    return ("timeout", str(LONGEST_S), _tool(write, test), *_options(test, test.rdma), "--out_json",
            f"--out_json_file={report}", test.address)  # fmt: skip


def moved_bytes_per_s(report: bytes) -> float:
    """Return the rate, from the report of the client. Raises ValueError."""
    try:
        return _DECODER.decode(report).results.gbits_per_s * 1e9 / 8
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"its report cannot be read: {clean(str(error), 200)}") from None
