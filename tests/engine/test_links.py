"""Links between the storage server and its hosts: a real peer on this machine, and reports of iperf3 between two hosts.

`iperf3-*.json` are reports of iperf3 3.18 in a lab whose links carried 10 Mbit/s, `perftest-*.json` those of perftest 6.24
over Soft-RoCE.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path

import msgspec
import pytest

from raidtui.base.paths import ENTRY
from raidtui.base.proc import find_tool
from raidtui.engine.run import links
from raidtui.engine.run.peers import Peer
from raidtui.load import perftest
from raidtui.load.iperf3 import client_argv, received_bytes_per_s, server_argv
from raidtui.model.hosts import Order
from raidtui.model.links import LinkRate, Links, LinkTest
from raidtui.model.plan import Host, Options, Plan
from raidtui.stack.listeners import tcp_listens

DATA = Path(__file__).parent.parent / "data/links"
HOST = Host("clients-1", "root@c1", "c1", "machine", "boot", "6.12", "127.0.0.1", "127.0.0.1")


@pytest.mark.parametrize("name", ["to-hosts", "to-storage"])
def test_the_rate_is_what_arrived(name: str) -> None:
    raw = (DATA / f"iperf3-{name}.json").read_bytes()
    found = received_bytes_per_s(raw)
    assert found == json.loads(raw)["end"]["sum_received"]["bits_per_second"] / 8
    assert 0.5e6 < found <= 10e6 / 8


@pytest.mark.parametrize(("name", "gbits"), [("to-hosts", 0.061147), ("to-storage", 0.072553)])
def test_perftest_reports_its_average(name: str, gbits: float) -> None:
    found = perftest.moved_bytes_per_s((DATA / f"perftest-{name}.json").read_bytes())
    assert found == pytest.approx(gbits * 1e9 / 8)


@pytest.mark.parametrize("report", [b"", b'{"results": {"MsgSize": 65536}}', b"\xff"])
def test_a_report_of_perftest_without_a_rate_says_so(report: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        perftest.moved_bytes_per_s(report)


def test_perftest_serves_on_one_address_by_rdma_and_reads_for_the_way_to_hosts() -> None:
    test = LinkTest("10.10.1.1", 40123, 3, to_hosts=True, rdma="rxe0/1")
    served = perftest.server_argv("/usr/bin/ib_write_bw", test, "mlx5_0/2")
    assert served[2:4] == ("/usr/bin/ib_read_bw", "--rdma_cm")
    assert served[served.index("--bind_source_ip") + 1] == "10.10.1.1"
    assert (served[served.index("--ib-dev") + 1], served[served.index("--ib-port") + 1]) == ("mlx5_0", "2")
    asked = perftest.client_argv("/usr/bin/ib_write_bw", msgspec.structs.replace(test, to_hosts=False), "/tmp/report")
    assert asked[2] == "/usr/bin/ib_write_bw"
    assert asked[asked.index("--duration") + 1] == "5", "a second at each end does not count"
    assert asked[-2:] == ("--out_json_file=/tmp/report", "10.10.1.1")


@pytest.mark.parametrize(
    ("report", "why"),
    [(b'{"start": {}, "end": {}, "error": "unable to connect to server"}', "unable to connect to server"),
     (b'{"start": {}, "end": {}}', "no rate"), (b"", "cannot be read"), (b"\xff", "cannot be read")],
)  # fmt: skip
def test_a_report_without_a_rate_says_why(report: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        received_bytes_per_s(report)


def test_a_server_serves_one_test_on_one_address_and_ends_by_itself() -> None:
    argv = server_argv("/usr/bin/iperf3", "10.10.1.1", 40123)
    assert argv[:2] == ("timeout", "60")
    assert "--one-off" in argv
    assert argv[argv.index("--bind") + 1] == "10.10.1.1"
    assert "--reverse" in client_argv("iperf3", LinkTest("10.10.1.1", 40123, 3, to_hosts=True))
    assert "--reverse" not in client_argv("iperf3", LinkTest("10.10.1.1", 40123, 3))


def test_a_listening_port_is_seen_without_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert tcp_listens(port)
    assert not tcp_listens(port)


@pytest.mark.skipif(os.geteuid() != 0, reason="a peer needs root")
def test_a_peer_measures_its_link(tmp_path: Path) -> None:
    peer = Peer("clients-1", ("env", f"XDG_STATE_HOME={tmp_path}", sys.executable, "-I", str(ENTRY), "peer"))
    plan = Plan("digest", "abcdefgh", {}, Options(), {}, (), (), (), 0.0, 0)
    peer.ask(Order("begin", "20260101-000000-abcdefgh", "clients-1", plan))
    outcome = links.measure({"clients-1": peer}, [HOST], links.LinkArgs(1))
    nowhere = msgspec.structs.replace(HOST, storage_address="192.0.2.1")
    lost = links.measure({"clients-1": peer}, [nowhere], links.LinkArgs(0))
    peer.close()
    found = msgspec.convert(outcome.facts["links"], Links)
    assert 0 < found.connect_ms["clients-1"] < 1000
    if find_tool("iperf3"):
        assert [one.way for one in found.alone] == ["to hosts", "to storage"]
        assert all(one.bytes_per_s > 0 for one in found.alone)
        assert found.not_measured == ()
    else:
        assert found.not_measured == ("iperf3 is not installed on the storage server",)
    (why,) = msgspec.convert(lost.facts["links"], Links).not_measured
    assert why.startswith("clients-1: a connection failed: ")


def test_the_ceiling_of_some_hosts_is_that_of_just_these() -> None:
    alone = tuple(LinkRate("to hosts", {host: 10.0}) for host in ("a", "b"))
    found = Links(alone=alone, together=(LinkRate("to hosts", {"a": 7.0, "b": 6.0}),))
    both, one = found.ceiling("to hosts", ("b", "a")), found.ceiling("to hosts", ("a",))
    assert both is not None
    assert one is not None
    assert (both.bytes_per_s, one.bytes_per_s) == (13.0, 10.0)
    assert found.ceiling("to hosts", ("a",), rdma=True) is None
    assert found.ceiling("to storage", ("a",)) is None
    assert found.ceiling("to hosts", ("a", "c")) is None
