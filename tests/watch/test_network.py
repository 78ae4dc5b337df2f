"""Network interfaces and RDMA ports in frames, from recorded tables of the kernel, and their use over a cell."""

import shutil
import socket
from pathlib import Path

import msgspec
import pytest
from test_sampler_tables import lines_of, through_journal, write_tables

from raidtui.model.frame import Frame, Frames
from raidtui.model.network import NetCounters, NetworkUse, net_rates, read_net_counters
from raidtui.watch.network import Network
from raidtui.watch.sampler import Sampler
from raidtui.watch.series import Series, SeriesFold

DATA = Path(__file__).parent / "data" / "net"
"""/proc/net/dev in a network namespace, before and after 100 MB over a veth pair and 30 MB over the loopback."""


def set_table(procfs: Path, name: str) -> None:
    (procfs / "net").mkdir(exist_ok=True)
    # In place: the sampler keeps the table open.
    (procfs / "net" / "dev").write_text((DATA / name).read_text())


def port_tree(folder: Path, **counters: int) -> Path:
    """sysfs of a port with an adapter's counters; `counters` by file name."""
    port = folder / "mlx5_0" / "ports" / "1"
    names = (*(f"port_{way}_{what}" for way in ("rcv", "xmit") for what in ("data", "packets")), "port_rcv_errors",
             "port_xmit_discards", "out_of_sequence", "out_of_buffer", "packet_seq_err")  # fmt: skip
    given = {**dict.fromkeys(names, 0), **counters}
    for name, count in given.items():
        path = port / ("counters" if name.startswith("port_") else "hw_counters") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{count}\n")
    return folder


def sampled(tmp_path: Path) -> list[Frame]:
    """Frames before, after, again and whole."""
    write_tables(tmp_path, lines_of({"sda": (8, 0, "1 1 1 1 1 1 1 1 1 1 1")}))
    set_table(tmp_path, "dev.before")
    found: list[Frame] = []
    sampler = Sampler(lambda frame: found.append(through_journal(frame)), procfs=tmp_path, infiniband=tmp_path / "none")
    sampler.tick()
    set_table(tmp_path, "dev.after")
    sampler.tick()
    sampler.tick()
    sampler.tick(whole=True)
    sampler.close()
    return found


def test_frames_have_what_interfaces_counted_and_nothing_of_idle_ones(tmp_path: Path) -> None:
    first, second, third, fourth = sampled(tmp_path)
    assert list(first.networks) == ["lo", "net-a", "br0"]
    assert set(second.networks) == {"lo", "net-a"}
    assert third.networks == {}
    assert list(fourth.networks) == ["lo", "net-a", "br0"]
    assert read_net_counters(second.networks["net-a"]) == NetCounters(21356, 322, 0, 0, 100103328, 1564, 0, 0)


def test_rates_are_differences_of_two_frames(tmp_path: Path) -> None:
    frames = Frames()
    first, second, third, fourth = sampled(tmp_path)
    frames.apply(first)
    assert frames.network_rates("net-a") is None
    frames.apply(msgspec.structs.replace(second, span_s=2.0))
    rates = frames.network_rates("net-a")
    assert rates is not None
    assert (rates.received_bytes_per_s, rates.sent_bytes_per_s) == (10545, 50051531)
    assert rates.noticeable
    for frame in (third, fourth):
        frames.apply(msgspec.structs.replace(frame, span_s=1.0))
        idle = frames.network_rates("net-a")
        assert idle is not None
        assert (idle.sent_bytes_per_s, idle.noticeable) == (0, False)


def test_an_interface_that_goes_is_gone_and_one_of_its_name_begins_anew(tmp_path: Path) -> None:
    write_tables(tmp_path, "")
    set_table(tmp_path, "dev.after")
    frames, found = Frames(), []
    sampler = Sampler(lambda frame: found.append(frame), procfs=tmp_path, infiniband=tmp_path / "none")
    sampler.tick()
    path = tmp_path / "net" / "dev"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "net-a" not in line))
    sampler.tick()
    path.write_text("".join(lines))
    sampler.tick()
    sampler.close()
    frames.apply(found[0])
    frames.apply(through_journal(found[1]))
    assert (found[1].networks["net-a"], sorted(frames.networks)) == ("", ["br0", "lo"])
    frames.apply(found[2])
    assert sorted(frames.networks) == ["br0", "lo", "net-a"]
    assert frames.network_rates("net-a") is None


HUGE = " ".join(["9" * 400] * 8)


@pytest.mark.parametrize("text", ["", "1 2 3", "a b c d e f g h", "\udcff", "1 2 3 4 5 6 7 -", "1 2 3 4 5 6 7 -8", HUGE])
def test_what_is_no_line_of_counters_is_no_number(text: str) -> None:
    assert read_net_counters(text) is None


def test_counters_that_go_down_began_anew() -> None:
    high, low = NetCounters(9, 9, 0, 0, 9, 9, 0, 0), NetCounters(9, 9, 0, 0, 8, 9, 0, 0)
    assert net_rates(high, low, 1.0) is None
    assert net_rates(low, high, 0.0) is None


def test_an_rdma_ports_data_is_counted_in_words_of_four_bytes(tmp_path: Path) -> None:
    tree = port_tree(tmp_path / "ib", port_rcv_data=25, port_rcv_packets=3, port_xmit_data=1000, port_xmit_packets=9)
    network = Network(tmp_path, tree)
    assert network.news(whole=True) == {"mlx5_0/1": "100 3 0 0 4000 9 0 0"}
    assert network.news() == {}
    port_tree(tree, port_rcv_data=25, port_rcv_packets=3, port_xmit_data=2000, port_xmit_packets=19,
              out_of_sequence=2, port_rcv_errors=1, out_of_buffer=4, packet_seq_err=5, port_xmit_discards=6)  # fmt: skip
    assert network.news() == {"mlx5_0/1": "100 3 3 4 8000 19 5 6"}
    shutil.rmtree(tree / "mlx5_0")
    assert network.news() == {"mlx5_0/1": ""}
    assert network.news() == {}
    port_tree(tree)
    assert network.news(whole=True) == {"mlx5_0/1": "0 0 0 0 0 0 0 0"}


def test_the_kernels_own_table_is_read() -> None:
    network = Network()
    before = network.news(whole=True)
    assert set(before) >= {path.name for path in Path("/sys/class/net").iterdir() if (path / "mtu").exists()}
    left, right = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with left, right:
        right.bind(("127.0.0.1", 0))
        left.sendto(bytes(1000), right.getsockname())
    after = read_net_counters(network.news()["lo"])
    was = read_net_counters(before["lo"])
    network.close()
    assert after is not None
    assert was is not None
    assert after.sent_bytes - was.sent_bytes >= 1028


def fold(*networks: dict[str, str], whole: bool = False) -> Series:
    """Frames a second apart."""
    folded = SeriesFold(())
    for number, of in enumerate(networks):
        folded.add(Frame(10.0 + number, 0.0, 1.0 if number else None, whole or not number, networks=of))
    return folded.series()


def line(received: int, sent: int, lost: int = 0) -> str:
    return f"{received} {received // 1000} {lost} 0 {sent} {sent // 1000} 0 {2 * lost}"


def test_a_cell_has_the_sums_of_every_interface_and_a_series_of_the_busy_ones() -> None:
    found = fold(
        {"lo": line(5, 5), "eth0": line(0, 0), "br0": line(0, 0)},
        {"eth0": line(2000, 0)},
        {"lo": line(9_000_005, 9_000_005), "eth0": line(5000, 1000, lost=1)},
    )
    rates: list[float | None] = [0, 9_000_000]
    assert found.networks == {
        "eth0": NetworkUse(5000, 1000, 5, 1, 1, 0, 0, 2, known_s=2.0),
        "lo": NetworkUse(9_000_000, 9_000_000, 9000, 9000, known_s=2.0,
                         series={"received_bytes_per_s": rates, "sent_bytes_per_s": rates}),
    }  # fmt: skip
    assert found.networks["eth0"].drops == 2


def test_an_interface_that_comes_during_a_cell_is_known_from_then_on() -> None:
    found = fold({}, {}, {"eth1": line(0, 0)}, {"eth1": line(0, 4_000_000)}, {"eth1": ""})
    use = found.networks["eth1"]
    assert (use.sent_bytes, use.known_s) == (4_000_000, 1.0)
    assert use.series["sent_bytes_per_s"] == [None, None, 4_000_000, None]


def test_frames_without_networks_as_older_journals_have_them_are_read() -> None:
    old = b'{"at_s":1.0,"unix_s":2.0,"whole":true,"devices":{"sda":"1 2 3"}}'
    frames = Frames()
    frames.apply(msgspec.json.decode(old, type=Frame))
    assert (frames.networks, frames.network_rates("lo")) == ({}, None)
    assert fold({}, {}).networks == {}
