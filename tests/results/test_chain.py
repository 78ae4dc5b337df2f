"""The way from disks to clients: used shares, and the network as the limit where a link is at what it carried before."""

from __future__ import annotations

import msgspec
import pytest
from test_comparing import cell, result

from raidtui.model.host import HostCores
from raidtui.model.links import LinkRate, Links
from raidtui.model.measure import Summary
from raidtui.model.result import Cell, DeviceUse, HostPart, Result
from raidtui.results.accounting import Account, over_rounds
from raidtui.results.chain import Chain, links_lines, network_share
from raidtui.results.compare import compare
from raidtui.results.facts import bare_exports, is_nothing, local_layouts
from raidtui.results.formats import FORMATS

MB = 10**6
INNER = {"md": {"level": "raid1", "on": "@data"}}
LAYOUTS = {"local": INNER, "tcp": {"nvmeof": {"on": INNER, "to": "clients"}}, "raid0": {"md": {"level": "raid0"}}}
LINKS = Links(
    {"clients-1": 0.5, "clients-2": 2.25},
    (LinkRate("to storage", {"clients-1": 10.0 * MB}), LinkRate("to storage", {"clients-2": 12.0 * MB})),
    (LinkRate("to storage", {"clients-1": 9.0 * MB, "clients-2": 11.0 * MB}),),
)
CORES = HostCores(2, 0.5)


def part(mb_s: float, cores: HostCores = CORES) -> HostPart:
    summary = cell("tcp", "w", mb_s * MB / 4096).summary
    return HostPart(write=summary.write, jobs=1, cpu_user_percent=10.0, cpu_system_percent=30.0, cores=cores)


def exported(first_mb_s: float, second_mb_s: float, **changes: object) -> Cell:
    one = cell("tcp", "w", (first_mb_s + second_mb_s) * MB / 4096)
    hosts = {"clients-1": part(first_mb_s), "clients-2": part(second_mb_s)}
    disk = DeviceUse("member", "S", written_bytes=1, mean_utilisation_percent=20.0)
    facts: dict[str, object] = {"hosts": hosts, "cores": HostCores(4, 2.0), "threads": {"kworker/nvmet_tcp_wq": 70.0},
                                "devices": {"nvme0n1": disk}, "seconds": 10.0}  # fmt: skip
    return msgspec.structs.replace(one, **(facts | changes))


def of(*cells: Cell, links: Links | None = LINKS) -> Result:
    made = result(*cells, loads=("w",))
    scenario = {**made.scenario, "layouts": LAYOUTS}
    return msgspec.structs.replace(made, scenario=scenario, links=links)


def account(*cells: Cell, links: Links | None = LINKS) -> Account:
    (found,) = [one for one in over_rounds(compare(of(*cells, links=links)).accounts) if one.row == "tcp"]
    return found


@pytest.mark.parametrize(
    ("first", "second", "share", "why"),
    [
        # 9.5 of 10 MB/s through one link; 19.2 of 20 through both; neither.
        (9.5, 1.0, 0.95, "clients-1 sent 9.5 MB/s of data, 95 % of the 10.0 MB/s that iperf3 got"),
        (8.6, 10.6, 0.96, "all hosts together sent 19.2 MB/s of data, 96 % of the 20.0 MB/s that iperf3 got"),
        (5.0, 6.0, 0.55, ""),
    ],
)
def test_a_link_at_what_it_carried_before_is_the_limit(first: float, second: float, share: float, why: str) -> None:
    found = account(exported(first, second))
    assert found.chain is not None
    assert found.chain.network == pytest.approx(share, abs=0.001)
    assert (found.limiter == "network") == bool(why)
    assert why in found.why


def test_an_export_over_rdma_is_held_against_what_perftest_got() -> None:
    faster = LinkRate("to storage", {"clients-1": 100.0 * MB}, rdma=True)
    both = msgspec.structs.replace(LINKS, alone=(*LINKS.alone, faster))
    one = exported(9.5, 1.0)
    assert network_share(one, both, rdma=True) == (pytest.approx(0.095), (
        "clients-1 sent 9.5 MB/s of data, 9.5 % of the 100 MB/s that perftest got"))  # fmt: skip
    found = network_share(one, both)
    assert found is not None
    assert found[0] == pytest.approx(0.95)


def test_without_a_measured_link_nothing_is_said_of_it() -> None:
    found = account(exported(9.5, 9.5), links=None)
    assert found.chain is not None
    assert found.chain.network is None
    assert found.limiter != "network"
    assert network_share(exported(9.5, 9.5), Links(not_measured=("iperf3 is not installed on the storage server",))) is None


def test_every_part_of_the_way_has_its_share() -> None:
    local = msgspec.structs.replace(cell("local", "w", 44 * MB / 4096), layout="local")
    found = account(exported(5.0, 6.0), local)
    # 11 of the 44 MB/s that the layout gave by itself; a kernel thread's 70 % exceed the half of four cores.
    assert found.chain == Chain(None, pytest.approx(0.25), None, 0.7, pytest.approx(0.55), 0.4)
    busy = exported(5.0, 6.0, threads={})
    assert account(busy).chain == Chain(None, None, None, 0.5, pytest.approx(0.55), 0.4)


def test_a_layout_that_the_storage_server_loads_has_no_such_way() -> None:
    alone = exported(5.0, 6.0, hosts={}, cores=None)
    assert account(alone).chain is None


def test_rounds_are_joined_by_their_medians() -> None:
    rates = (2.0, 4.0, 9.5)
    rounds = [msgspec.structs.replace(exported(one, 1.0), id=str(one), round=n) for n, one in enumerate(rates, 1)]
    found = account(*rounds)
    assert found.chain is not None
    assert found.chain.network == pytest.approx(0.4)


@pytest.mark.parametrize("name", ["table", "md", "html"])
def test_every_text_format_has_the_way(name: str) -> None:
    text = FORMATS[name].write(compare(of(exported(9.5, 1.0)))).decode()
    assert "from disks to clients" in text or "of what iperf3 or perftest got" in text.replace("\n", " ").replace("  ", " ")
    assert "95 %" in text


@pytest.mark.parametrize(("mb_s", "limited"), [(11.0, False), (19.0, True)])
def test_an_export_at_what_it_gave_over_nothing_is_the_limit(mb_s: float, *, limited: bool) -> None:
    bare = msgspec.structs.replace(cell("bare", "w", 20 * MB / 4096), layout="bare")
    layouts = {**LAYOUTS, "bare": {"nvmeof": {"on": {"null": {"size": "1GiB"}}, "to": "clients"}}}
    made = of(exported(mb_s / 2, mb_s / 2), bare, links=None)
    made = msgspec.structs.replace(made, scenario={**made.scenario, "layouts": layouts})
    comparison = compare(made)
    assert {row.label: row.bare for row in comparison.rows} == {"tcp": "", "bare": "nothing"}
    (found,) = over_rounds(comparison.accounts)
    assert found.chain is not None
    assert found.chain.protocol == pytest.approx(mb_s / 20)
    assert (found.limiter == "export") == limited


def test_an_export_of_nothing_is_found_by_its_options() -> None:
    nothing = {"null": {"size": "1GiB"}}
    layouts = {
        "a": {"nvmeof": {"on": "@data"}}, "b": {"nvmeof": {"on": [nothing, nothing]}},
        "c": {"nvmeof": {"on": "@data", "queues": 1}}, "d": {"iscsi": {"on": nothing}}, "e": nothing, "f": None,
    }  # fmt: skip
    assert bare_exports(layouts) == {"a": "b"}
    assert [name for name, layout in layouts.items() if is_nothing(layout)] == ["b", "d", "e"]


def test_a_layout_is_found_below_its_export_whatever_a_file_says() -> None:
    assert local_layouts(LAYOUTS) == {"tcp": "local"}
    for wrong in (None, [], {"a": None, "b": {"nvmeof": 3}, "c": {"nvmeof": {"on": "@data"}}}):
        assert local_layouts(wrong) == {}


def test_links_are_said_a_line_each() -> None:
    assert list(links_lines(msgspec.structs.replace(LINKS, not_measured=("no iperf3",)))) == [
        "clients-1: a connection takes 0.50 ms",
        "clients-2: a connection takes 2.25 ms",
        "clients-1, to storage: 10.0 MB/s (iperf3)",
        "clients-2, to storage: 12.0 MB/s (iperf3)",
        "2 hosts at once, to storage: 20.0 MB/s (iperf3)",
        "not measured: no iperf3",
    ]


def test_only_the_direction_that_moved_is_compared() -> None:
    idle = msgspec.structs.replace(exported(5.0, 6.0), summary=Summary(), hosts={})
    assert network_share(idle, LINKS) is None
