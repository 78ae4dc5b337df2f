"""Bytes over network interfaces in every format, the network as a limit of exported layouts, and facts of servers."""

import csv
import io
import json
from typing import Any

import msgspec
import pytest
from test_accounting import MB, cell, result, use

from raidtui.model.disk import Disk
from raidtui.model.network import Interface, NetworkUse, RdmaPort, network_fact, network_words, rdma_fact
from raidtui.model.result import Cell, Machine, Result
from raidtui.results.compare import compare, compare_many
from raidtui.results.extract import extract, lean_extract
from raidtui.results.formats import FORMATS
from raidtui.results.library import KEPT, Unfolding, packed
from raidtui.results.limiter import NOT_KNOWN
from raidtui.results.networks import network_lines
from raidtui.results.servers import compare_servers

EXPORTED = {"nvmeof": {"transport": "tcp", "on": {"md": {"level": "raid0", "on": "@data"}}}}
TEN_G = Interface("eth0", driver="mlx5_core", up=True, speed_mbit_s=10_000, mtu=9000)
IB = RdmaPort("mlx5_0", 1, "InfiniBand", "ib0", "mlx5_core", up=True, speed_mbit_s=100_000)


def moved(received_mb_s: float, sent_mb_s: float, **more: Any) -> NetworkUse:
    """Ten seconds of it."""
    return NetworkUse(int(received_mb_s * 10 * MB), int(sent_mb_s * 10 * MB), known_s=10.0, **more)


def over(mb_s: float, *, layout: str = "far", round: int = 1, valid: bool = True, **networks: NetworkUse) -> Cell:
    one = cell(layout, mb_s, [use("a", mb_s / 2), use("b", mb_s / 2)], round=round, networks=networks)
    return one if valid else msgspec.structs.replace(one, valid=False, reasons=("the array resynced",))


def run(*cells: Cell, layout: Any = EXPORTED, machine: Machine | None = None) -> Result:
    made = result(*cells)
    disks = tuple(Disk(id=d, name=d, size_bytes=1 << 40, serial=d, wwid=d, model="M", transport="nvme") for d in "ab")
    scenario = {**made.scenario, "layouts": {"far": layout}, "workloads": {"w": {"fio": {"bs": "1MiB"}}}}
    machine = machine or Machine("s", "6.12", cpus=8, networks=(TEN_G,), rdma=(IB,))
    return msgspec.structs.replace(made, scenario=scenario, disks=disks, machine=machine)


def two_rounds() -> Result:
    return run(
        over(800, lo=moved(0, 0.5), eth0=moved(3, 800, sent_errors=2)),
        over(900, round=2, eth0=moved(3, 1000, received_drops=30), eth1=moved(0, 0.1, received_drops=1)),
        over(1, round=3, valid=False, eth0=moved(0, 5000)),
    )


def test_a_line_for_each_interface_that_moved_noticeable_data_has_means_of_the_valid_rounds() -> None:
    found = list(network_lines(compare(two_rounds())))
    assert found == [("far", "w", "eth0", "3.0 MB/s", "900 MB/s", "2 errors, 30 drops")]
    assert list(network_lines(compare(run(over(800, lo=moved(0.9, 0.9)))))) == []


@pytest.mark.parametrize("name", ["table", "md", "html"])
def test_every_text_format_has_the_table(name: str) -> None:
    text = FORMATS[name].write(compare(two_rounds())).decode()
    assert "2 errors, 30 drops" in text
    quiet = FORMATS[name].write(compare(run(over(800)))).decode()
    assert "lost packets" not in quiet.lower()


def test_lines_of_cells_name_the_interface_that_moved_most() -> None:
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"].write(compare(two_rounds())).decode())))
    assert [row["network"] for row in rows] == ["eth0", "eth0", "eth0"]
    assert [float(row["network_sent_MB_per_s"]) for row in rows] == [800, 1000, 5000]
    assert [(row["network_errors"], row["network_drops"]) for row in rows] == [("2", "0"), ("0", "31"), ("0", "0")]
    document = json.loads(FORMATS["json"].write(compare(two_rounds())))
    assert document["cells"][0]["network_received_MB_per_s"] == 3.0


def test_thousands_of_results_know_it_too() -> None:
    whole, (lean, _) = extract(two_rounds()), lean_extract(msgspec.json.encode(two_rounds()))
    data, shared = packed(lean)
    kept = Unfolding().extract(KEPT.decode(data), shared)
    for found in (lean, kept):
        assert [point.networks for point in found.points] == [point.networks for point in whole.points]
        assert list(network_lines(compare_many([found]))) == list(network_lines(compare(two_rounds())))


def limit(one: Cell, **more: Any) -> tuple[str, str]:
    (account,) = compare(run(one, **more)).accounts
    return account.limiter, account.why


def test_an_exported_layout_is_limited_by_the_interface_that_is_near_its_speed() -> None:
    one = over(1150, lo=moved(9, 9), eth0=moved(20, 1180))
    assert limit(one) == ("network", "network interface eth0 sent 1,180 MB/s, 94 % of its 10 Gbit/s")
    assert limit(over(900, eth0=moved(1125, 20)))[1] == "network interface eth0 received 1,125 MB/s, 90 % of its 10 Gbit/s"
    port = over(11500, eth0=moved(5, 5), **{"mlx5_0/1": moved(11900, 3)})
    assert limit(port)[1] == "network interface mlx5_0/1 received 11,900 MB/s, 95 % of its 100 Gbit/s"


def test_seconds_in_which_a_workload_begins_and_ends_do_not_hide_a_full_interface() -> None:
    sent = [0.0, *[1.2e9] * 7, 0.3e9]
    use = msgspec.structs.replace(moved(0, 0), sent_bytes=int(sum(sent)), known_s=9.0,
                                  series={"received_bytes_per_s": [0.0] * 9, "sent_bytes_per_s": sent})  # fmt: skip
    assert limit(over(900, eth0=use))[1] == (
        "network interface eth0 sent 1,200 MB/s in the median second, 96 % of its 10 Gbit/s"
    )


def test_below_its_speed_the_network_is_named_with_its_share_and_limits_nothing() -> None:
    words, why = limit(over(1000, eth0=moved(10, 1030), lo=moved(77, 77)))
    assert words == NOT_KNOWN
    assert "network interface eth0 carried 1,030 MB/s, 82 % of its speed" in why
    assert "network interface lo carried 77.0 MB/s, " in why, "the loopback has no speed"


def test_a_local_layout_is_not_limited_by_the_network() -> None:
    local = {"md": {"level": "raid0", "on": "@data"}}
    words, why = limit(over(1150, eth0=moved(0, 1200)), layout=local)
    assert (words, "network" in why) == (NOT_KNOWN, False)
    on_top = {"lvm": {"type": "linear", "on": {"iscsi": {"on": "@data"}}}}
    assert limit(over(1150, eth0=moved(0, 1200)), layout=on_top)[0] == "network"


def test_an_interface_of_unknown_speed_is_no_limit() -> None:
    virtual = Machine("s", "6.12", networks=(msgspec.structs.replace(TEN_G, speed_mbit_s=None),))
    assert limit(over(1150, eth0=moved(0, 9000)), machine=virtual)[0] == NOT_KNOWN


def test_a_server_is_described_in_a_line_and_compared_without_names() -> None:
    down = Interface("eno2", driver="igb")
    assert network_words((TEN_G, down), (IB,)) == (
        "eth0 10 Gbit/s mlx5_core, MTU 9000; eno2 down igb; RDMA mlx5_0/1 100 Gbit/s InfiniBand mlx5_core on ib0"
    )
    other = msgspec.structs.replace(TEN_G, name="eth1")
    assert network_fact((TEN_G, other, down)) == "2 × 10 Gbit/s mlx5_core, MTU 9000"
    assert rdma_fact((IB,)) == "1 × 100 Gbit/s InfiniBand mlx5_core"


def test_a_server_with_another_mtu_is_told_from_the_others() -> None:
    names = "abcd"
    extracts = {}
    for name in names:
        mtu = 1500 if name == "c" else 9000
        machine = Machine(name, "6.12", networks=(msgspec.structs.replace(TEN_G, name=f"en{name}", mtu=mtu),))
        extracts[name] = extract(msgspec.structs.replace(run(over(800), machine=machine), run=name))
    (found,) = compare_servers(extracts).differences
    assert (found.fact, found.servers) == ("network", {"c": "1 × 10 Gbit/s mlx5_core, MTU 1500"})


def test_a_result_of_an_earlier_version_is_read() -> None:
    document = msgspec.to_builtins(run(over(800)))
    document["cells"][0]["host"] = {"networks": {"eth0": {"received_bytes": 7, "errors": 1, "drops": 2}}}
    del document["machine"]["networks"], document["machine"]["rdma"]
    found = msgspec.convert(document, Result)
    assert (found.cells[0].networks, found.machine.networks) == ({}, ())
    assert list(network_lines(compare(found))) == []
    assert "network" not in extract(found).facts
