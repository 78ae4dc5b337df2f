"""Description of network interfaces and RDMA ports, from trees like the kernel's and from this machine."""

from pathlib import Path

from raidtui.inventory.interfaces import interfaces, rdma_ports
from raidtui.model.network import Interface, RdmaPort


def write(folder: Path, **files: object) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return folder


def adapter(folder: Path, driver: str) -> None:
    """`device` of an interface or an RDMA device, with its driver."""
    drivers = folder.parent / "drivers" / driver
    drivers.mkdir(parents=True, exist_ok=True)
    (folder / "device").mkdir(parents=True)
    (folder / "device" / "driver").symlink_to(drivers)


def net_tree(root: Path) -> Path:
    """Two ports of an adapter in a bond, a VLAN on it in a bridge; a bridge of containers; a port without link."""
    net = root / "net"
    for name in ("eth0", "eth1", "eno3"):
        adapter(net / name, "mlx5_core")
    write(net / "eth0", operstate="up", speed=25000, mtu=9000, uevent="INTERFACE=eth0", address="02:00:00:00:00:01")
    write(net / "eth1", operstate="up", speed=25000, mtu=9000, uevent="INTERFACE=eth1")
    write(net / "eno3", operstate="down", speed=-1, mtu=1500, uevent="INTERFACE=eno3")
    write(net / "bond0", operstate="up", speed=50000, mtu=9000, uevent="DEVTYPE=bond\nINTERFACE=bond0")
    write(net / "bond0.5", operstate="up", speed=50000, mtu=9000, uevent="DEVTYPE=vlan\nINTERFACE=bond0.5")
    write(net / "br0", operstate="up", mtu=9000, uevent="DEVTYPE=bridge\nINTERFACE=br0")
    write(net / "docker0", operstate="up", speed=10000, mtu=1500, uevent="DEVTYPE=bridge\nINTERFACE=docker0")
    write(net / "veth1", operstate="up", speed=10000, mtu=1500, uevent="INTERFACE=veth1")
    write(net / "lo", operstate="unknown", mtu=65536, uevent="INTERFACE=lo")
    for upper, lower in (("bond0", "eth0"), ("bond0", "eth1"), ("bond0.5", "bond0"), ("br0", "bond0.5"),
                         ("docker0", "veth1")):  # fmt: skip
        (net / upper / f"lower_{lower}").symlink_to(net / lower)
    write(net, bonding_masters="bond0")
    return net


def test_interfaces_of_adapters_and_those_on_them_are_described(tmp_path: Path) -> None:
    found = {one.name: one for one in interfaces(net_tree(tmp_path))}
    assert list(found) == ["bond0", "bond0.5", "br0", "eno3", "eth0", "eth1"]
    assert found["eth0"] == Interface("eth0", "", "mlx5_core", up=True, speed_mbit_s=25000, mtu=9000)
    assert found["eno3"] == Interface("eno3", "", "mlx5_core", up=False, mtu=1500)
    assert found["bond0"] == Interface("bond0", "bond", up=True, speed_mbit_s=50000, mtu=9000)
    assert (found["br0"].kind, found["br0"].speed_mbit_s) == ("bridge", None)
    assert "02:00" not in repr(found)


def test_rdma_ports_are_described_with_the_interface_below(tmp_path: Path) -> None:
    infiniband = tmp_path / "infiniband"
    for name in ("mlx5_0", "mlx5_1"):
        adapter(infiniband / name, "mlx5_core")
    write(infiniband / "mlx5_0" / "ports" / "1", link_layer="Ethernet", state="4: ACTIVE", rate="25 Gb/sec (1X EDR)",
          gid_attrs__ndevs__0="eth0")  # fmt: skip
    write(infiniband / "mlx5_1" / "ports" / "1", link_layer="InfiniBand", state="1: DOWN", rate="10 Gb/sec (4X SDR)")
    (infiniband / "mlx5_1" / "device" / "net" / "ib0").mkdir(parents=True)
    write(infiniband / "rxe0" / "ports" / "1", link_layer="Ethernet", state="4: ACTIVE", rate="2.5 Gb/sec (1X SDR)")
    assert rdma_ports(infiniband) == (
        RdmaPort("mlx5_0", 1, "Ethernet", "eth0", "mlx5_core", up=True, speed_mbit_s=25000),
        RdmaPort("mlx5_1", 1, "InfiniBand", "ib0", "mlx5_core", up=False, speed_mbit_s=10000),
        RdmaPort("rxe0", 1, "Ethernet", up=True, speed_mbit_s=2500),
    )


def test_a_kernel_without_them_has_none(tmp_path: Path) -> None:
    assert interfaces(tmp_path / "net") == ()
    assert rdma_ports(tmp_path / "infiniband") == ()


def test_this_machines_adapters_are_found() -> None:
    adapters = {path.parent.name for path in Path("/sys/class/net").glob("*/device")}
    found = {one.name: one for one in interfaces()}
    assert found.keys() >= adapters
    assert "lo" not in found
    assert all(one.mtu for one in found.values())


def test_an_interface_without_a_known_speed_is_named_first() -> None:
    assert Interface("eth0", driver="virtio_net", up=True, mtu=1500).words == "virtio_net of unknown speed, MTU 1500"
    assert Interface("eth0", driver="mlx5_core", up=True, speed_mbit_s=25_000).words == "25 Gbit/s mlx5_core"
    assert RdmaPort("rxe0", 1, "Ethernet", "eth0", "rxe", True).words == "Ethernet rxe of unknown speed"
    assert RdmaPort("mlx5_0", 1, "InfiniBand", "", "mlx5_core", False).words == "down InfiniBand mlx5_core"
