"""Links that exports pass over: where RDMA is refused, and how that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from raidtui.base import proc
from raidtui.inventory.interfaces import link_of
from raidtui.model.network import LinkEnd
from raidtui.model.plan import Host
from raidtui.stack.links import canonical, family, is_address, mtu_difference, own_rdma_problems, rdma_problems, with_port

FAST = LinkEnd("to-c1", 9000, "rxe0/1")


def host(own: LinkEnd | None, storage: LinkEnd | None) -> Host:
    return Host("clients-1", "c1", "c1", "1", "boot", "6.12", "10.10.1.2", "10.10.1.1", own, storage)


def codes(own: LinkEnd | None, storage: LinkEnd | None) -> list[str]:
    return [problem.code for problem in rdma_problems([host(own, storage)], "nvmeof.transport")]


def test_rdma_needs_a_device_at_both_ends() -> None:
    assert codes(FAST, FAST) == []
    assert codes(FAST, LinkEnd("eth0", 9000)) == ["export-no-rdma"]
    assert codes(LinkEnd("eth0", 9000), LinkEnd("eth1", 9000)) == 2 * ["export-no-rdma"]


def test_links_that_are_not_known_yet_are_no_problem() -> None:
    assert codes(None, None) == []
    assert codes(None, FAST) == []


def test_the_end_without_rdma_is_named() -> None:
    (problem,) = rdma_problems([host(LinkEnd("eth0", 9000), FAST)], "nvmeof.transport")
    assert "10.10.1.2 of clients-1 (interface eth0)" in problem.message
    assert "rdma link" in problem.remedy


def test_jumbo_frames_on_one_side_alone_do_not_fit() -> None:
    assert codes(LinkEnd("to-storage", 1500, "rxe0/1"), FAST) == ["export-mtu"]
    text = mtu_difference(host(LinkEnd("to-storage", 1500), FAST))
    assert text == "the storage server's to-c1 has MTU 9000, and to-storage of clients-1 1500"
    assert mtu_difference(host(LinkEnd("to-storage"), FAST)) == ""


def test_an_address_of_no_interface_has_no_rdma() -> None:
    (problem,) = own_rdma_problems("192.0.2.77", "nvmeof.address")
    assert problem.code == "export-no-rdma"
    assert "192.0.2.77 of this server (on no interface)" in problem.message


def test_an_address_is_one_of_an_interface() -> None:
    assert all(map(is_address, ("10.0.0.1", "fd00::1", "FD00:0::1", "2001:db8::7", "::1")))
    assert not any(map(is_address, ("0.0.0.0", "224.0.0.1", "eth0", "", "::", "ff02::1", "[fd00::1]", "fd00::1/64")))
    assert not any(map(is_address, ("fe80::1", "fe80::1%eth0", "fd00::1%eth0", "::ffff:10.0.0.1")))


def test_addresses_of_ipv6_are_written_as_the_kernel_does_and_have_brackets_before_a_port() -> None:
    assert [canonical(text) for text in ("FD00:0:0::1", "10.0.0.1", "clients-1")] == ["fd00::1", "10.0.0.1", "clients-1"]
    assert [with_port(text, 3260) for text in ("fd00::1", "10.0.0.1")] == ["[fd00::1]:3260", "10.0.0.1:3260"]
    assert [family(text) for text in ("fd00::1", "10.0.0.1", "clients-1")] == ["ipv6", "ipv4", "ipv4"]


@pytest.fixture
def ports(tmp_path: Path) -> Path:
    """An RDMA device on another interface than the address is on, as with a VLAN."""
    port = tmp_path / "mlx5_0/ports/1"
    (port / "gids").mkdir(parents=True)
    (port / "gid_attrs/ndevs").mkdir(parents=True)
    (port / "state").write_text("4: ACTIVE\n")
    (port / "gid_attrs/ndevs/0").write_text("enp1s0\n")
    (port / "gids/0").write_text("fe80:0000:0000:0000:5054:00ff:fe10:0101\n")
    (port / "gids/5").write_text("0000:0000:0000:0000:0000:ffff:7f00:0001\n")
    return tmp_path


@pytest.mark.skipif(proc.find_tool("ip") is None, reason="ip(8) is not installed")
def test_the_rdma_port_of_an_ipv6_address_is_found_by_its_gid(ports: Path) -> None:
    (ports / "mlx5_0/ports/1/gids/5").write_text("0000:0000:0000:0000:0000:0000:0000:0001\n")
    found = link_of("::1", ports)
    if found is None:
        pytest.skip("this machine has no IPv6")
    assert (found.interface, found.rdma) == ("lo", "mlx5_0/1")


@pytest.mark.skipif(proc.find_tool("ip") is None, reason="ip(8) is not installed")
def test_the_rdma_port_of_an_address_is_found_by_its_gid(ports: Path, tmp_path: Path) -> None:
    found = link_of("127.0.0.1", ports)
    assert found is not None
    assert (found.interface, found.rdma) == ("lo", "mlx5_0/1")
    (ports / "mlx5_0/ports/1/state").write_text("1: DOWN\n")
    assert link_of("127.0.0.1", ports) == LinkEnd("lo", found.mtu)
    assert link_of("192.0.2.77", ports) is None
    assert link_of("no address", ports) is None
