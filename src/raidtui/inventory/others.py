"""bcache, targets that offer disks to other hosts, and what udev's rules say of a disk."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyudev

from raidtui.base.files import read_text
from raidtui.inventory.blocks import SYS, Blocks
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


def read_shares(sys: Path = SYS) -> tuple[Share, ...]:
    """LIO backstores and NVMe-oF namespaces."""
    config = sys / "kernel/config"
    found = []
    for pattern, by in (
        ("target/core/*/*/udev_path", "LIO backstore"),
        ("nvmet/subsystems/*/namespaces/*/device_path", "NVMe-oF namespace of"),
    ):
        for path in sorted(config.glob(pattern)):
            device = (read_text(path) or "").strip()
            if device.startswith("/"):
                name = path.parent.name if by.startswith("LIO") else path.parents[2].name
                found.append(Share(f"{by} {name}", device))
    return tuple(found)


def check_shares(disk: str, census: Census) -> Iterator[Reason]:
    for share in census.shares:
        if disk in census.disks_of_path(share.path):
            yield reason("shared", f"offered to other hosts: {share.by} ({share.path})")


UDEV_FLAGS = ("DM_MULTIPATH_DEVICE_PATH", "SYSTEMD_READY", "UDISKS_IGNORE", "ID_FS_AMBIVALENT")


def read_udev(blocks: Blocks) -> dict[str, Mapping[str, str] | None]:
    """Name → the flags that udev's rules set on it, None where udev does not know it (yet)."""
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
