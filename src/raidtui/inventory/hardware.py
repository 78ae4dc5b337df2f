"""Properties of a disk in sysfs: identity, size, transport, PCIe link, queue. Reading them causes no I/O to the disk."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from raidtui.base.files import read_int, read_text
from raidtui.base.text import clean
from raidtui.inventory.blocks import Node
from raidtui.model.disk import Disk, Link


def read_disk(node: Node) -> Disk:
    """Return the disk behind `node`, without id (`with_ids`), reasons, and the answers of the disk itself (`probe.py`)."""
    folder = Path(node.folder)
    queue = folder / "queue"
    hardware = hardware_folder(folder)
    pci = pci_folder(hardware)
    rotational = read_int(queue / "rotational")
    return Disk(
        id="",
        name=node.name,
        size_bytes=node.size_bytes,
        serial=_serial(folder, hardware),
        wwid=_first(folder / "wwid", folder / "device/wwid"),
        model=_first(hardware / "model"),
        firmware=_first(hardware / "firmware_rev", hardware / "rev"),
        transport=_transport(node.name, hardware),
        rotational=None if rotational is None else bool(rotational),
        logical_sector_bytes=read_int(queue / "logical_block_size") or 512,
        physical_sector_bytes=read_int(queue / "physical_block_size") or 512,
        diskseq=read_int(folder / "diskseq"),
        major=os.major(node.devno),
        minor=os.minor(node.devno),
        numa_node=_numa(hardware, pci),
        link=_link(pci) if pci else None,
        discard=bool(read_int(queue / "discard_max_bytes")),
        scheduler=chosen(read_text(queue / "scheduler") or ""),
        write_cache=read_text(queue / "write_cache"),
    )


def hardware_folder(folder: Path) -> Path:
    """Return the folder of an NVMe namespace's controller (one of them, if there are several), or a disk's `device`."""
    device = folder / "device"
    if "/nvme-subsystem/" not in str(folder):
        return device.resolve()
    controllers = sorted(child for child in device.glob("nvme*") if re.fullmatch(r"nvme\d+", child.name))
    return (controllers[0] if controllers else device).resolve()


def _first(*paths: Path) -> str:
    """Return the text of the first of these files that has any, made safe to print: serial numbers are any bytes."""
    for path in paths:
        try:
            text = path.read_bytes().strip(b" \t\n\0")
        except OSError:
            continue
        if text:
            return clean(text)
    return ""


def _serial(folder: Path, hardware: Path) -> str:
    if serial := _first(hardware / "serial", folder / "serial"):
        return serial
    try:
        return parse_vpd_serial((hardware / "vpd_pg80").read_bytes())
    except OSError:
        return ""


def parse_vpd_serial(page: bytes) -> str:
    """Parse the unit serial number of SCSI VPD page 0x80; empty if the page is malformed."""
    if len(page) < 4 or page[1] != 0x80:
        return ""
    return clean(page[4 : 4 + int.from_bytes(page[2:4], "big")].strip(b" \0"))


def _transport(name: str, hardware: Path) -> str:
    path = str(hardware)
    if name.startswith("nvme"):
        fabric = read_text(hardware / "transport") or "pcie"
        return "nvme" if fabric == "pcie" else f"nvme-{clean(fabric)}"
    # SRP names its ports as SAS does: only the host adapter tells them apart.
    for host in (parent for parent in hardware.parents if re.fullmatch(r"host\d+", parent.name)):
        for folder, transport in (("srp_host", "srp"), ("fc_host", "fc"), ("iscsi_host", "iscsi")):
            if (host / folder).is_dir():
                return transport
    for pattern, transport in (
        (r"/usb\d+/", "usb"),
        (r"/session\d+/", "iscsi"),
        (r"/rport-", "fc"),
        (r"/ata\d+/", "sata"),
        (r"/end_device-|/sas_", "sas"),
        (r"/mmc_host/", "mmc"),
    ):
        if re.search(pattern, path + "/"):
            return transport
    if name.startswith(("vd", "xvd")):
        return "virtio" if name.startswith("vd") else "xen"
    return "scsi" if name.startswith("sd") else ""


def pci_folder(hardware: Path) -> Path | None:
    """Return the folder of the PCI device to which a disk is attached; None if there is none."""
    for folder in (hardware, *hardware.parents):
        if re.fullmatch(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", folder.name):
            return folder
    return None


def _numa(hardware: Path, pci: Path | None) -> int | None:
    for folder in (pci, hardware):
        if folder is not None and (node := read_int(folder / "numa_node")) is not None:
            return node if node >= 0 else None
    return None


def _link(pci: Path) -> Link | None:
    link = Link(
        parse_link_speed(read_text(pci / "current_link_speed") or ""),
        parse_link_width(read_text(pci / "current_link_width") or ""),
        parse_link_speed(read_text(pci / "max_link_speed") or ""),
        parse_link_width(read_text(pci / "max_link_width") or ""),
    )
    return None if link == Link(None, None, None, None) else link


def parse_link_speed(text: str) -> float | None:
    """Parse `8.0 GT/s PCIe` as 8.0; None for `Unknown` and anything else."""
    match = re.match(r"(\d{1,3}(?:\.\d{1,2})?) GT/s", text)
    return float(match[1]) if match and float(match[1]) > 0 else None


def parse_link_width(text: str) -> int | None:
    """Parse `4` as 4; None for the kernel's 0 and 255, which mean unknown."""
    return int(text) if re.fullmatch(r"[1-9]\d?", text) and int(text) <= 32 else None


def chosen(text: str) -> str | None:
    """Return the selected word, which is in brackets (`none [mq-deadline]`) or the only one."""
    match = re.search(r"\[([^\]\s]+)\]", text)
    if match:
        return clean(match[1])
    return clean(text) if text and " " not in text else None


def temperature_sensors(folder: Path) -> Iterator[Path]:
    """Yield the files with a disk's main temperature in 1/1000 °C (kernel Documentation/hwmon/sysfs-interface.rst).

    `folder`: of the disk in sysfs. Reading such a file asks the disk: it may block while the disk does not answer.
    """
    # A SCSI disk's sensor is in a folder named hwmon, an NVMe controller's is not, and with multipath a namespace's
    # device is the subsystem with its controllers below.
    for pattern in ("hwmon/hwmon*/temp1_input", "hwmon*/temp1_input", "nvme*/hwmon*/temp1_input"):
        yield from sorted((folder / "device").glob(pattern))


def read_celsius(sensor: Path) -> float | None:
    """Read such a file; None if it cannot be read, and for 0 K: an NVMe controller without a thermometer reports that."""
    milli = read_int(sensor)
    return None if milli is None or milli <= -273_000 else milli / 1000


def with_ids(disks: Sequence[Disk]) -> tuple[Disk, ...]:
    """Return the disks with their ids: the serial if it is unique, else the wwid; `?name` if neither is unique."""
    serials = Counter(disk.serial for disk in disks)
    wwids = Counter(disk.wwid for disk in disks)

    def identity(disk: Disk) -> str:
        if disk.wwid and wwids[disk.wwid] > 1:
            return f"?{disk.name}"
        if disk.serial and serials[disk.serial] == 1:
            return disk.serial
        return disk.wwid or f"?{disk.name}"

    named = [msgspec.structs.replace(disk, id=identity(disk)) for disk in disks]
    # One disk's serial may read like another's wwid; an id that two disks share names neither.
    ids = Counter(disk.id for disk in named)
    return tuple(d if ids[d.id] == 1 else msgspec.structs.replace(d, id=f"?{d.name}") for d in named)
