"""Network interfaces and RDMA ports of this server, from sysfs, without their addresses."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from raidtui.base import proc
from raidtui.base.files import read_int, read_text
from raidtui.base.text import clean
from raidtui.model.network import Interface, LinkEnd, RdmaPort

_CLASS_NET = Path("/sys/class/net")
_CLASS_INFINIBAND = Path("/sys/class/infiniband")
_TIMEOUT_S: Final = 10.0


def interfaces(folder: Path = _CLASS_NET) -> tuple[Interface, ...]:
    """Return the interfaces of adapters, and those that stand on them (bonds, VLANs, bridges). Those of containers and
    virtual machines, which come and go, are left out, as is the loopback.
    """
    found = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    lower = {path.name: {one.name.removeprefix("lower_") for one in path.glob("lower_*")} for path in found}
    kept = {path.name for path in found if (path / "device").exists()}
    while more := {name for name, below in lower.items() if below & kept} - kept:
        kept |= more
    return tuple(_interface(path) for path in found if path.name in kept)


def _interface(path: Path) -> Interface:
    kind = re.search(r"^DEVTYPE=(.*)$", read_text(path / "uevent") or "", re.MULTILINE)
    speed = read_int(path / "speed")
    return Interface(
        name=clean(path.name, 40),
        kind=clean(kind[1], 40) if kind else "",
        driver=_driver(path / "device"),
        up=read_text(path / "operstate") == "up",
        speed_mbit_s=speed if speed and speed > 0 else None,
        mtu=read_int(path / "mtu"),
    )


def rdma_ports(folder: Path = _CLASS_INFINIBAND) -> tuple[RdmaPort, ...]:
    """Return all ports of RDMA devices; nothing without the kernel's RDMA subsystem."""
    return tuple(_rdma_ports(folder))


def _rdma_ports(folder: Path) -> Iterator[RdmaPort]:
    for path in sorted(folder.glob("*/ports/[0-9]*")):
        device = path.parent.parent
        rate = re.match(r"([\d.]+) Gb/sec", read_text(path / "rate") or "")
        yield RdmaPort(
            device=clean(device.name, 40),
            port=int(path.name),
            link_layer=clean(read_text(path / "link_layer") or "", 40),
            interface=_interface_below(device, path),
            driver=_driver(device / "device"),
            up="ACTIVE" in (read_text(path / "state") or ""),
            speed_mbit_s=round(float(rate[1]) * 1000) if rate else None,
        )


def link_of(address: str, folder: Path = _CLASS_INFINIBAND) -> LinkEnd | None:
    """Return the interface of this server that has an address; None if there is none, or ip(8) is missing."""
    ip = proc.find_tool("ip")
    try:
        wanted = ipaddress.ip_address(address)
        ran = proc.run([ip, "-j", "address", "show", "to", str(wanted)], check=False, timeout_s=_TIMEOUT_S) if ip else None
        found = [one for one in json.loads(ran.text or "[]") if one] if ran is not None and not ran.code else []
    except (ValueError, proc.ToolError):
        return None
    if not found:
        return None
    name = str(found[0]["ifname"])
    ports = (port for port in rdma_ports(folder) if port.up)
    rdma = next((port.name for port in ports if port.interface == name or _has_gid(folder, port, wanted)), "")
    return LinkEnd(clean(name, 40), found[0].get("mtu"), rdma)


def _has_gid(folder: Path, port: RdmaPort, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return True if the port has the address of RoCE: of a VLAN too, whose interface is not the port's own."""
    gid = ipaddress.ip_address(f"::ffff:{address}").exploded if address.version == 4 else address.exploded
    return any(read_text(path) == gid for path in (folder / port.device / "ports" / str(port.port)).glob("gids/*"))


def _interface_below(device: Path, port: Path) -> str:
    """Return the port's interface: of its first GID (RoCE), else the only one of the same adapter (IPoIB)."""
    if name := read_text(port / "gid_attrs/ndevs/0"):
        return clean(name, 40)
    beside = [path.name for path in (device / "device/net").glob("*")]
    return clean(beside[0], 40) if len(beside) == 1 else ""


def _driver(device: Path) -> str:
    driver = device / "driver"
    return clean(driver.resolve().name, 40) if driver.exists() else ""
