"""bcache, targets that offer disks to other hosts, and what udev's rules say of a disk."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyudev

from raidtui.base.files import read_text
from raidtui.inventory.blocks import SYS, Blocks, is_physical_disk
from raidtui.inventory.descriptors import OtherNodes
from raidtui.inventory.reasons import reason, unchecked
from raidtui.model.disk import Reason

if TYPE_CHECKING:
    from raidtui.inventory.census import Census


def read_bcache(blocks: Blocks) -> dict[str, str]:
    """Block devices that bcache has registered: name → the file that stops it."""
    found = {}
    for node in blocks.nodes.values():
        folder = Path(node.folder) / "bcache"
        # /dev/bcacheN itself has such a folder too; it is no disk and never asked for.
        if folder.is_dir() and not node.name.startswith("bcache"):
            cache_set = folder / "set"
            found[node.name] = f"{(cache_set.resolve() if cache_set.exists() else folder)}/stop"
    return found


def check_bcache(disk: str, census: Census) -> Iterator[Reason]:
    for node in census.blocks.family(disk):
        if node.name in census.bcache:
            yield reason("bcache", f"{node.name} is registered with bcache", f"echo 1 > {census.bcache[node.name]}")


class Share(NamedTuple):
    """A block device that a target offers to other hosts."""

    by: str
    path: str
    devices: tuple[int, ...] = ()
    """Numbers of the devices, where the target tells more than a path."""
    active: bool = False
    """The kernel has it open: where its path leads nowhere, any disk may be it."""


def read_shares(other_nodes: OtherNodes | None = None, sys: Path = SYS) -> tuple[Share, ...]:
    """LIO backstores, NVMe-oF namespaces and whole controllers, SCST devices and USB gadgets."""
    config = sys / "kernel/config"
    behind = (other_nodes or OtherNodes()).names
    found = []
    for folder in sorted(config.glob("target/core/*/*")):
        path, device = parse_backstore(read_text(folder / "info") or "")
        path = path or (read_text(folder / "udev_path") or "").strip()
        if path.startswith("/") or device:
            active = not device and read_text(folder / "enable") == "1" and folder.parent.name.startswith("fileio")
            found.append(Share(f"LIO backstore {folder.name}", path, device, active))
    for folder in sorted((*config.glob("nvmet/subsystems/*/namespaces/*"), *config.glob("nvmet/subsystems/*/passthru"))):
        path = (read_text(folder / "device_path") or "").strip()
        active = read_text(folder / "enable") == "1"
        if path.startswith("/"):
            if folder.name == "passthru":
                by, devices = f"NVMe-oF controller of {folder.parent.name}", behind.get(Path(path).name, ())
                active &= not devices
            else:
                by, devices = f"NVMe-oF namespace of {folder.parents[1].name}", ()
            found.append(Share(by, path, devices, active))
    for pattern, by, depth in (
        ("kernel/config/usb_gadget/*/functions/*/lun.*/file", "USB gadget", 3),
        ("kernel/scst_tgt/devices/*/filename", "SCST device", 0),
    ):
        for file in sorted(sys.glob(pattern)):
            path = (read_text(file) or "").partition("\n")[0].strip()
            if path.startswith("/"):
                found.append(Share(f"{by} {file.parents[depth].name}", path, (), active=True))
    return tuple(found)


def parse_backstore(info: str) -> tuple[str, tuple[int, ...]]:
    """Path and device numbers in the `info` of a LIO backstore; empty for what it does not tell."""
    file = re.search(r"File: (/.*?)  ?Size:", info)
    number = re.search(r"Major: (\d{1,4}) Minor: (\d{1,7})", info)
    return file[1] if file else "", (os.makedev(int(number[1]), int(number[2])),) if number else ()


def check_shares(disk: str, census: Census) -> Iterator[Reason]:
    for share in census.shares:
        if disk in census.disks_of_path(share.path).union(*map(census.disks_of_number, share.devices)):
            path = f" ({share.path})" if share.path else ""
            yield reason("shared", f"offered to other hosts: {share.by}{path}")
        elif share.active and share.path not in census.resolved:
            yield unchecked("what is offered to other hosts", f"{share.by} is {share.path}, which is not there any more")


_UDEVD = Path("/run/udev/control")
_LOOK_EVERY_S = 0.2
UDEV_FLAGS = ("DM_MULTIPATH_DEVICE_PATH", "SYSTEMD_READY", "UDISKS_IGNORE", "ID_FS_AMBIVALENT")


def read_udev(blocks: Blocks, patience_s: float = 0.0) -> dict[str, Mapping[str, str] | None]:
    """Name → the flags that udev's rules set on it, None where udev does not know it (yet).

    A disk that udev is still busy with is waited for.
    """
    until = time.monotonic() + patience_s
    disks = [node.name for node in blocks.nodes.values() if is_physical_disk(node)]
    while True:
        found = _udev_now(blocks)
        if all(found[name] is not None for name in disks) or time.monotonic() >= until or not _UDEVD.exists():
            return found
        time.sleep(_LOOK_EVERY_S)


def _udev_now(blocks: Blocks) -> dict[str, Mapping[str, str] | None]:
    context = pyudev.Context()
    found: dict[str, Mapping[str, str] | None] = {}
    for node in blocks.nodes.values():
        try:
            device = pyudev.Devices.from_device_number(context, "block", node.devno)
        except (pyudev.DeviceNotFoundError, OSError):
            found[node.name] = None
            continue
        found[node.name] = _flags(device) if device.is_initialized else None
    return found


def _flags(device: pyudev.Device) -> dict[str, str]:
    flags = {}
    for name in UDEV_FLAGS:
        try:
            flags[name] = str(device.properties[name])
        except (KeyError, UnicodeDecodeError):
            continue
    return flags


def check_udev(disk: str, census: Census) -> Iterator[Reason]:
    if "udev" in census.failures:
        return
    flags = census.udev.get(disk)
    if flags is None:
        yield unchecked("what udev knows of it", "udev has not described it (is udevd running? try: udevadm settle)")
        return
    if flags.get("DM_MULTIPATH_DEVICE_PATH") == "1":
        yield reason("multipath", "udev marks it as a path of a multipath device", f"multipath -w {disk}")
    if flags.get("SYSTEMD_READY") == "0":
        yield reason("reserved", "udev marks it as not ready (SYSTEMD_READY=0)")
    if flags.get("UDISKS_IGNORE") == "1":
        yield reason("reserved", "a udev rule sets it aside (UDISKS_IGNORE=1)")
    if flags.get("ID_FS_AMBIVALENT"):
        yield reason("signature", f"several filesystems at once: {flags['ID_FS_AMBIVALENT']}", f"wipefs /dev/{disk}")


def boot_id() -> str:
    """The kernel's random name for this boot."""
    return read_text("/proc/sys/kernel/random/boot_id") or ""


def is_root() -> bool:
    return os.geteuid() == 0
